//! Properties of the parser, checker, renderer and formatter.

use pest::Parser;
use rhythm_flow::{compile, examine, format, parse};
use rhythm_syntax::render::{Style, locate, render};
use rhythm_syntax::{Diagnostic, Severity};

#[derive(pest_derive::Parser)]
#[grammar = "../../../crates/flow/tests/flow.pest"]
struct Grammar;

/// Longest text for the grammar, which backtracks and would take too long on longer ones.
const ORACLE_BYTES: usize = 600;

pub fn front_end(source: &str) {
    let parsed = parse(source);
    let examined = examine(source, true);
    for diagnostic in parsed.diagnostics.iter().chain(&examined.checked.diagnostics) {
        let range = diagnostic.span.range();
        assert!(source.get(range).is_some(), "{diagnostic:?} is about no part of {source:?}");
        assert!(!diagnostic.title.is_empty() && !diagnostic.title.contains('\n'), "{diagnostic:?}");
    }
    let shown = &examined.checked.diagnostics;
    render("any.flow", source, &shown[..shown.len().min(20)], Style::Coloured);
    assert_eq!(locate(source, shown).len(), shown.len());
    let formatted = format(source);
    assert_eq!(formatted.is_err(), parsed.has_errors(), "{source:?}");
    if let Ok(formatted) = formatted {
        let again = format(&formatted);
        assert_eq!(
            again.as_deref().ok(),
            Some(formatted.as_str()),
            "formatting is not idempotent: {source:?}"
        );
        same_meaning(source, &formatted);
    }
    if source.len() <= ORACLE_BYTES && !too_deep(source) {
        let accepted = Grammar::parse(Rule::file, source).is_ok();
        // The size of numbers is not part of the syntax.
        let too_large = |found: &Diagnostic| found.code == "FLOW004" && found.label == "is too large";
        let refused =
            parsed.diagnostics.iter().any(|found| found.severity == Severity::Error && !too_large(found));
        assert_eq!(accepted, !refused, "the grammars disagree about {source:?}");
    }
}

/// Returns whether a text nests too deeply. The parser limits nesting; the grammar does not and would
/// overflow the stack.
fn too_deep(source: &str) -> bool {
    source.bytes().filter(|byte| matches!(byte, b'(' | b'[' | b'{')).count() > 20
        || source.bytes().filter(|byte| matches!(byte, b'!' | b'-' | b'?')).count() > 40
}

/// Checks that the formatted text gets the same errors and compiles to the same steps.
fn same_meaning(source: &str, formatted: &str) {
    let (one, other) = (examine(source, false), examine(formatted, false));
    let errors = |examined: &rhythm_flow::Examined| {
        let diagnostics = &examined.checked.diagnostics;
        let errors = diagnostics.iter().filter(|found| found.severity.refuses());
        errors.map(|found| found.code).collect::<Vec<_>>()
    };
    assert_eq!(errors(&one), errors(&other), "formatting changes what is wrong with {source:?}");
    if !one.checked.compiles() {
        return;
    }
    let steps = |examined: &rhythm_flow::Examined, source: &str| {
        let code = compile(&examined.file, source, (&examined.settings).into());
        code.map(|code| (code.steps, code.nodes, code.handlers)).map_err(|error| format!("{error:?}"))
    };
    assert_eq!(steps(&one, source), steps(&other, formatted), "formatting changes the meaning of {source:?}");
}
