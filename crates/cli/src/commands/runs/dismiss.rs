use clap::Args;
use rhythm_engine::world::{Control, Controlled};
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::session::Session;

/// Let a failed run go as soon as others would, not after the longer time failed runs are kept
#[derive(Debug, Args)]
#[command(
    after_help = "A run with dead letters stays until they are requeued or discarded: rhythm dead list --run RUN"
)]
pub struct Dismiss {
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
}

impl Dismiss {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let runs = session.find_runs(&self.runs).await?;
        for run in &runs {
            let text = match session.client.control(Control::DismissRun { run: run.clone() }).await? {
                Controlled::Done => format!("run {run} is dismissed"),
                Controlled::Unchanged => format!("run {run} was dismissed already"),
            };
            if !session.out.is_json() && !session.out.is_quiet() {
                session.out.line(text)?;
            }
            let letters = session.client.picture(run).await?.dead.len();
            if letters > 0 {
                session
                    .out
                    .note(format!("run {run} stays while it has dead letters: rhythm dead list --run {run}"));
            }
        }
        match session.out.is_json() {
            true => session.out.json(&json!({ "dismissed": runs })),
            false => Ok(()),
        }
    }
}
