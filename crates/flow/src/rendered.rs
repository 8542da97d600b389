//! The diagnostics as a user sees them: each snapshot holds sources with typical mistakes and the full
//! answers. Read a change, then accept it with `INSTA_UPDATE=always`.

use insta::assert_snapshot;
use rhythm_syntax::render::*;
use rhythm_syntax::{Diagnostic, Span};
use serde_json::json;

use crate::codes;
use crate::parser::parse;

fn shown(source: &str) -> String {
    render("orders.flow", source, &parse(source).diagnostics, Style::Plain)
}

/// Returns every source with its diagnostics, one after the other.
fn dialogue(sources: &[&str]) -> String {
    let rule = "=".repeat(100);
    sources.iter().map(|source| format!("{rule}\n{source}\n\n{}", shown(source))).collect()
}

macro_rules! snapshot {
    ($name:ident, $($source:expr),* $(,)?) => {
        #[test]
        fn $name() {
            insta::with_settings!({ omit_expression => true }, {
                assert_snapshot!(dialogue(&[$($source),*]));
            });
        }
    };
}

snapshot!(
    what_javascript_has,
    "count++",
    "--count",
    "total += price * 2",
    "let name = `order ${id}`",
    "switch (kind) {\n  case 1: break\n}",
    "do {\n  step()\n} while (more)",
    "let now = new Date()",
    "if (typeof x == \"string\") { }",
    "var x = 1",
    "let all = [...first, ...second]",
    "let both = { ...first, id }",
    "for (let i = 0; i < 3; i++) { step(i) }",
    "for (;;) { }",
    "for await (const x of xs) { }",
    "try { a() } finally { b() }",
    "call?.(x)",
    "list?.[0]",
    "let ok = /^a+$/.test(name)",
    "if (e instanceof Error) { }",
    "if (\"id\" in order) { }",
    "delete order.id",
    "let x = a ** 2",
    "let y = a & 1 | 2 ^ ~3 << 4",
    "let z = +text",
    "class Order { }",
    "import { a } from \"b\"",
    "let a = 1, b = 2",
    "let n: number = 5",
    "label: while (true) { }",
    "while (x = next()) { }",
    "a = b = c",
);

snapshot!(
    braces_and_brackets,
    "if (done) return\nelse stop()",
    "while (more) step()",
    "for (const x of xs) step(x)",
    "try work() catch (e) { }",
    "if done { }",
    "for x of xs { }",
    "try { a }",
    "else { a }",
    "task(\"a\", { id: 1 )",
    "let xs = [1, 2\nlet y = 3",
    "f(1 2 3)",
    "f(a\n(b))",
    "workflow {\n  if (a) {\n    b\n}",
    "a }",
    "a )\nb ]",
    "while (true) ;",
);

snapshot!(
    values_and_names,
    "let x =",
    "let x = \nlet y = 2",
    "order.\nlet y = 2",
    "x = a ? b",
    "x = if (a) { 1 }",
    "let const = 1",
    "let new = { if }",
    "let { a: b, c = 1, d: { e } } = order",
    "[a.b, 1] = pair",
    "{ a, b } = pair",
    "for (const [key, value] of Object.entries(o)) { }",
    "{ a: 1 }",
    "let o = { [key]: 1, 2: 3, run() { }, id = 4, a?.b, \"c\" }",
    "f() = 1",
    "a?.b = 1",
    "throw",
    "f(,)",
);

snapshot!(
    letters_and_numbers,
    "let a = \"open",
    "let a = 'it\\'s",
    "let a = \"\\x41 \\u12 \\ud800\"",
    "sleep(10s)",
    "let n = 0xff + 1_000 + 007 + .5 + 10n + 1e999",
    "let n = 5apples",
    "# a comment",
    "let $x = a @ b",
    "let s = \u{201c}quoted\u{201d}",
    "a \u{2260} b",
    "/* open",
);

snapshot!(
    programs,
    "",
    "// nothing here\n",
    "workflow { }",
    "workflow(ctx, inputs, extra) { a }",
    "async function main(inputs) { a }",
    "workflow { a }\nb",
    "a\nworkflow { b }",
    "workflow(ctx)\na",
    "```\nname: orders",
    "```name: orders\n```\na",
);

#[test]
fn tabs_and_wide_characters_keep_the_marks_in_place() {
    assert_snapshot!(shown(
        "\tlet x = [1, \t2 3]\nlet 名前 = \"漢字\" @ é\nlet e = \"👍🏽\" + ~x\r\nlet y = \r\n"
    ));
}

#[test]
fn colours_are_put_in_only_when_asked_for() {
    let source = "x++";
    let diagnostics = parse(source).diagnostics;
    assert!(!render("a.flow", source, &diagnostics, Style::Plain).contains('\u{1b}'));
    assert_snapshot!(render("a.flow", source, &diagnostics, Style::Coloured).replace('\u{1b}', "ESC"));
}

#[test]
fn diagnostics_stand_in_the_order_of_the_source() {
    let at = |start, end, code| Diagnostic::new(code, Span::new(start, end), "here").titled("t");
    let diagnostics = [
        at(4, 5, codes::UNKNOWN_KEY),
        at(0, 1, codes::EMPTY),
        at(4, 5, codes::FOREIGN),
        at(2, 3, codes::TARGET),
    ];
    let order: Vec<_> = locate("a b c", &diagnostics).iter().map(|located| located.code).collect();
    assert_eq!(order, ["FLOW016", "FLOW014", "FLOW012", "FLOW100"]);
}

#[test]
fn machines_get_lines_and_columns() {
    let source = "let é = 1\nlet x = \"ü\" + ~é";
    let located = locate(source, &parse(source).diagnostics);
    assert_eq!(
        serde_json::to_value(&located).unwrap(),
        json!([{
            "code": "FLOW012",
            "severity": "error",
            "title": "there is no `~`",
            "label": "not part of the language",
            "help": "there are no operators on bits; a task can do it",
            "start": { "line": 2, "column": 15 },
            "end": { "line": 2, "column": 16 },
        }])
    );
}

#[test]
fn very_long_lines_and_spans_are_cut() {
    let source = format!("{}x++{}", "y;".repeat(100_000), ";z".repeat(100_000));
    let text = shown(&source);
    assert!(text.contains("orders.flow:1:200002") && text.contains("^^") && text.len() < 2_000, "{text}");
    let source = format!("let x = `{}`", "line\n".repeat(10_000));
    let text = shown(&source);
    assert!(text.contains("let x = `line") && text.len() < 2_000, "{text}");
}

#[test]
fn any_span_can_be_shown() {
    let source = "a\u{1f600}\n\tb\r\n";
    for start in 0..12 {
        for end in 0..12 {
            let diagnostic = Diagnostic::new(codes::FOREIGN, Span::new(start, end), "label\nof two lines");
            render("a.flow", source, std::slice::from_ref(&diagnostic), Style::Coloured);
            locate(source, &[diagnostic]);
        }
    }
    let nowhere = Diagnostic::new(codes::EMPTY, Span::new(0, 0), "");
    assert!(render("a.flow", "", &[nowhere], Style::Plain).contains("a.flow:1:1"));
}
