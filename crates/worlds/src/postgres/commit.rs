//! Writing: batches of commits, created runs, delivered messages, finished tasks.

pub mod batch;
pub mod batch_result;
pub mod blobs;
pub mod columns;
pub mod create;
pub mod deliver;
pub mod end_run;
pub mod finish;
pub mod queue;
