//! One embedded SQLite file, shared by any number of processes on one machine.
//!
//! Every handle has one writer thread. It runs all waiting requests in one transaction and answers after the
//! fsync. Reads for operators have connections of their own. The effect of a request is in the file named
//! after it, its statements are in `sql/`, and `docs/internals/worlds.md` specifies them.

mod artifacts;
mod claim_runs;
mod claim_tasks;
mod clock;
mod commit;
mod connect;
mod control;
mod definitions;
mod end_run;
mod errors;
mod heartbeat;
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
mod tx;
mod upkeep;
mod world;
mod write_queue;
mod writer;

pub use schema::{SchemaStatus, migrate, schema_status};
pub use world::{SqliteOptions, SqliteWorld};
