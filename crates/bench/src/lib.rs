//! The workloads behind `rhythm bench`. Each measurement comes with the raw limit of its database, taken in
//! the same run, because a figure has a meaning only in comparison. `docs/guide/benchmarks.md` describes each
//! workload.

mod bloat;
mod check;
mod crash;
mod database;
mod error;
mod fanout;
mod figures;
mod flows;
mod graphs;
mod growth;
mod handler;
mod idle;
mod in_process;
mod latency;
mod machine;
mod many;
mod markdown;
mod processes;
mod progress;
mod raw;
mod report;
mod scratch_db;
mod server;
mod single_run;
mod throughput;
mod timers;
mod wait;
mod workload;

pub use error::BenchError;
pub use graphs::Shapes;
pub use markdown::{Peer, read_peers, table};
pub use processes::{WorkerOrders, serve};
pub use progress::Progress;
pub use report::{Measured, Report};
pub use scratch_db::Ground;
pub use throughput::Load;
pub use workload::{Bench, Workload};
