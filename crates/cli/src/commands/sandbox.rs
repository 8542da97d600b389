//! `rhythm sandbox` is started by workers, not by people: the child that runs the programs of conditions and jq filters.
//! It reads no settings and starts no runtime, so that there is nothing in it to find.

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
