use clap::Args;
use rhythm_core::RunId;
use rhythm_engine::programs::Programs;
use rhythm_engine::travel::{ForkRun, fork};
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::input;
use crate::session::Session;

/// Make a new run that shares a run's history up to an event and goes on by itself; print its id
#[derive(Debug, Args)]
#[command(after_help = "\
What was under way after that event is started again under the new run's id: tasks with all their attempts, workflows \
with their current version, timers for the time they were set to (at once, if it has passed). Signals the run had sent are \
not sent again; signals that wait for it stay with it. The run itself is left as it is. With --input the new run starts \
over from the beginning, which needs an event of the start, such as 1.")]
pub struct Fork {
    run: String,
    /// The last event the two runs share; it stands for the whole transition it belongs to
    #[arg(long, value_name = "EVENT")]
    at: u64,
    /// Start over with this input: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// The same key always names the same fork of that event: a repeated call is harmless
    #[arg(long)]
    key: Option<String>,
}

impl Fork {
    pub async fn run(self, settings: Settings) -> CliResult {
        let input = match &self.input {
            Some(given) => Some(input::payload("--input", Some(given))?),
            None => None,
        };
        let session = Session::open(&settings).await?;
        let (run, at) = (RunId::new(self.run), self.at);
        let wish = ForkRun { at, input, key: self.key };
        let forked = fork(&session.client, &Programs::default(), &run, wish).await?;
        match session.out.is_json() {
            true => session.out.json(&json!({ "run": forked, "forked_from": run, "at": at })),
            false => session.out.line(forked.as_str()),
        }
    }
}
