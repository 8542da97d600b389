//! Tests of workflows without their tasks: a scenario names a workflow, scripts the answers from outside and
//! states the expected outcome. It is played on the real engine with a clock that jumps from one event to the
//! next, so an hour of the workflow takes no real time.
//!
//! [`Scenario`] is the content of a file, [`play_at`](stage::play_at) plays it, [`Outcome`] is the result,
//! and [`Expectation`] judges it. [`run`] does all of it, in each of the three [`Way`](stage::Way)s.

mod expectation;
mod file;
mod inline_patches;
mod lint;
mod node_stub;
mod ordered_json;
mod outcome;
mod script;
pub mod stage;
mod suite;

pub use expectation::Expectation;
pub use file::{Cancel, Decision, FileError, Patch, Says, Scenario, Signal, read_files};
/// Sandbox for the programs of graphs.
pub use rhythm_sandbox::Sandbox;

pub use outcome::{Call, Ending, Fault, Outcome, Rejection};
pub use script::{Answer, Script};
pub use suite::{CODES, Options, Report, run, run_all};
