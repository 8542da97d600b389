//! Further results of the checker: names, severities, limits.

use rhythm_syntax::diagnostic::{DIAGNOSTIC_LIMIT, Severity};

use super::{codes_of, errors};
use crate::check::{Mention, Options, check, examine};
use crate::parser::parse;

fn found(mentions: &[Mention], source: &str) -> Vec<String> {
    mentions.iter().map(|mention| format!("{} at {}", mention.name, mention.span.text(source))).collect()
}

#[test]
fn constant_names_are_found_in_the_order_of_the_source() {
    let source = r#"
        const ship = "shipOrder"
        let changing = "maybe"
        if (Inputs.late) { task("refund") }
        await Promise.all([Task.run("charge", { }), task(ship), Task.run(changing, { }), Task.run(Inputs.name, { })])
        await Workflow.run("child", { }); Workflow.run('other', { })
        await Signal.next("approve"); await Signal.when("cancel", { timeout: 5 })
        Signal.send(Inputs.run, "told", { })
        { const ship = "inner"; task(ship) }
        task("refund")
    "#;
    let checked = examine(source, false).checked;
    assert_eq!(errors(&checked), [""; 0]);
    assert_eq!(
        found(&checked.task_names, source),
        [
            "refund at \"refund\"",
            "charge at \"charge\"",
            "shipOrder at ship",
            "inner at ship",
            "refund at \"refund\"",
        ]
    );
    assert_eq!(found(&checked.workflow_names, source), ["child at \"child\"", "other at 'other'"]);
    assert_eq!(found(&checked.signal_names, source), ["approve at \"approve\"", "cancel at \"cancel\""]);
}

#[test]
fn names_are_found_in_refused_programs_too() {
    let checked = examine("log(await Task.run(\"a\", { }))\nlet = ", false).checked;
    assert_eq!(checked.task_names.len(), 1);
    assert!(checked.has_errors());
}

#[test]
fn warnings_are_errors_when_strict_and_hints_never_are() {
    let source = "return await Promise.race([Task.run(\"a\"), Task.run(\"b\", { })])";
    let severities = |strict| {
        let diagnostics = examine(source, strict).checked.diagnostics;
        diagnostics.iter().map(|diagnostic| (diagnostic.code, diagnostic.severity)).collect::<Vec<_>>()
    };
    assert_eq!(severities(false), [("FLOW200", Severity::Hint), ("FLOW104", Severity::Warning)]);
    assert_eq!(severities(true), [("FLOW200", Severity::Hint), ("FLOW104", Severity::Error)]);
    assert!(!examine(source, false).checked.has_errors());
    assert!(examine(source, true).checked.has_errors());
}

#[test]
fn what_is_sure_to_throw_is_an_error_and_compiles() {
    for (source, code) in [
        ("await Task.rum(\"a\", { })", "FLOW103"),
        ("return ctx.nothing", "FLOW103"),
        ("return Inputs.list.push(1)", "FLOW105"),
        ("await Task.run(\"a\", { }, { timeuot: 3 })", "FLOW110"),
        ("await Task.run(\"a\", { }, { timeout: \"90\" })", "FLOW111"),
        ("if (Inputs.a) { log(1) } elseif (Inputs.b) { log(2) }", "FLOW101"),
    ] {
        let checked = examine(source, false).checked;
        let found: Vec<_> = checked.diagnostics.iter().map(|found| (found.code, found.severity)).collect();
        assert_eq!(found, [(code, Severity::SureToThrow)], "{source}");
        assert!(checked.has_errors() && checked.compiles(), "{source}");
    }
    for source in ["helper(1)", "await Task.run(\"a\")", "let x = 1; x()", "return y"] {
        assert!(!examine(source, false).checked.has_errors(), "{source}");
    }
}

#[test]
fn a_file_with_syntax_errors_gets_no_warnings() {
    assert_eq!(codes_of("let unused = 1\nlet = 2\nbreak"), ["FLOW008", "FLOW026"]);
}

#[test]
fn errors_alone_can_be_asked_for() {
    let source = "let unused = 1\nbreak";
    let file = parse(source).file;
    let options = Options { errors_only: true, ..Options::default() };
    assert_eq!(check(source, &file, options).diagnostics.len(), 1);
    assert_eq!(check(source, &file, Options::default()).diagnostics.len(), 2);
}

#[test]
fn no_more_is_said_than_anybody_would_read_and_errors_come_first() {
    let source = format!("{}break", "x ".repeat(2 * DIAGNOSTIC_LIMIT));
    let checked = examine(&source, false).checked;
    assert_eq!(checked.diagnostics.len(), DIAGNOSTIC_LIMIT);
    assert_eq!(errors(&checked), ["FLOW026"]);
    let source = "break ".repeat(2 * DIAGNOSTIC_LIMIT);
    assert_eq!(examine(&source, false).checked.diagnostics.len(), DIAGNOSTIC_LIMIT);
}

#[test]
fn diagnostics_are_in_the_order_of_the_source_and_underline_what_is_wrong() {
    let source = "return totl + Task.rum(1)\nlet total = 1\nconst c = 1\nc = await x.y()\n";
    let diagnostics = examine(source, false).checked.diagnostics;
    let marked: Vec<_> =
        diagnostics.iter().map(|diagnostic| (diagnostic.code, diagnostic.span.text(source))).collect();
    assert_eq!(
        marked,
        [
            ("FLOW101", "totl"),
            ("FLOW103", "rum"),
            ("FLOW107", "let total = 1"),
            ("FLOW108", "total"),
            ("FLOW025", "c"),
            ("FLOW101", "x"),
        ]
    );
}
