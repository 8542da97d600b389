//! Claims of runs and tasks, heartbeats, and the cursors that skip dead index entries.

pub mod claims;
pub mod heartbeat;
pub mod ready_cursor;
pub mod release_claims;
pub mod timer_cursor;
