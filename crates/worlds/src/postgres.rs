//! PostgreSQL: one database, any number of processes. Transitions are written in pipelined batches (`lane`,
//! `batch`); everything else is short statements beside them. SQL is in `sql/`, the schema in `migrations/`.

mod claim;
mod commit;
mod connection;
mod operate;
mod read;
mod schema;
mod sql;
mod sweep;
mod world;

pub use connection::connect::connect;
pub use connection::tls::TlsStream;
pub use schema::{SchemaStatus, migrate, schema_status};
pub use world::{PostgresOptions, PostgresWorld};
