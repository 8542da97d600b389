//! From a text to a definition that can be stored: parsed, checked, compiled once, and never again on the way of a run.

use rhythm_core::flow::{self, Diagnostic, Severity};
use rhythm_core::{Version, WorkflowKind};

use crate::world::Definition;

/// A definition, and what its author may want to know about it.
#[derive(Clone, Debug)]
pub struct Defined {
    pub definition: Definition,
    /// Warnings and hints.
    pub remarks: Vec<Diagnostic>,
}

/// Why a text is no workflow.
#[derive(Clone, Debug)]
pub struct Refused {
    /// All errors of the text, with warnings and hints among them.
    pub diagnostics: Vec<Diagnostic>,
}

/// Makes a definition of a text. Only flows are compiled; what else there is is read when it is loaded.
pub fn define(workflow: &str, kind: WorkflowKind, source: &str) -> Result<Defined, Refused> {
    let plain = Definition {
        workflow: workflow.to_owned(),
        version: Version::of(source.as_bytes()),
        kind,
        source: source.to_owned(),
        compiled: Vec::new(),
        format: 1,
    };
    match kind {
        WorkflowKind::Flow => define_flow(plain),
        WorkflowKind::Graph | WorkflowKind::Code | WorkflowKind::Drill => {
            Ok(Defined { definition: plain, remarks: Vec::new() })
        }
    }
}

fn define_flow(plain: Definition) -> Result<Defined, Refused> {
    let parsed = flow::parse(&plain.source);
    let diagnostics = parsed.diagnostics;
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return Err(Refused { diagnostics });
    }
    let code = flow::compile(&parsed.file, &plain.source, flow::Defaults::default());
    let code = code.map_err(|error| Refused {
        diagnostics: vec![Diagnostic {
            code: "FLOW000",
            severity: Severity::Error,
            title: error.message,
            span: error.span,
            label: String::new(),
            help: None,
        }],
    })?;
    let definition = Definition { compiled: code.to_json().into_bytes(), format: code.format, ..plain };
    Ok(Defined { definition, remarks: diagnostics })
}
