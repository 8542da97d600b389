use clap::Args;
use rhythm_core::{Payload, TaskId};

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::short;
use crate::session::Session;
use crate::times::{exact, relative};

const SHOWN: usize = 2_000;

/// Show one dead letter
#[derive(Debug, Args)]
pub struct Show {
    task: String,
}

impl Show {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let mut letter = session.client.dead_letter(&TaskId::new(self.task)).await?;
        letter.input = session.loaded(letter.input).await?;
        if session.out.is_json() {
            return session.out.json(&letter);
        }
        let now = session.now().await?;
        let value = |payload: &Payload| short(payload.text().unwrap_or("(large)"), SHOWN);
        let held = if letter.held { " (held for it)" } else { "" };
        session.out.details(&[
            ("task", letter.task.to_string()),
            ("run", letter.run.as_ref().map(|run| format!("{run}{held}")).unwrap_or_default()),
            ("name", letter.name.clone()),
            ("queue", letter.options.queue.clone()),
            ("died", format!("{} ({})", exact(letter.died_at), relative(now, letter.died_at))),
            ("attempts", letter.attempts.to_string()),
            ("failure", letter.failure.to_string()),
            ("data", letter.failure.data.as_ref().map(value).unwrap_or_default()),
            ("input", value(&letter.input)),
        ])?;
        session.out.note(format!("to run it again: rhythm dead requeue {}", letter.task));
        Ok(())
    }
}
