//! Reads for operators. Lists are newest first; a cursor is the creation number of the last row shown.

mod approvals;
mod damage;
mod health;
mod operations;
mod page;
mod picture;
mod runs;
mod tasks;

pub use approvals::{approval, list_approvals};
pub use damage::damage;
pub use health::health;
pub use operations::{node_types, queues, ready_work, schedules, versions, workers, workflows};
pub use picture::picture;
pub use runs::{attempts, history, list_runs};
pub use tasks::{list_dead, list_tasks, task};
