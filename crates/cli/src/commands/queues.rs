use clap::Subcommand;
use rhythm_engine::world::{Control, Controlled, QueueRow};
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Words;
use crate::session::Session;
use crate::times::relative_or;

/// Look at queues, pause and resume them
#[derive(Debug, Subcommand)]
pub enum Queues {
    /// List the queues with what waits in them
    List,
    /// Stop handing out a queue's tasks; running ones finish
    Pause { queue: String },
    /// Hand out a queue's tasks again
    Resume { queue: String },
}

impl Queues {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = match self {
            Self::List => Session::read(&settings).await?,
            _ => Session::open(&settings).await?,
        };
        match self {
            Self::List => list(&session).await,
            Self::Pause { queue } => {
                let known = rows(&session).await?.iter().any(|row| row.name == queue);
                let outcome = session.client.control(Control::PauseQueue { queue: queue.clone() }).await?;
                let text = match (outcome, known) {
                    (Controlled::Unchanged, _) => format!("queue {queue} was paused already"),
                    (Controlled::Done, true) => format!("queue {queue} is paused"),
                    (Controlled::Done, false) => {
                        format!("queue {queue} is paused; so far no task or worker has used that name")
                    }
                };
                session.out.done(text, &json!({ "queue": queue, "paused": true, "known": known }))
            }
            Self::Resume { queue } => {
                let outcome = session.client.control(Control::ResumeQueue { queue: queue.clone() }).await?;
                let text = match outcome {
                    Controlled::Done => format!("queue {queue} goes on"),
                    Controlled::Unchanged => format!("queue {queue} was not paused"),
                };
                session.out.done(text, &json!({ "queue": queue, "paused": false }))
            }
        }
    }
}

async fn rows(session: &Session) -> CliResult<Vec<QueueRow>> {
    Ok(session.rhythm.world().queues(session.client.tenant()).await?)
}

async fn list(session: &Session) -> CliResult {
    let now = session.now().await?;
    let words = Words {
        columns: &["QUEUE", "STATE", "READY", "DELAYED", "RUNNING", "HELD", "OLDEST READY", "WORKERS"],
        none: "no queues yet; the first task makes one",
    };
    session.out.list(rows(session).await?, words, |row| {
        vec![
            row.name.clone(),
            if row.paused { "paused" } else { "open" }.to_owned(),
            row.ready.to_string(),
            row.delayed.to_string(),
            row.running.to_string(),
            row.held.to_string(),
            relative_or(now, row.oldest_ready_at, "-"),
            row.workers.to_string(),
        ]
    })
}
