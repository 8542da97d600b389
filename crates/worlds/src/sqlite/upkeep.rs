//! Background duties, one file each; safe to run in every process at once.

mod blobs;
mod duties;
mod retain;
mod sweep;
mod watch;

pub use blobs::look as look_at_blobs;
pub use duties::{Found, stuck_candidates, upkeep, waiting_kinds};
pub use retain::forget_run;
