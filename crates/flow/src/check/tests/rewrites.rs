//! Every rewrite that a message suggests must itself be accepted.

use super::{errors_of, examine};

/// Returns the source lines of a help text, with placeholders filled in.
fn advised(help: &str) -> Option<String> {
    let code: Vec<&str> = help.lines().skip(1).filter_map(|line| line.strip_prefix("  ")).collect();
    let text = code.join("\n").replace("{ .. }", "{ log(1) }").replace("..", "log(1)");
    (!text.is_empty()).then_some(text)
}

#[test]
fn every_rewrite_of_the_table_is_accepted() {
    let mut count = 0;
    for line in include_str!("cases.txt")
        .lines()
        .filter(|line| line.starts_with("FLOW02") || line.starts_with("FLOW007"))
    {
        let (codes, source) = line.split_once('|').unwrap();
        let source = source.trim().replace('¶', "\n");
        let several = codes.contains("FLOW023 FLOW0");
        for diagnostic in examine(&source, false).checked.diagnostics {
            let Some(rewrite) = diagnostic.help.as_deref().and_then(advised) else { continue };
            count += 1;
            let whole = match rewrite.starts_with("} else {") {
                true => format!("if (Inputs.x) {{\n{rewrite}"),
                false => rewrite.clone(),
            };
            // Other statements of the case are not repeated, so their names may be unknown here; that is no
            // error. Other mistakes in the statement have messages of their own.
            let errors = errors_of(&whole);
            assert!(errors.is_empty() || several, "{source}\n{rewrite}\n{errors:?}");
        }
    }
    assert!(count > 100, "only {count} rewrites were seen");
}

#[track_caller]
fn rewritten(source: &str, expected: &str) {
    let diagnostics = examine(source, false).checked.diagnostics;
    let helps = diagnostics.iter().filter_map(|diagnostic| diagnostic.help.as_deref());
    let rewrite =
        helps.filter(|help| help.contains('\n')).map(|help| help.split_once('\n').unwrap().1).next();
    let expected: Vec<String> = expected.lines().map(|line| format!("  {line}")).collect();
    assert_eq!(rewrite.unwrap_or_default(), expected.join("\n"), "{diagnostics:#?}");
}

#[test]
fn what_is_evaluated_only_sometimes_still_is() {
    rewritten("Inputs.a || await b.c", "if (!(Inputs.a)) {\n  await b.c\n}");
    rewritten("let x = y ?? await b", "let x = y\nif (x == null) {\n  x = await b\n}");
    rewritten("x = a && b && await c && d", "x = a && b\nif (x) {\n  x = await c\n}\nif (x) {\n  x = d\n}");
    rewritten("return a || await b", "let n = a\nif (!n) {\n  n = await b\n}\nreturn n");
    rewritten(
        "log(a ? await b : c ? await d : e)",
        "let n = null\nif (a) {\n  n = await b\n} else {\n  if (c) {\n    n = await d\n  } else {\n    n = e\n  }\n}\nlog(n)",
    );
    rewritten(
        "return (await a) ? 1 : f(await b)",
        "let n = await a\nif (n) {\n  return 1\n} else {\n  let n2 = await b\n  return f(n2)\n}",
    );
}

#[test]
fn names_of_the_program_are_not_taken() {
    rewritten("let n = 1\nlog(await a, n)", "let n2 = await a\nlog(n2, n)");
    rewritten("log(await a, { n: 1 }.n)", "let n = await a\nlog(n, { n: 1 }.n)");
}

#[test]
fn a_statement_of_several_lines_keeps_its_form() {
    rewritten(
        "if (Inputs.a) {\n    task(\"a\", {\n      x: task(\"b\"),\n    })\n}",
        "let n = await task(\"b\")\ntask(\"a\", {\n  x: n,\n})",
    );
}
