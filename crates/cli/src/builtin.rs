//! The tasks every `rhythm worker` and `rhythm run` has: enough for scripts without code of their own.

mod echo;
mod fail;
mod http;
mod sandbox;
mod shell;
mod sleep;

use std::sync::Arc;

use clap::Args;
use rhythm::{Cancellation, TaskContext, WorkerBuilder};
use rhythm_http::{AllowList, Client};

use crate::config::WorkerSettings;
use crate::errors::{CliError, CliResult};
use sandbox::Sandboxes;

/// What the operator allows the built-in tasks.
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
    /// Adds the built-in tasks; what flags or `rhythm.toml` do not allow is left out.
    pub fn add_to(&self, worker: WorkerBuilder, file: &WorkerSettings) -> CliResult<WorkerBuilder> {
        let hosts = AllowList::parse(self.hosts.iter().chain(&file.allow_hosts))
            .map_err(|problem| CliError::BadValue(format!("--allow-host: {problem}")))?;
        let client = Arc::new(Client::new(hosts));
        let filters = Arc::new(Sandboxes::default());
        let programs = filters.clone();
        let worker = worker
            .handler("echo", Arc::new(echo::Echo))
            .task("fail", fail::fail)
            .task("http.request", move |context, input| http::request(client.clone(), context, input))
            .task("rhythm.jq", move |context, call| filters.clone().jq(context, call))
            .task("rhythm.sandbox", move |context, call| programs.clone().program(context, call))
            .task("sleep", sleep::sleep);
        let shell = self.shell || file.allow_shell;
        Ok(if shell { worker.task("shell.exec", shell::exec) } else { worker })
    }
}

/// Resolves when the attempt should end. A worker that shuts down hands its tasks to another one: no reason to fail.
async fn asked_to_stop(context: &TaskContext) {
    if context.cancelled().await == Cancellation::Shutdown {
        std::future::pending::<()>().await;
    }
}
