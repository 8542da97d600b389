use clap::Args;
use rhythm::{EnqueueTask, TaskState};
use rhythm_core::{Millis, TaskId};
use rhythm_engine::drive::wait_for_task;
use rhythm_engine::explain::explain_task;
use rhythm_engine::world::TaskSummary;
use serde_json::json;

use super::options::OptionArgs;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;

/// Number of tasks in one request.
const BATCH: u64 = 1_000;

/// Enqueue a task and print its id
#[derive(Debug, Args)]
pub struct Enqueue {
    /// What workers know the task by
    name: String,
    /// What the task gets: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    options: OptionArgs,
    /// Hand it out this much later
    #[arg(long, value_name = "DURATION")]
    delay: Option<String>,
    /// The same key always names the same task: a repeated call is harmless
    #[arg(long)]
    key: Option<String>,
    /// Enqueue so many of them
    #[arg(long, default_value_t = 1, value_name = "N", conflicts_with = "key")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    count: u64,
    /// Wait for the task to end and print its output
    #[arg(long)]
    wait: bool,
}

impl Enqueue {
    pub async fn run(self, settings: Settings) -> CliResult {
        let mut options = self.options.options()?;
        options.delay = input::optional_duration("--delay", self.delay.as_deref())?.unwrap_or(Millis::ZERO);
        let task = EnqueueTask {
            name: self.name.clone(),
            input: input::payload("--input", self.input.as_deref())?,
            options,
            key: self.key.clone(),
            ..EnqueueTask::default()
        };
        let session = Session::open(&settings).await?;
        if self.count > 1 {
            return self.enqueue_many(&session, task).await;
        }
        let queue = task.options.queue.clone();
        let id = session.client.enqueue_task(task).await?;
        if self.wait {
            let hint = hint(&session, &queue);
            let ended = session.wait(wait_for_task(&session.client, &id), hint).await?;
            return tell(&session, ended).await;
        }
        remark(&session, &id).await?;
        match session.out.is_json() {
            true => session.out.json(&json!({ "task": id })),
            false => session.out.line(id.as_str()),
        }
    }

    async fn enqueue_many(&self, session: &Session, task: EnqueueTask) -> CliResult {
        let mut ids: Vec<TaskId> = Vec::new();
        let mut left = self.count;
        let mut ends: Option<(TaskId, TaskId)> = None;
        while left > 0 {
            let size = left.min(BATCH);
            let batch = (0..size).map(|_| task.clone()).collect();
            let made = session.client.enqueue_tasks(batch).await?;
            if let (Some(first), Some(last)) = (made.first(), made.last()) {
                let first = ends.map_or_else(|| first.clone(), |(first, _)| first);
                ends = Some((first, last.clone()));
            }
            if self.wait {
                ids.extend(made);
            }
            left -= size;
        }
        if self.wait {
            return wait_for_all(session, &ids, &task.options.queue).await;
        }
        let (first, last) = ends.unzip();
        let text = format!("enqueued {} tasks {}", self.count, self.name);
        session.out.done(text, &json!({ "enqueued": self.count, "first": first, "last": last }))
    }
}

/// Warns about an unknown task name or a paused queue. The task is enqueued in any case.
async fn remark(session: &Session, task: &TaskId) -> CliResult {
    let reason = explain_task(&session.client, task).await?;
    if let Some(reason) = reason.filter(|r| ["unknown_task", "queue_paused"].contains(&r.code)) {
        session
            .out
            .note(format!("note[{}]: {}; it is done when {}", reason.code, reason.what, reason.moves_when));
    }
    Ok(())
}

async fn hint(session: &Session, queue: &str) -> String {
    let queues = session.rhythm.world().queues(session.client.tenant()).await.unwrap_or_default();
    match queues.iter().find(|row| row.name == queue) {
        Some(row) if row.paused => format!("waiting: queue {queue} is paused (rhythm queues resume {queue})"),
        Some(row) if row.workers == 0 => {
            format!("waiting: no live worker serves queue {queue} (rhythm worker --queue {queue})")
        }
        _ => "waiting for the task to end".to_owned(),
    }
}

async fn tell(session: &Session, task: TaskSummary) -> CliResult {
    let what = format!("task {}", task.id);
    match (task.state, task.failure) {
        (TaskState::Cancelled, _) => Err(CliError::Cancelled { what }),
        (TaskState::Failed, Some(failure)) => {
            let help = format!("it is a dead letter: `rhythm dead requeue {}` tries again", task.id);
            Err(CliError::Failed { what, place: String::new(), help, failure: Box::new(failure) })
        }
        _ => {
            let text = match &task.output {
                Some(output) => session.text(output).await?,
                None => "null".to_owned(),
            };
            session.out.raw(&format!("{text}\n"))
        }
    }
}

async fn wait_for_all(session: &Session, tasks: &[TaskId], queue: &str) -> CliResult {
    let (mut completed, mut failed, mut cancelled) = (0, 0, 0);
    let mut example = None;
    for id in tasks {
        let task = session.wait(wait_for_task(&session.client, id), hint(session, queue)).await?;
        match task.state {
            TaskState::Completed => completed += 1,
            TaskState::Cancelled => cancelled += 1,
            _ => {
                failed += 1;
                example = example.or(task.failure);
            }
        }
    }
    let text = format!("{completed} completed, {failed} failed, {cancelled} cancelled");
    session.out.done(&text, &json!({ "completed": completed, "failed": failed, "cancelled": cancelled }))?;
    match example {
        None => Ok(()),
        Some(failure) => {
            let help = "`rhythm dead list` shows what failed".to_owned();
            let what = format!("{failed} of {} tasks", tasks.len());
            Err(CliError::Failed { what, place: String::new(), help, failure: Box::new(failure) })
        }
    }
}
