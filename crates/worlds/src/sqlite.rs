//! One embedded SQLite file, shared by any number of processes on one machine.
//!
//! Every handle has one writer thread, which runs whatever requests have gathered in one transaction and answers after
//! the fsync; reads for people have connections of their own. What a request does is in the file named after it, its
//! statements are in `sql/`. `docs/internals/worlds.md` says what each of them must do.

mod artifacts;
mod claim_runs;
mod claim_tasks;
mod clock;
mod commit;
mod connect;
mod control;
mod definitions;
mod ending;
mod errors;
mod extend;
mod history;
mod inbox;
mod liveness;
mod readers;
mod records;
mod rows;
mod runs;
mod schema;
mod sql;
mod tasks;
mod turnstile;
mod tx;
mod upkeep;
mod world;
mod writer;

pub use schema::{SchemaStatus, migrate, schema_status};
pub use world::{SqliteOptions, SqliteWorld};
