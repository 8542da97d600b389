//! The pure kernel of Rhythm.
//!
//! A run is a fold: [`Program::step`] takes a snapshot and a message and returns the next snapshot, with the
//! commands and events that the message caused. Nothing here reads a clock, a file, the network, the
//! environment or a random number. Time and blobs are arguments, and every id is derived. `clippy.toml`
//! enforces this.

pub mod command;
pub mod cron;
pub mod drill;
pub mod duration;
pub mod event;
pub mod failure;
pub mod fold;
pub mod id;
pub mod label;
pub mod lineage;
pub mod message;
pub mod payload;
pub mod program;
pub mod refers;
pub mod retry;
pub mod run;
pub mod state_at_event;
pub mod task;
pub mod time;

pub use command::{ChildSpec, Command, SignalSpec, TimerSpec};
pub use event::{Event, EventData};
pub use failure::Failure;
pub use id::{CommandId, CommitId, MessageId, RunId, TaskId, TenantId, Version, WorkerId};
pub use message::{Actor, Message, MessageBody};
pub use payload::{BlobRef, Blobs, Payload};
pub use program::{Program, ProgramError, Progress, Snapshot, Step, StepInput, Transition};
pub use retry::{Backoff, RetryPolicy};
pub use run::{Blocked, BlockedCode, Compensation, Grace, Status, WorkflowKind};
pub use task::{OnExhausted, TaskDefaults, TaskOptions, TaskSpec};
pub use time::{Millis, Timestamp};
