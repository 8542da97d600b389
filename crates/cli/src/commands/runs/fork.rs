use clap::Args;
use rhythm_engine::programs::Programs;
use rhythm_engine::travel::{Acted, ForkRun, fork, latest, repeated};
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::output::count;
use crate::session::Session;

/// Number of tasks listed by name. The others are only counted.
const NAMED: usize = 20;

/// Make a new run that shares a run's history up to an event and goes on by itself; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
What was under way after that event is started again under the new run's id: tasks with all their attempts, workflows \
with their current version, timers for the time they were set to (at once, if it has passed). Signals the run had sent are \
not sent again; signals that wait for it stay with it. The run itself is left as it is. With --input, and with --version at an \
event of the start, the new run starts over from the beginning.

A task of the new run that has the number, name and input of one of the run's has its stable idempotency key, too: a \
service that knows the key does the work once. Tasks that are done again although their handlers may have acted are listed, \
and --yes is asked for.")]
pub struct Fork {
    run: String,
    /// The last event the two runs share; it stands for the whole transition it belongs to. The last one before the run
    /// ended when left out
    #[arg(long, value_name = "EVENT")]
    at: Option<u64>,
    /// Start over with this input: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Go on with this version: its number, its hash or the beginning of it, or a tag. The one the run had then when left out
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// The line of that version where the run waits
    #[arg(long, value_name = "LINE", requires = "version")]
    at_line: Option<u32>,
    /// The same key always names the same fork of that event: a repeated call is harmless
    #[arg(long)]
    key: Option<String>,
    /// Do tasks again whose handlers may have acted
    #[arg(long)]
    yes: bool,
}

impl Fork {
    pub async fn run(self, settings: Settings) -> CliResult {
        let input = match &self.input {
            Some(given) => Some(input::payload("--input", Some(given))?),
            None => None,
        };
        let session = Session::open(&settings).await?;
        let (run, programs) = (session.client.find_run(&self.run).await?, Programs::default());
        let at = match self.at {
            Some(at) => at,
            None => latest(&session.client, &run).await?,
        };
        let version = match &self.version {
            Some(named) => {
                let workflow = session.client.picture(&run).await?.summary.workflow;
                Some(session.client.select_version(&workflow, named).await?)
            }
            None => None,
        };
        let wish = ForkRun { at, input, version, line: self.at_line, key: self.key };
        if !self.yes {
            let again = repeated(&session.client, &programs, &run, &wish).await?;
            if !again.is_empty() {
                let tasks = listed(&again);
                return Err(CliError::Unconfirmed(format!(
                    "fork run {run} after event {at} and do work again that handlers may have done already:\n{tasks}"
                )));
            }
        }
        let forked = fork(&session.client, &programs, &run, wish).await?;
        match session.out.is_json() {
            true => session.out.json(&json!({ "run": forked, "forked_from": run, "at": at })),
            false => session.out.line(forked.as_str()),
        }
    }
}

/// Lists the tasks that will run again, and says which keys they get.
fn listed(again: &[Acted]) -> String {
    let named = again.iter().take(NAMED);
    let mut lines: Vec<String> =
        named.map(|task| format!("  {} {} ({})", task.task, task.name, task.state)).collect();
    if again.len() > NAMED {
        lines.push(format!("  and {} more", count((again.len() - NAMED) as u64, "task")));
    }
    lines.push("  those with the same number, name and input keep their stable key".to_owned());
    lines.join("\n")
}
