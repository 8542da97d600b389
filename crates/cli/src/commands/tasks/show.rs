use clap::Args;
use rhythm_core::{Payload, Timestamp};
use rhythm_engine::error::EngineError;
use rhythm_engine::explain::explain_task;
use rhythm_engine::world::{TaskState, TaskSummary};

use super::list::word;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::short;
use crate::session::Session;
use crate::times::{exact, relative};

const SHOWN: usize = 2_000;

/// Show one task
#[derive(Debug, Args)]
#[command(after_help = "A finished task of a run is part of the run's history: rhythm runs events RUN")]
pub struct Show {
    task: String,
}

impl Show {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let id = session.client.find_task(&self.task).await?;
        let found = session.rhythm.world().task(session.client.tenant(), &id).await?;
        let mut task = found.ok_or_else(|| EngineError::UnknownTask(id.to_string()))?;
        task.input = session.loaded(task.input).await?;
        if let Some(output) = task.output.take() {
            task.output = Some(session.loaded(output).await?);
        }
        match session.out.is_json() {
            true => session.out.json(&task),
            false => tell(&session, &task).await,
        }
    }
}

async fn tell(session: &Session, task: &TaskSummary) -> CliResult {
    let now = session.now().await?;
    let time = |at: Timestamp| format!("{} ({})", exact(at), relative(now, at));
    let value = |payload: &Payload| short(payload.text().unwrap_or("(large)"), SHOWN);
    let options = &task.options;
    let state = match task.cancel_requested {
        true => format!("{} (asked to stop)", word(task.state)),
        false => word(task.state).to_owned(),
    };
    let waits = explain_task(&session.client, &task.id).await?;
    let waits = waits.filter(|reason| task.state == TaskState::Ready || reason.code == "worker_gone");
    session.out.details(&[
        ("task", task.id.to_string()),
        ("run", task.run.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("name", task.name.clone()),
        ("label", options.label.clone().unwrap_or_default()),
        ("item", options.item.map(|item| item.to_string()).unwrap_or_default()),
        ("key", options.key.clone().unwrap_or_default()),
        ("queue", options.queue.clone()),
        ("priority", if options.priority == 0 { String::new() } else { options.priority.to_string() }),
        ("state", state),
        ("because", waits.map(|reason| format!("[{}] {}", reason.code, reason.what)).unwrap_or_default()),
        ("since", time(task.since)),
        ("created", time(task.created_at)),
        ("deadline", task.deadline_at.map(time).unwrap_or_default()),
        ("attempt", format!("{} of {}", task.attempt, options.policy().max_attempts)),
        ("timeout", options.longest_attempt().to_string()),
        ("worker", task.worker.clone().unwrap_or_default()),
        ("progress", task.progress.as_ref().map(value).unwrap_or_default()),
        ("input", value(&task.input)),
        ("output", task.output.as_ref().map(value).unwrap_or_default()),
        ("failure", task.failure.as_ref().map(ToString::to_string).unwrap_or_default()),
    ])
}
