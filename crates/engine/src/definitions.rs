//! From a text to a definition that can be stored: read, checked, compiled once, and never again on the way of a run.

use rhythm_core::flow::check::Mention;
use rhythm_core::flow::front_matter::Failures;
use rhythm_core::flow::{self, Defaults, Diagnostic, Examined, Settings, Severity};
use rhythm_core::{Version, WorkflowKind};

use crate::world::Definition;

/// A definition, and what its author may want to know about it.
#[derive(Clone, Debug)]
pub struct Defined {
    pub definition: Definition,
    /// What its front matter says.
    pub settings: Settings,
    /// Warnings and hints.
    pub remarks: Vec<Diagnostic>,
    /// Tasks it starts under constant names.
    pub tasks: Vec<Mention>,
}

/// Why a text is no workflow.
#[derive(Clone, Debug)]
pub struct Refused {
    /// All errors of the text, with warnings and hints among them.
    pub diagnostics: Vec<Diagnostic>,
}

/// Makes a definition of a text. The name is the one given, unless a flow's front matter has another. Only flows are
/// compiled; other kinds are read when they are loaded.
pub fn define(workflow: &str, kind: WorkflowKind, source: &str) -> Result<Defined, Refused> {
    let plain = Definition {
        workflow: workflow.to_owned(),
        version: Version::of(source.as_bytes()),
        kind,
        source: source.to_owned(),
        compiled: Vec::new(),
        format: 1,
    };
    if kind == WorkflowKind::Flow {
        return define_flow(plain);
    }
    Ok(Defined { definition: plain, settings: Settings::default(), remarks: Vec::new(), tasks: Vec::new() })
}

fn define_flow(plain: Definition) -> Result<Defined, Refused> {
    let Examined { file, settings, checked } = flow::examine(&plain.source, false);
    if checked.has_errors() {
        return Err(Refused { diagnostics: checked.diagnostics });
    }
    let defaults = Defaults {
        queue: settings.queue.clone(),
        timeout: settings.timeout,
        retries: settings.retries.clone(),
        settle: settings.failures == Failures::Values,
    };
    // What the checker passes can be compiled; a gap between the two is refused like any other error.
    let code = flow::compile(&file, &plain.source, defaults).map_err(|error| Refused {
        diagnostics: vec![Diagnostic {
            code: flow::codes::UNEXPECTED.id,
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
    Ok(Defined { definition, settings, remarks: checked.diagnostics, tasks: checked.task_names })
}
