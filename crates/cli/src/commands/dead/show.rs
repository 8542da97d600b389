use clap::Args;
use rhythm_core::Payload;
use rhythm_engine::world::{Fate, LetterStatus};
use serde_json::json;

use super::choice::Nodes;
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
        let session = Session::read(&settings).await?;
        let mut letter = session.client.dead_letter(&session.client.find_task(&self.task).await?).await?;
        letter.input = session.loaded(letter.input).await?;
        if session.out.is_json() {
            let mut shown = serde_json::to_value(&letter).unwrap_or_default();
            let last = letter.history.iter().rev().find(|change| change.status == LetterStatus::Reprocessed);
            shown["reprocessed_at"] = json!(last.map(|change| change.at));
            return session.out.json(&shown);
        }
        let now = session.now().await?;
        let value = |payload: &Payload| short(payload.text().unwrap_or("(large)"), SHOWN);
        let held = if letter.held { " (held for it)" } else { "" };
        let node = Nodes::default().of(&session, &letter).await?;
        let changes = letter.history.iter().map(|change| {
            let by = change.by.as_ref().map(|by| format!(" by {}", by.0)).unwrap_or_default();
            format!("{}{by} {}", change.status.as_str(), relative(now, change.at))
        });
        let changes: Vec<String> = changes.collect();
        session.out.details(&[
            ("task", letter.task.to_string()),
            ("run", letter.run.as_ref().map(|run| format!("{run}{held}")).unwrap_or_default()),
            ("name", letter.name.clone()),
            ("label", letter.options.label.clone().unwrap_or_default()),
            ("item", letter.options.item.map(|item| item.to_string()).unwrap_or_default()),
            ("key", letter.options.key.clone().unwrap_or_default()),
            ("node", if node == letter.name { String::new() } else { node }),
            ("queue", letter.options.queue.clone()),
            ("fate", letter.fate.as_str().to_owned()),
            ("status", changes.join(", ")),
            ("died", format!("{} ({})", exact(letter.died_at), relative(now, letter.died_at))),
            ("attempts", letter.attempts.to_string()),
            ("failure", letter.failure.to_string()),
            ("data", letter.failure.data.as_ref().map(value).unwrap_or_default()),
            ("input", value(&letter.input)),
        ])?;
        if letter.status == LetterStatus::Pending && letter.fate != Fate::Undecided {
            session.out.note(format!("to run it again: rhythm dead requeue {}", letter.task));
        }
        Ok(())
    }
}
