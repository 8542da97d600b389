//! Programs the checker accepts and refuses, and its messages.

mod cases;
mod compiled;
mod found;
mod hostile;
mod messages;
mod rewrites;
mod seeds;

use rhythm_syntax::diagnostic::Severity;

use super::{Checked, examine};

/// Returns the codes of all diagnostics of a source, in its order.
fn codes_of(source: &str) -> Vec<&'static str> {
    examine(source, false).checked.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

fn errors_of(source: &str) -> Vec<&'static str> {
    errors(&examine(source, false).checked)
}

fn errors(checked: &Checked) -> Vec<&'static str> {
    let errors = checked.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors.map(|diagnostic| diagnostic.code).collect()
}
