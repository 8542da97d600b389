//! Rhythm's backends. Each passes the conformance suite of `rhythm-engine`; none looks inside a snapshot.

mod blob_codec;
mod migrations;
pub mod postgres;
pub mod sqlite;
