//! SQLite passes the conformance suite of the World contract, with a separate file for every test.

#[path = "sqlite_stage/mod.rs"]
mod sqlite_stage;

rhythm_conformance::conformance_suite!(sqlite_stage::open);
