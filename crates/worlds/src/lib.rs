//! Rhythm's backends. Each passes the conformance suite of `rhythm-engine`; none looks inside a snapshot.

mod blob_codec;
mod migrations;
mod open;
mod patience;
pub mod postgres;
pub mod sqlite;

pub use open::{DEFAULT_URL, OpenOptions, check_url, open, redacted};
