//! Describes the errors in a patched document by path, because its text is not shown and the operations of a
//! patch name paths.

use rhythm_syntax::diagnostic::Diagnostic;

use crate::document;

pub fn told(source: &str, diagnostics: &[Diagnostic]) -> String {
    let root = document::read(source).ok();
    let lines = diagnostics.iter().map(|found| {
        let word = found.severity.word();
        let at = root.as_ref().map(|root| root.pointer(found.span.range().start)).unwrap_or_default();
        let at = if at.is_empty() { String::new() } else { format!(" at {at}") };
        let help = found.help.as_ref().map(|help| format!("\n  = help: {help}")).unwrap_or_default();
        format!("{word}[{}]{at}: {}: {}{help}", found.code, found.title, found.label)
    });
    lines.collect::<Vec<_>>().join("\n")
}
