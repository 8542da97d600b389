//! `rhythm sandbox`: the child process that evaluates conditions and jq filters. Workers start it, not
//! people. It reads no settings and starts no runtime, so that it holds no secrets.

use std::process::ExitCode;

use clap::Args;

/// Evaluate programs for a worker, a line of JSON each
#[derive(Debug, Args)]
pub struct Sandbox {}

impl Sandbox {
    pub fn serve() -> ExitCode {
        rhythm_sandbox::child::serve()
    }
}
