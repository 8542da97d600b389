//! Tests of workflows without their tasks: a scenario names a workflow, scripts what the outside answers and says what
//! should come of it. It is played on the real engine with a clock that jumps from one event to the next, so an hour
//! takes no time and nothing is ever waited for.
//!
//! [`Scenario`] is what a file says, [`play_at`](stage::play_at) what happens, [`Outcome`] what happened, and
//! [`Expectation`] whether that was right. [`run`] does all of it, in each of the three [`Way`](stage::Way)s.

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
/// Where the programs of graphs run.
pub use rhythm_sandbox::Sandbox;

pub use outcome::{Call, Ending, Fault, Outcome, Rejection};
pub use script::{Answer, Script};
pub use suite::{CODES, Options, Report, run, run_all};
