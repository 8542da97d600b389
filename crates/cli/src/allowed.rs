//! Options that permit the built-in tasks to run programs or to reach private hosts.

use clap::Args;
use rhythm::WorkerBuilder;

use crate::config::WorkerSettings;
use crate::errors::{CliError, CliResult};

#[derive(Clone, Debug, Default, Args)]
pub struct Allowed {
    /// Also do shell.exec: run any program that a task names
    #[arg(long = "allow-shell")]
    shell: bool,
    /// Let http.request reach this host although its address is not public; may be repeated
    #[arg(long = "allow-host", value_name = "HOST[:PORT]")]
    hosts: Vec<String>,
}

impl Allowed {
    /// Adds the built-in tasks to a worker. Flags add to the permissions of `rhythm.toml`. Fails if a host is
    /// malformed.
    pub fn add_to(&self, worker: WorkerBuilder, file: &WorkerSettings) -> CliResult<WorkerBuilder> {
        let hosts = self.hosts.iter().chain(&file.allow_hosts).cloned().collect();
        let allowed = rhythm_builtins::Allowed { shell: self.shell || file.allow_shell, hosts };
        allowed.add_to(worker).map_err(|problem| CliError::BadValue(format!("--allow-host: {problem}")))
    }
}
