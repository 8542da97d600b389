//! SQLite plays the whole conformance suite, on a file of its own for every test.

#[path = "sqlite_stage/mod.rs"]
mod sqlite_stage;

rhythm_engine::conformance_suite!(sqlite_stage::open);
