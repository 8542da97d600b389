//! PostgreSQL: one database, any number of processes. Transitions are written in pipelined batches (`lane`,
//! `batch`); everything else is short statements beside them. SQL is in `sql/`, the schema in `migrations/`.

mod answers;
mod artifacts;
mod batch;
mod beats;
mod blobs;
mod claims;
mod columns;
mod commit;
mod connect;
mod control;
mod create;
mod deliver;
mod desk;
mod ending;
mod errors;
mod finish;
mod fronts;
mod haste;
mod hints;
mod lane;
mod layout;
mod link;
mod office;
mod pipeline;
mod pulse;
mod records;
mod release;
mod retain;
mod rows;
mod schedules;
mod schema;
mod session;
mod shared;
mod sql;
mod storm;
mod time;
mod tls;
mod upkeep;
mod url;
mod watermark;
mod world;

pub use connect::connect;
pub use schema::{SchemaStatus, migrate, schema_status};
pub use tls::TlsStream;
pub use world::{PostgresOptions, PostgresWorld};
