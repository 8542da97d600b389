mod diff;
mod patch;
mod patches;
mod register;
mod show;
mod tag;
pub mod versions;

use clap::Subcommand;
use rhythm_engine::world::{Control, Controlled};
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::relative;

/// Look at workflows, register, tag, patch, pause and resume them
#[derive(Debug, Subcommand)]
pub enum Workflows {
    /// List the registered workflows
    List,
    Register(register::Register),
    Show(show::Show),
    Versions(versions::Versions),
    Diff(diff::Diff),
    Tag(tag::Tag),
    /// List the tags: where each points, who moved it there and why
    Tags,
    Patch(patch::Patch),
    Patches(patches::Patches),
    /// Stop stepping all runs of a workflow; tasks under way finish
    Pause {
        workflow: String,
    },
    /// Step the runs of a workflow again
    Resume {
        workflow: String,
    },
}

impl Workflows {
    pub async fn run(self, settings: Settings) -> CliResult {
        match self {
            Self::List => list(&Session::read(&settings).await?).await,
            Self::Register(command) => command.run(settings).await,
            Self::Show(command) => command.run(settings).await,
            Self::Versions(command) => command.run(settings).await,
            Self::Diff(command) => command.run(settings).await,
            Self::Tag(command) => command.run(settings).await,
            Self::Tags => tag::list(&Session::read(&settings).await?).await,
            Self::Patch(command) => command.run(settings).await,
            Self::Patches(command) => command.run(settings).await,
            Self::Pause { workflow } => pause(&Session::open(&settings).await?, workflow).await,
            Self::Resume { workflow } => resume(&Session::open(&settings).await?, workflow).await,
        }
    }
}

async fn list(session: &Session) -> CliResult {
    let now = session.now().await?;
    let rows = session.rhythm.world().workflows(session.client.tenant()).await?;
    let words = Words {
        columns: &["WORKFLOW", "KIND", "STATE", "CURRENT", "VERSION", "VERSIONS", "REGISTERED"],
        none: "no workflows are registered; `rhythm workflows register FILE` adds one",
    };
    session.out.list(rows, words, |row| {
        vec![
            row.workflow.clone(),
            row.kind.as_str().to_owned(),
            if row.paused { "paused" } else { "open" }.to_owned(),
            format!("{}@{}", row.workflow, row.number),
            short(row.version.as_str(), 20),
            row.versions.to_string(),
            relative(now, row.registered_at),
        ]
    })
}

async fn pause(session: &Session, workflow: String) -> CliResult {
    let rows = session.rhythm.world().workflows(session.client.tenant()).await?;
    let known = rows.iter().any(|row| row.workflow == workflow);
    let outcome = session.client.control(Control::PauseWorkflow { workflow: workflow.clone() }).await?;
    let text = match (outcome, known) {
        (Controlled::Unchanged, _) => format!("workflow {workflow} was paused already"),
        (Controlled::Done, true) => format!("workflow {workflow} is paused"),
        (Controlled::Done, false) => format!("workflow {workflow} is paused; so far none has that name"),
    };
    session.out.done(text, &json!({ "workflow": workflow, "paused": true, "known": known }))
}

async fn resume(session: &Session, workflow: String) -> CliResult {
    let outcome = session.client.control(Control::ResumeWorkflow { workflow: workflow.clone() }).await?;
    let text = match outcome {
        Controlled::Done => format!("workflow {workflow} goes on"),
        Controlled::Unchanged => format!("workflow {workflow} was not paused"),
    };
    session.out.done(text, &json!({ "workflow": workflow, "paused": false }))
}
