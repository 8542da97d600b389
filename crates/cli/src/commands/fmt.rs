use clap::Args;
use rhythm_core::WorkflowKind;
use rhythm_flow::format;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::output::count;
use crate::workflow_files::{self, WorkflowFile, kind_of};

/// Format `.flow` files in place
#[derive(Debug, Args)]
#[command(after_help = "A single - formats standard input and prints the result.")]
pub struct Fmt {
    /// Files, or folders with `.flow` files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Change nothing; fail when a file is not formatted
    #[arg(long)]
    check: bool,
}

impl Fmt {
    pub fn run(self, settings: Settings) -> CliResult {
        let out = settings.output;
        let piped = self.paths == ["-"];
        let (mut changed, mut broken) = (Vec::new(), 0_u64);
        for WorkflowFile { path, source } in workflow_files::find_flows(&self.paths)? {
            if kind_of(&path) == WorkflowKind::Graph {
                let reason = "it is a graph: those are kept as they are written".to_owned();
                return Err(CliError::BadFile { path, reason });
            }
            let formatted = match format(&source) {
                Ok(formatted) => formatted,
                Err(diagnostics) => {
                    broken += 1;
                    out.styled(&workflow_files::rendered(&path, &source, &diagnostics))?;
                    continue;
                }
            };
            if piped && !self.check {
                return out.raw(&formatted);
            }
            if formatted == source {
                continue;
            }
            if !self.check {
                std::fs::write(&path, &formatted)
                    .map_err(|error| CliError::BadFile { path: path.clone(), reason: error.to_string() })?;
            }
            changed.push(path);
        }
        let files = count(changed.len() as u64, "file");
        if out.is_json() {
            out.json(&serde_json::json!({ "changed": changed, "unreadable": broken }))?;
        } else if !out.is_quiet() {
            for path in &changed {
                out.line(path)?;
            }
            if !self.check && broken == 0 {
                out.note(format!("{files} formatted"));
            }
        }
        match (broken, self.check && !changed.is_empty()) {
            (0, false) => Ok(()),
            (0, true) => Err(CliError::Refused(format!("{files} would be formatted"))),
            _ => Err(CliError::Refused(format!("{} cannot be read", count(broken, "file")))),
        }
    }
}
