//! Converts values to and from JSON text: plain JSON for the outside world, stored JSON for snapshots.
//!
//! Stored, an error is `{"$error": {..}}`, a handle `{"$handle": 3}`, a list that holds only handles
//! `{"$handles": [[3, 20]]}`, a large value `{"$blob": hash, "bytes": n}`, and a value in segments `{"$kept":
//! ["list", {"$blob": hash, "bytes": n, "of": 7}, [..]]}`. A key of a program's own object that starts with
//! `$` gets one more `$`, so a task's output cannot be read as a handle.

mod read;
mod write;

pub use read::{ReadError, Stored, StoredError, read, read_stored};
pub use write::{Handles, write_plain, write_stored, write_stored_entry, write_stored_error, write_text};

/// Tags of stored values.
mod tags {
    pub const ERROR: &str = "$error";
    pub const HANDLE: &str = "$handle";
    pub const HANDLES: &str = "$handles";
    pub const BLOB: &str = "$blob";
    pub const KEPT: &str = "$kept";
    /// Number of items in a segment.
    pub const OF: &str = "of";
}

#[cfg(test)]
mod tests;
