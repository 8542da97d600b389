//! Runs programs that workflows contain: `evaluate(output, context)` of `python_sandbox` conditions, and jq
//! filters.
//!
//! They never run in the process that holds secrets and connections. [`Pool`] keeps a few warm child
//! processes, gives each one request at a time and kills a child that takes too long. A child
//! ([`child::serve`]) has no environment, opens no file and starts no process. The kernel limits its memory
//! and processor time. The languages cannot reach outside: Starlark has neither imports nor files, and the jq
//! functions that look outside are removed.

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
