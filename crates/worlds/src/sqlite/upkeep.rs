//! Background duties, one file each; safe to run in every process at once.

mod blobs;
mod dispatch;
mod retention;
mod stuck_runs;
mod sweep;

pub use blobs::look as look_at_blobs;
pub use dispatch::{Found, stuck_candidates, upkeep, waiting_kinds};
pub use retention::forget_run;
