//! From a text to a definition that can be stored: read, checked, compiled once, and never again on the way of a run.

pub mod beside;
pub mod graph;

use rhythm_core::{BlobRef, Version, WorkflowKind};
use rhythm_flow::check::Mention;
use rhythm_flow::front_matter::place_of;
use rhythm_flow::{Defaults, Examined, Settings, codes};
use rhythm_syntax::schema::{self, Schema};
use rhythm_syntax::{Diagnostic, Severity};
use serde_json::json;

use crate::inputs::{self, Misfit};
use crate::world::Definition;

pub use graph::{Content, ReadProgram, Surroundings};

/// A definition, and what its author may want to know about it.
#[derive(Clone, Debug)]
pub struct Defined {
    pub definition: Definition,
    /// What a flow's front matter says.
    pub settings: Settings,
    /// Warnings and hints.
    pub remarks: Vec<Diagnostic>,
    /// Tasks it starts under constant names.
    pub tasks: Vec<Mention>,
    /// Files that a graph brings along, to be stored before it.
    pub files: Vec<(BlobRef, Vec<u8>)>,
}

/// Why a text is no workflow.
#[derive(Clone, Debug)]
pub struct Refused {
    /// All errors of the text, with warnings and hints among them.
    pub diagnostics: Vec<Diagnostic>,
}

/// Makes a definition of a text. The name is the one given, unless a flow's front matter or a graph's metadata has
/// another. Flows and graphs are compiled; other kinds are read when they are loaded.
pub fn define(workflow: &str, kind: WorkflowKind, source: &str) -> Result<Defined, Refused> {
    define_with(workflow, kind, source, &Surroundings::default())
}

/// The same for a text that refers to content, or has nodes of registered types.
pub fn define_with(
    workflow: &str,
    kind: WorkflowKind,
    source: &str,
    around: &Surroundings,
) -> Result<Defined, Refused> {
    let plain = Definition {
        workflow: workflow.to_owned(),
        version: Version::of(source.as_bytes()),
        kind,
        source: source.to_owned(),
        compiled: Vec::new(),
        format: 1,
    };
    match kind {
        WorkflowKind::Flow => define_flow(plain, around),
        WorkflowKind::Graph => graph::define(plain, around),
        WorkflowKind::Code | WorkflowKind::Drill => {
            let (remarks, tasks) = (Vec::new(), Vec::new());
            let files = Vec::new();
            Ok(Defined { definition: plain, settings: Settings::default(), remarks, tasks, files })
        }
    }
}

/// Reads and checks a flow, the schema of its inputs too.
pub fn examine(source: &str, strict: bool) -> Examined {
    let mut examined = rhythm_flow::examine(source, strict);
    if let Some(wrong) = check_schema(&examined) {
        examined.checked.diagnostics.push(wrong);
        examined.checked.diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity));
    }
    examined
}

fn check_schema(examined: &Examined) -> Option<Diagnostic> {
    let front_matter = examined.file.front_matter.as_ref()?;
    let text = examined.settings.input.as_ref()?;
    let wrong = |path: &[&str], label: String| {
        Diagnostic::new(codes::FRONT_MATTER_VALUE, place_of(front_matter, path.iter().copied()), label)
    };
    match Schema::compile(text) {
        Err(schema::Misfit { path, reason, .. }) => {
            let path: Vec<&str> = std::iter::once("input").chain(path.iter().map(String::as_str)).collect();
            let help =
                "write for example `input: { type: object, required: [orderId] }`; references stay within it";
            Some(wrong(&path, reason).titled("`input` is a JSON Schema").helped(help))
        }
        Ok(schema) => {
            let Misfit { problems, .. } = inputs::check(&schema, &json!({})).err()?;
            examined.settings.schedule.as_ref()?;
            let label = problems.first().cloned().unwrap_or_default();
            let help =
                "let `input` take `{}`, or leave `schedule` out and use `rhythm schedules add --input`";
            let title = "a run that a schedule starts has the input `{}`, which `input` refuses";
            Some(wrong(&["schedule"], label).titled(title).helped(help))
        }
    }
}

fn define_flow(plain: Definition, around: &Surroundings) -> Result<Defined, Refused> {
    let Examined { file, settings, checked } = examine(&plain.source, false);
    let accepted = if around.sure_to_throw { checked.compiles() } else { !checked.has_errors() };
    if !accepted {
        return Err(Refused { diagnostics: checked.diagnostics });
    }
    let defaults = Defaults::from(&settings);
    // What the checker passes can be compiled; a gap between the two is refused like any other error.
    let code = rhythm_flow::compile(&file, &plain.source, defaults).map_err(|error| Refused {
        diagnostics: vec![Diagnostic {
            code: codes::UNEXPECTED.id,
            severity: Severity::Error,
            title: error.message,
            span: error.span,
            label: String::new(),
            help: None,
        }],
    })?;
    let definition = Definition {
        workflow: settings.name.clone().unwrap_or(plain.workflow),
        compiled: code.to_json().into_bytes(),
        format: code.format,
        ..Definition { workflow: String::new(), ..plain }
    };
    let (remarks, tasks) = (checked.diagnostics, checked.task_names);
    Ok(Defined { definition, settings, remarks, tasks, files: Vec::new() })
}
