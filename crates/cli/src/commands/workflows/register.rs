use std::path::Path;

use clap::Args;
use rhythm_core::WorkflowKind;
use rhythm_core::drill::Drill;
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;

const DRILL: &str = ".drill.json";

/// Register workflows from files and make them current
#[derive(Debug, Args)]
#[command(after_help = "\
The workflow is named after the file: order.drill.json registers `order`. Registering the same content again changes \
nothing; runs that are under way keep the version they started with.")]
pub struct Register {
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
}

struct Found {
    workflow: String,
    source: String,
}

impl Register {
    pub async fn run(self, settings: Settings) -> CliResult {
        // All files are read before anything is registered.
        let found = self.files.iter().map(|path| read(path)).collect::<CliResult<Vec<_>>>()?;
        let session = Session::open(&settings).await?;
        let mut rows = Vec::new();
        for Found { workflow, source } in found {
            let version = session.client.register(&workflow, WorkflowKind::Drill, &source).await?;
            if !session.out.is_json() && !session.out.is_quiet() {
                session.out.line(format!("registered {workflow}, version {version}"))?;
            }
            rows.push(json!({ "workflow": workflow, "kind": WorkflowKind::Drill, "version": version }));
        }
        match session.out.is_json() {
            true => session.out.json(&json!({ "rows": rows, "next": null })),
            false => Ok(()),
        }
    }
}

fn read(path: &str) -> CliResult<Found> {
    let wrong = |reason: &str| CliError::BadWorkflow { path: path.to_owned(), reason: reason.to_owned() };
    let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let workflow = name.strip_suffix(DRILL).ok_or_else(|| wrong("its name does not end in .drill.json"))?;
    if workflow.is_empty() || workflow.len() > 200 {
        return Err(wrong("a workflow's name has 1 to 200 characters"));
    }
    let source = input::read_text(path)?;
    Drill::parse(source.as_bytes()).map_err(|error| wrong(&error.to_string()))?;
    Ok(Found { workflow: workflow.to_owned(), source })
}
