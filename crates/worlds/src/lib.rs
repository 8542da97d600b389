//! Rhythm's backends. Each passes the conformance suite of `rhythm-engine`; none looks inside a snapshot.

mod blob_codec;
mod clock_jump;
mod migrations;
mod open;
pub mod postgres;
pub mod sqlite;

pub use open::{DEFAULT_URL, OpenOptions, check_url, open, redacted};
