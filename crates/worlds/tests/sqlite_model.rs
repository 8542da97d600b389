//! SQLite answers generated requests as the reference world does.

#[path = "sqlite_stage/mod.rs"]
mod sqlite_stage;

rhythm_conformance::model_suite!(150, sqlite_stage::open);
