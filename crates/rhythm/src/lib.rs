//! The Rust SDK of Rhythm: durable tasks, the workers that perform them, and workflows that combine them.
//!
//! ```
//! use rhythm::{Rhythm, TaskContext, TaskError};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), rhythm::Error> {
//! let rhythm = Rhythm::open("sqlite::memory:").await?;
//! let worker = rhythm
//!     .worker()
//!     .task("greet", |_ctx: TaskContext, name: String| async move {
//!         Ok::<_, TaskError>(format!("hello {name}"))
//!     })
//!     .start()
//!     .await?;
//!
//! let client = rhythm.client();
//! let task = client.enqueue("greet", "Ann").await?;
//! let greeting: String = client.task_result(&task).await?;
//! assert_eq!(greeting, "hello Ann");
//! worker.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A world is the database that holds all state: `sqlite:PATH`, `sqlite::memory:` (one process, for tests) or
//! `postgres://USER@HOST/DATABASE`. Any number of processes may share a file or a PostgreSQL database.
//!
//! # Failures
//!
//! A handler fails by returning an error. `?` turns every [`std::error::Error`] into a [`TaskError`], which is
//! retried according to the task's [`RetryPolicy`]. A permanent error is not retried:
//!
//! ```
//! use rhythm::{EnqueueTask, Error, Payload, RetryPolicy, Rhythm, TaskContext, TaskError, TaskOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), rhythm::Error> {
//! # let rhythm = Rhythm::open("sqlite::memory:").await?;
//! let worker = rhythm
//!     .worker()
//!     .queue_limit("payments", 5)
//!     .task("charge", |ctx: TaskContext, cents: i64| async move {
//!         if cents <= 0 {
//!             return Err(TaskError::permanent("BAD_AMOUNT", "there is nothing to charge"));
//!         }
//!         let receipt: u64 = "42".parse()?;
//!         Ok((receipt, ctx.idempotency_key()))
//!     })
//!     .start()
//!     .await?;
//!
//! let retries = RetryPolicy { max_attempts: 5, ..RetryPolicy::default() };
//! let options = TaskOptions { queue: "payments".into(), retries: Some(retries), ..TaskOptions::default() };
//! let task = EnqueueTask { name: "charge".into(), input: Payload::of(&-1)?, options, ..Default::default() };
//! let client = rhythm.client();
//! let task = client.enqueue_task(task).await?;
//! match client.task_result::<(u64, String)>(&task).await {
//!     Err(Error::Failed(failure)) => assert_eq!(failure.code, "BAD_AMOUNT"),
//!     other => panic!("{other:?}"),
//! }
//! # worker.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A task that has used up its attempts becomes a dead letter. `rhythm dead list` shows it and
//! [`Client::requeue_dead`] runs it again.
//!
//! [`Client::requeue_dead`]: rhythm_engine::client::Client::requeue_dead

mod builder;
mod client;
mod error;
mod handler;
mod task_error;
mod worker;

pub use builder::{Builder, Rhythm};
pub use client::Client;
pub use error::Error;
pub use task_error::TaskError;
pub use worker::{RunningWorker, WorkerBuilder, host_name};

pub use rhythm_core::cron::{CatchUp, Overlap};
pub use rhythm_core::failure::codes;
pub use rhythm_core::{
    Actor, Backoff, Event, EventData, Failure, Millis, OnExhausted, Payload, RetryPolicy, RunId, Status,
    TaskDefaults, TaskId, TaskOptions, TenantId, Timestamp, Version, WorkerId, WorkflowKind,
};
pub use rhythm_engine::client::{EnqueueTask, NewSchedule, StartRun};
pub use rhythm_engine::definitions::ReadProgram;
pub use rhythm_engine::error::EngineError;
pub use rhythm_engine::worker::{Cancellation, TaskContext};
pub use rhythm_engine::world::{
    DeadQuery, RunQuery, Schedule, ScheduleTarget, TaskQuery, TaskState, World, WorldError,
};
pub use rhythm_graph::NodeType;
pub use rhythm_worlds::{DEFAULT_URL, OpenOptions, redacted};

/// Makes the README's examples doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// Makes the tutorial's worker a doc test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/learn/first-worker.md")]
pub struct FirstWorker;
