//! Chooses the built-in tasks of a worker and what they may reach.

use std::sync::Arc;

use rhythm::WorkerBuilder;
use rhythm_http::{AllowList, Client};

use crate::sandbox::Sandboxes;
use crate::{echo, fail, http, shell, sleep};

/// Permissions of the built-in tasks. The default allows no shell and only public addresses.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Adds `shell.exec`, which runs any program that a task names.
    pub shell: bool,
    /// Hosts (`HOST` or `HOST:PORT`) that `http.request` may reach although their addresses are not public.
    pub hosts: Vec<String>,
}

/// Error: an entry of [`Allowed::hosts`] is not `HOST` or `HOST:PORT`.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadHost(String);

impl Allowed {
    /// Adds the built-in tasks to a worker. Fails if a host cannot be read.
    pub fn add_to(&self, worker: WorkerBuilder) -> Result<WorkerBuilder, BadHost> {
        let hosts = AllowList::parse(&self.hosts).map_err(|problem| BadHost(problem.to_string()))?;
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
        Ok(if self.shell { worker.task("shell.exec", shell::exec) } else { worker })
    }
}
