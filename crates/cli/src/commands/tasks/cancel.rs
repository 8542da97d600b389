use clap::Args;
use rhythm_engine::world::{Control, Controlled, TaskState};
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::session::Session;

/// Remove a queued standalone task, or ask a running one to stop
#[derive(Debug, Args)]
pub struct Cancel {
    task: String,
}

impl Cancel {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let task = session.client.find_task(&self.task).await?;
        let outcome = session.client.control(Control::CancelTask { task: task.clone() }).await?;
        let found = session.rhythm.world().task(session.client.tenant(), &task).await?;
        let state = found.map(|found| found.state);
        let text = match (outcome, state) {
            (Controlled::Unchanged, _) => format!("task {task} has ended or was asked to stop already"),
            (Controlled::Done, Some(TaskState::Running)) => format!("task {task} was asked to stop"),
            (Controlled::Done, _) => format!("task {task} is cancelled"),
        };
        session.out.done(text, &json!({ "task": task, "state": state }))
    }
}
