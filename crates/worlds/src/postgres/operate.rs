//! What operators change: runs, names, dead letters, artifacts and tags.

pub mod artifacts;
pub mod control;
