mod add;
mod show;

use clap::Subcommand;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::{Control, Controlled, Schedule, ScheduleTarget};
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Words;
use crate::session::Session;
use crate::times::relative_or;

/// What starts again and again: cron rules for tasks and workflows
#[derive(Debug, Subcommand)]
pub enum Schedules {
    /// List the schedules
    List,
    Show(show::Show),
    Add(Box<add::Add>),
    /// Remove a schedule; what it started goes on
    Remove {
        name: String,
    },
    /// Keep a schedule from starting anything until it is resumed
    Pause {
        name: String,
    },
    /// Let a paused schedule go on; what it missed meanwhile is passed over
    Resume {
        name: String,
    },
}

impl Schedules {
    pub async fn run(self, settings: Settings) -> CliResult {
        match self {
            Self::Add(command) => return command.run(settings).await,
            Self::Show(command) => return command.run(settings).await,
            _ => {}
        }
        let session = match self {
            Self::List { .. } => Session::read(&settings).await?,
            _ => Session::open(&settings).await?,
        };
        match self {
            Self::Remove { name } => {
                find(&session, &name).await?;
                session.client.control(Control::RemoveSchedule { name: name.clone() }).await?;
                session
                    .out
                    .done(format!("schedule {name} is gone"), &json!({ "schedule": name, "removed": true }))
            }
            Self::Pause { name } => {
                find(&session, &name).await?;
                let outcome = session.client.control(Control::PauseSchedule { name: name.clone() }).await?;
                let text = match outcome {
                    Controlled::Done => format!("schedule {name} is paused"),
                    Controlled::Unchanged => format!("schedule {name} was paused already"),
                };
                session.out.done(text, &json!({ "schedule": name, "paused": true }))
            }
            Self::Resume { name } => {
                let text = match session.client.resume_schedule(&name).await? {
                    Controlled::Done => format!("schedule {name} goes on"),
                    Controlled::Unchanged => format!("schedule {name} was not paused"),
                };
                session.out.done(text, &json!({ "schedule": name, "paused": false }))
            }
            _ => list(&session).await,
        }
    }
}

async fn find(session: &Session, name: &str) -> CliResult<Schedule> {
    let schedules = session.rhythm.world().schedules(session.client.tenant()).await?;
    let found = schedules.into_iter().find(|schedule| schedule.name == name);
    Ok(found.ok_or_else(|| EngineError::UnknownSchedule(name.to_owned()))?)
}

async fn list(session: &Session) -> CliResult {
    let now = session.now().await?;
    let rows = session.rhythm.world().schedules(session.client.tenant()).await?;
    let words = Words {
        columns: &["SCHEDULE", "CRON", "ZONE", "STARTS", "STATE", "NEXT", "LAST", "FIRED"],
        none: "no schedules; `rhythm schedules add` makes one",
    };
    session.out.list(rows, words, |row| {
        vec![
            row.name.clone(),
            row.cron.clone(),
            row.zone.clone(),
            target(&row.target),
            if row.paused { "paused" } else { "open" }.to_owned(),
            relative_or(now, row.next_at, "never"),
            relative_or(now, row.last_at, "never"),
            row.fired.to_string(),
        ]
    })
}

fn target(target: &ScheduleTarget) -> String {
    match target {
        ScheduleTarget::Workflow { workflow, .. } => format!("workflow {workflow}"),
        ScheduleTarget::Task { name, .. } => format!("task {name}"),
    }
}
