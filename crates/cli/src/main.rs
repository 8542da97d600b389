//! The `rhythm` command: reads arguments and settings, runs one command, and turns errors into messages and
//! exit codes. The commands are in `commands/`, one file each.

mod allowed;
mod args;
mod commands;
mod config;
mod error_pages;
mod errors;
mod help;
mod input;
mod node_type_files;
mod output;
mod progress;
mod scratch;
mod session;
mod short_ids;
mod times;
mod unified_diff;
mod workflow_files;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::args::{Cli, Command};
use crate::config::Settings;
use crate::errors::{CliError, Reporter};

// A step allocates a few hundred small objects on one thread and frees them on another, which glibc does
// slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let reporter = Reporter::guess(&arguments);
    let cli = match parsed(arguments) {
        Ok(cli) => cli,
        Err(error) => return reporter.usage(&error),
    };
    if matches!(cli.command, Command::Sandbox(_)) {
        return commands::sandbox::Sandbox::serve();
    }
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => reporter.report(&error),
    }
}

fn parsed(arguments: Vec<std::ffi::OsString>) -> Result<Cli, clap::Error> {
    let matches = help::command().try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches)
}

fn run(cli: Cli) -> Result<(), CliError> {
    let settings = Settings::gather(&cli.global)?;
    let threads = cli.command.threads(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let runtime = runtime.map_err(|error| CliError::Output(error.to_string()))?;
    let outcome = runtime.block_on(cli.command.run(settings));
    // Limit the wait: a handler that blocks its thread must not keep the process alive.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    outcome
}
