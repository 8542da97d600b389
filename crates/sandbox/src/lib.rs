//! Programs that come with a workflow and run when it does: `evaluate(output, context)` of `python_sandbox` conditions,
//! and jq filters.
//!
//! They never run in the process that holds secrets and connections. [`Pool`] keeps a few child processes warm, gives
//! each one question at a time and kills what takes too long. A child ([`child::serve`]) has no environment, opens no
//! file and starts no process; its memory and processor time are limited by the kernel, and the languages have no way
//! out: Starlark knows neither imports nor files, and of jq the parts that look outside are taken away.

mod answer;
pub mod child;
pub mod codes;
mod error;
mod here;
mod pool;
mod request;
mod sandbox;
mod syntax_check;

pub use error::{Limit, SandboxError};
pub use pool::{Launch, Pool};
pub use request::{JqCall, ProgramCall, Request};
pub use sandbox::{Apart, Sandbox};
pub use syntax_check::read_program;
