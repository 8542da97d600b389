//! Values as JSON text: plain, as the world outside sees them, and stored, as a snapshot keeps them.
//!
//! Stored, an error is `{"$error": {..}}`, a handle `{"$handle": 3}`, a large value `{"$blob": hash, "bytes": n}`;
//! keys of a program's own objects that start with `$` get one more. Nothing a task returns can pose as a handle.

mod read;
mod write;

pub use read::{ReadError, Stored, StoredError, read};
pub use write::{Handles, write_plain, write_stored, write_stored_error, write_text};

/// What the tags of stored values are called.
mod tags {
    pub const ERROR: &str = "$error";
    pub const HANDLE: &str = "$handle";
    pub const BLOB: &str = "$blob";
}

#[cfg(test)]
mod tests;
