use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use rhythm_core::drill::Drill;
use rhythm_core::{Timestamp, WorkflowKind};
use rhythm_engine::client::Rescheduled;
use rhythm_engine::definitions::{Defined, Refused, define};
use rhythm_engine::world::Definition;
use rhythm_syntax::render::locate;
use serde_json::json;

use super::versions::numbered;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;
use crate::workflow_files;

const ENDINGS: [&str; 4] = [".flow", ".graph.yaml", ".graph.yml", ".graph.json"];
const DRILL: &str = ".drill.json";

/// Register workflows from files and make them current
#[derive(Debug, Args)]
#[command(after_help = "\
The workflow is named after the file, or by `name` in its front matter or metadata: order.flow and order.graph.yaml \
register `order`. Folders are searched for .flow, .graph.yaml and .graph.json files. Nothing is registered when one of the files is wrong. Registering the same content again \
changes nothing; runs that are under way keep the version they started with. A `schedule` in the front matter becomes a \
schedule of the workflow's name, and goes when a version without one is registered.

A graph may refer to files beside it: `schema_ref: ./order.schema.json`. They are read within the folder of the graph's file and \
stored with it; what is registered has their hashes in place of the paths.")]
pub struct Register {
    /// Files of flows and graphs, or folders with them
    #[arg(required = true, value_name = "PATH")]
    files: Vec<String>,
}

impl Register {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        // Read and check all files before registering any.
        let mut found = Vec::new();
        for path in &self.files {
            match path.ends_with(DRILL) {
                true => found.push(read_drill(path)?),
                false => found.extend(read_workflows(&session, path).await?),
            }
        }
        let mut names = BTreeSet::new();
        for FoundFile { path, defined, .. } in &found {
            if !names.insert(defined.definition.workflow.clone()) {
                let name = &defined.definition.workflow;
                let reason = format!("another of these files is named {name} too");
                return Err(CliError::BadWorkflow { path: path.clone(), reason });
            }
        }
        let known: BTreeSet<String> = {
            let workers = session.rhythm.world().workers(session.client.tenant()).await?;
            workers.into_iter().filter(|worker| worker.live).flat_map(|worker| worker.card.tasks).collect()
        };
        let mut rows = Vec::new();
        for FoundFile { path, source, defined } in found {
            if !session.out.is_json() && !session.out.is_quiet() && !defined.remarks.is_empty() {
                session.out.complain(&workflow_files::rendered(&path, &source, &defined.remarks));
            }
            let diagnostics = locate(&source, &defined.remarks);
            let Definition { workflow, version, kind, .. } = defined.definition.clone();
            let tasks: BTreeSet<String> = defined.tasks.iter().map(|task| task.name.clone()).collect();
            let rescheduled = session.client.register_defined(defined).await?;
            let number = session.client.number_of(&workflow, &version).await?;
            if !session.out.is_json() && !session.out.is_quiet() {
                let name = numbered(&workflow, number, &version);
                session.out.line(format!("registered {workflow}, version {version} ({name})"))?;
                if let Some(told) = schedule_line(&workflow, &rescheduled) {
                    session.out.line(told)?;
                }
            }
            let unserved: Vec<&String> = tasks.iter().filter(|task| !known.contains(*task)).collect();
            if !known.is_empty() && !unserved.is_empty() {
                let names: Vec<&str> = unserved.iter().map(|task| task.as_str()).collect();
                session.out.note(format!("warning: {workflow}: no live worker knows {}", names.join(", ")));
            }
            rows.push(json!({
                "workflow": workflow, "kind": kind, "version": version, "number": number, "unserved": unserved,
                "schedule": schedule_json(&rescheduled), "diagnostics": diagnostics,
            }));
        }
        match session.out.is_json() {
            true => session.out.json(&json!({ "rows": rows, "next": null })),
            false => Ok(()),
        }
    }
}

/// Describes the change of the schedule, or returns `None` if it did not change.
fn schedule_line(workflow: &str, rescheduled: &Rescheduled) -> Option<String> {
    let next = |at: &Option<Timestamp>| match at {
        Some(at) => format!("starts next at {at}"),
        None => "never starts".to_owned(),
    };
    Some(match rescheduled {
        Rescheduled::Unchanged => return None,
        Rescheduled::Added { cron, next_at } => {
            format!("scheduled {workflow}: `{cron}`, {}", next(next_at))
        }
        Rescheduled::Changed { before, cron, next_at } => {
            format!("schedule of {workflow} changed from `{before}` to `{cron}`, {}", next(next_at))
        }
        Rescheduled::Removed { cron } => {
            format!("schedule of {workflow} removed (it was `{cron}`)")
        }
    })
}

fn schedule_json(rescheduled: &Rescheduled) -> serde_json::Value {
    match rescheduled {
        Rescheduled::Unchanged => json!(null),
        Rescheduled::Added { cron, next_at } => {
            json!({ "change": "added", "cron": cron, "next_at": next_at })
        }
        Rescheduled::Changed { before, cron, next_at } => {
            json!({ "change": "changed", "before": before, "cron": cron, "next_at": next_at })
        }
        Rescheduled::Removed { cron } => json!({ "change": "removed", "cron": cron }),
    }
}

/// A checked workflow and its file.
struct FoundFile {
    path: String,
    source: String,
    defined: Defined,
}

/// Reads and checks the workflows of a file or folder. Fails if one of them is wrong, so that none is
/// registered.
async fn read_workflows(session: &Session, path: &str) -> CliResult<Vec<FoundFile>> {
    let out = session.out;
    let files = workflow_files::find(&[path.to_owned()])?;
    let mut found = Vec::new();
    let mut wrong = 0;
    for file in &files {
        if !ENDINGS.iter().any(|ending| file.path.ends_with(ending)) {
            let reason = "its name does not end in .flow, .graph.yaml or .graph.json".to_owned();
            return Err(CliError::BadWorkflow { path: file.path.clone(), reason });
        }
        match session.client.define_beside(&file.stem(), file.kind(), &file.source, file.folder()).await? {
            Ok(defined) => {
                found.push(FoundFile { path: file.path.clone(), source: file.source.clone(), defined })
            }
            Err(Refused { diagnostics }) => {
                wrong += 1;
                if !out.is_json() {
                    out.complain(&workflow_files::rendered(&file.path, &file.source, &diagnostics));
                }
            }
        }
    }
    match wrong {
        0 => Ok(found),
        _ => Err(CliError::Refused(format!("{} of {} cannot be registered", wrong, files.len()))),
    }
}

fn read_drill(path: &str) -> CliResult<FoundFile> {
    let wrong = |reason: &str| CliError::BadWorkflow { path: path.to_owned(), reason: reason.to_owned() };
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let workflow = name.strip_suffix(DRILL).ok_or_else(|| wrong("its name does not end in .drill.json"))?;
    if workflow.is_empty() || workflow.len() > 200 {
        return Err(wrong("a workflow's name has 1 to 200 characters"));
    }
    let source = input::read_text(path)?;
    Drill::parse(source.as_bytes()).map_err(|error| wrong(&error.to_string()))?;
    let defined = define(workflow, WorkflowKind::Drill, &source).map_err(|_| wrong("it cannot be read"))?;
    Ok(FoundFile { path: path.to_owned(), source, defined })
}
