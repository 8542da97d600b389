//! Values as JSON text: plain, as the world outside sees them, and stored, as a snapshot keeps them.
//!
//! Stored, an error is `{"$error": {..}}`, a handle `{"$handle": 3}`, a list of nothing but handles `{"$handles": [[3, 20]]}`,
//! a large value `{"$blob": hash, "bytes": n}`, one in segments `{"$kept": ["list", {"$blob": hash, "bytes": n, "of": 7},
//! [..]]}`; keys of a program's own objects that start with `$` get one more. Nothing a task returns can pose as a handle.

mod read;
mod write;

pub use read::{ReadError, Stored, StoredError, read, read_stored};
pub use write::{Handles, write_plain, write_stored, write_stored_entry, write_stored_error, write_text};

/// What the tags of stored values are called.
mod tags {
    pub const ERROR: &str = "$error";
    pub const HANDLE: &str = "$handle";
    pub const HANDLES: &str = "$handles";
    pub const BLOB: &str = "$blob";
    pub const KEPT: &str = "$kept";
    /// Of how many items a segment is.
    pub const OF: &str = "of";
}

#[cfg(test)]
mod tests;
