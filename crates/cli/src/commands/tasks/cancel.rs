use clap::Args;
use rhythm_core::TaskId;
use rhythm_engine::world::{Control, Controlled};
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
        let task = TaskId::new(self.task);
        let text = match session.client.control(Control::CancelTask { task: task.clone() }).await? {
            Controlled::Done => format!("task {task} is cancelled, or stops as soon as its handler does"),
            Controlled::Unchanged => format!("task {task} has ended or was asked to stop already"),
        };
        session.out.done(text, &json!({ "task": task, "cancelled": true }))
    }
}
