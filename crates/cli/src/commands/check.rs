use clap::Args;
use rhythm_core::WorkflowKind;
use rhythm_engine::definitions::beside::{Gathered, gather};
use rhythm_engine::definitions::{define, examine};
use rhythm_flow::code::{Place, Step};
use rhythm_flow::{Checked, Code};
use rhythm_graph::{Compiled, Context, Registry, compile};
use rhythm_sandbox::read_program;
use rhythm_syntax::render::locate;
use rhythm_syntax::{Diagnostic, Severity};
use serde_json::{Value, json};

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::node_type_files;
use crate::output::count;
use crate::workflow_files::{self, WorkflowFile};

/// Check flows and graphs: everything that is wrong, with what to write instead
#[derive(Debug, Args)]
pub struct Check {
    /// Files, or folders with `.flow` and `.graph.yaml` (or `.graph.json`) files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Warnings are errors too
    #[arg(long)]
    strict: bool,
    /// Also show the steps each flow is compiled into
    #[arg(long)]
    steps: bool,
    /// JSON files with the node types that graphs may use beside the built-in ones [default: those of the world]
    #[arg(long, value_name = "FILE")]
    types: Vec<String>,
}

impl Check {
    pub async fn run(self, settings: Settings) -> CliResult {
        let out = settings.output;
        let files = workflow_files::find(&self.paths)?;
        let graphs = files.iter().filter(|file| file.kind() == WorkflowKind::Graph);
        let registry =
            node_type_files::registry(&settings, &self.types, graphs.map(|file| file.source.as_str()))
                .await?;
        let (mut errors, mut warnings) = (0_u64, 0_u64);
        let mut rows = Vec::new();
        for file @ WorkflowFile { path, source } in &files {
            let Findings { diagnostics, tasks } = findings(file, self.strict, &registry);
            let of = |counts: fn(Severity) -> bool| {
                diagnostics.iter().filter(|found| counts(found.severity)).count() as u64
            };
            let wrong = of(Severity::refuses);
            errors += wrong;
            warnings += of(|severity| severity == Severity::Warning);
            let steps_wanted = self.steps && wrong == 0 && file.kind() == WorkflowKind::Flow;
            let code = steps_wanted.then(|| compiled(path, source)).flatten();
            if out.is_json() {
                let steps = code.as_ref().map(steps);
                let handlers = code.as_ref().map(|code| &code.handlers);
                rows.push(json!({
                    "file": path, "diagnostics": locate(source, &diagnostics), "tasks": tasks, "steps": steps,
                    "handlers": handlers,
                }));
                continue;
            }
            if !diagnostics.is_empty() {
                out.styled(&workflow_files::rendered(path, source, &diagnostics))?;
            }
            if let Some(code) = code {
                out.line(format!("{path}, {}", count(code.steps.len() as u64, "step")))?;
                out.raw(&shown(&code))?;
            }
        }
        if out.is_json() {
            out.json(&json!({ "rows": rows, "errors": errors, "warnings": warnings }))?;
        } else if errors == 0 && !out.is_quiet() {
            let checked = count(files.len() as u64, "file");
            out.line(format!("{checked} checked, {}", count(warnings, "warning")))?;
        }
        match errors {
            0 => Ok(()),
            _ => Err(CliError::Refused(format!(
                "{} in {}",
                count(errors, "error"),
                count(files.len() as u64, "file")
            ))),
        }
    }
}

/// The diagnostics of a file, and the tasks it starts.
struct Findings {
    diagnostics: Vec<Diagnostic>,
    tasks: Vec<String>,
}

fn findings(file: &WorkflowFile, strict: bool, registry: &Registry) -> Findings {
    if file.kind() == WorkflowKind::Graph {
        let (graph, mut diagnostics) = match gather(file.folder(), &file.source) {
            Err(refused) => (None, refused.diagnostics),
            Ok(Gathered { content, .. }) => {
                let look = |reference: &str| content.get(reference).cloned();
                let context = Context { registry, programs: &read_program, content: &look };
                let Compiled { graph, diagnostics } = compile(&file.source, &context);
                (graph, diagnostics)
            }
        };
        for found in diagnostics.iter_mut().filter(|found| strict && found.severity == Severity::Warning) {
            found.severity = Severity::Error;
        }
        let tasks = graph.into_iter().flat_map(|graph| graph.nodes).filter_map(|node| node.task);
        return Findings { diagnostics, tasks: tasks.collect() };
    }
    let Checked { diagnostics, task_names, .. } = examine(&file.source, strict).checked;
    Findings { diagnostics, tasks: task_names.into_iter().map(|task| task.name).collect() }
}

fn compiled(path: &str, source: &str) -> Option<Code> {
    let defined = define(path, WorkflowKind::Flow, source).ok()?;
    Code::from_json(&defined.definition.compiled).ok()
}

/// Lists the compiled steps, one per line: number, line of the source, action. The error handlers follow.
fn shown(code: &Code) -> String {
    let steps =
        code.places.iter().enumerate().map(|(number, place)| {
            format!("{number:>5}  line {:<5} {}\n", place.line, code.step_text(number))
        });
    let handlers = code.handlers.iter().map(|handler| format!("       {}\n", code.handler_text(handler)));
    steps.chain(handlers).collect()
}

fn steps(code: &Code) -> Vec<Value> {
    let step = |(number, (step, place)): (usize, (&Step, &Place))| json!({ "step": step, "text": code.step_text(number), "line": place.line, "column": place.column });
    code.steps.iter().zip(&code.places).enumerate().map(step).collect()
}
