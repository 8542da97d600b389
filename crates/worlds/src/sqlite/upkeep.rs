//! Background duties, one file each; safe to run in every process at once.

mod duties;
mod retain;
mod sweep;
mod watch;

pub use duties::{stuck_candidates, upkeep};
