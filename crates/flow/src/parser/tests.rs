//! Sources the parser accepts and refuses. The snapshots of `rendered` show the errors as a user sees them.

use super::*;
use crate::tree::*;

fn codes_of(source: &str) -> Vec<&'static str> {
    parse(source).diagnostics.iter().map(|diagnostic| diagnostic.code).take(10).collect()
}

#[track_caller]
fn accepts(source: &str) -> File {
    let parsed = parse(source);
    assert!(parsed.diagnostics.is_empty(), "{source}\n{:#?}", parsed.diagnostics);
    parsed.file
}

#[track_caller]
fn only_statement(source: &str) -> StatementKind {
    let mut statements = accepts(source).body.statements;
    assert_eq!(statements.len(), 1, "{statements:#?}");
    statements.remove(0).kind
}

#[track_caller]
fn only_expression(source: &str) -> ExpressionKind {
    match only_statement(source) {
        StatementKind::Expression(expression) => expression.kind,
        other => panic!("{other:#?}"),
    }
}

/// Returns the structure of an expression with every operator in brackets.
fn shape(expression: &Expression, source: &str) -> String {
    let of = |inner: &Expression| shape(inner, source);
    match &expression.kind {
        ExpressionKind::Group(inner) => of(inner),
        ExpressionKind::Unary { operand, .. } => {
            format!("({}{})", expression.span.text(source).chars().next().unwrap(), of(operand))
        }
        ExpressionKind::Await(inner) => format!("(await {})", of(inner)),
        ExpressionKind::Chain { first, rest } => {
            let mut text = format!("({}", of(first));
            for link in rest {
                text += &format!(" {} {}", link.operator_span.text(source), of(&link.operand));
            }
            text + ")"
        }
        ExpressionKind::Conditional { condition, then, otherwise } => {
            format!("({} ? {} : {})", of(condition), of(then), of(otherwise))
        }
        _ => expression.span.text(source).to_owned(),
    }
}

#[track_caller]
fn shaped(source: &str, expected: &str) {
    let file = accepts(source);
    let StatementKind::Expression(expression) = &file.body.statements[0].kind else { panic!("{file:#?}") };
    assert_eq!(shape(expression, source), expected);
    assert_eq!(file.body.statements.len(), 1);
}

#[test]
fn statements_of_every_kind_are_read() {
    for source in [
        "let x = 1",
        "const { a, b, } = inputs",
        "let [a, b] = list",
        "let x; let y",
        "x = 1",
        "x.y[0].if = 1",
        "[a, b] = all([task(\"a\"), task(\"b\")])",
        "if (a) { b } else if (c) { d } else { e }",
        "while (true) { break; continue }",
        "for (let x of list) { x }",
        "for (const k in object) { }",
        "for (x in list) { }",
        "for (of of of) { }",
        "try { a } catch (e) { throw e }",
        "try { a } catch { b }",
        "return",
        "return { a, b.c, \"d e\": 1, if: 2, }",
        "{ { } }",
        "a b c",
        ";;a;;",
        "function f(a, { b }) { return [1] }",
        "async function f() { }",
    ] {
        accepts(source);
    }
}

#[test]
fn operators_bind_in_the_order_of_the_page() {
    shaped("a ?? b || c && d == e < f + g * !h", "(a ?? (b || (c && (d == (e < (f + (g * (!h))))))))");
    shaped("a * b + c < d == e && f || g ?? h", "(((((((a * b) + c) < d) == e) && f) || g) ?? h)");
    shaped("a - b + c - d", "(a - b + c - d)");
    shaped("a / b * c % d", "(a / b * c % d)");
    shaped("a === b !== c", "(a === b !== c)");
    shaped("- -a", "(-(-a))");
    shaped("!await a.b", "(!(await a.b))");
    shaped("-a.b(c)[d]", "(-a.b(c)[d])");
    shaped("a ? b : c ? d : e", "(a ? b : (c ? d : e))");
    shaped("a ? b ? c : d : e ?? f", "(a ? (b ? c : d) : (e ?? f))");
    shaped("(a ?? b) + c", "((a ?? b) + c)");
    shaped("a\n  + b\n  .c", "(a + b\n  .c)");
}

#[test]
fn a_bracket_continues_an_expression_only_on_the_same_line() {
    assert_eq!(accepts("a\n(b)").body.statements.len(), 2);
    assert_eq!(accepts("a\n[b]").body.statements.len(), 2);
    assert_eq!(accepts("a /* line\n */ (b)").body.statements.len(), 2);
    assert_eq!(accepts("a /* same */ (b)").body.statements.len(), 1);
    assert_eq!(accepts("a(\nb\n)[\nc\n]").body.statements.len(), 1);
    assert_eq!(codes_of("f(a\n(b))"), ["FLOW008"]);
}

#[test]
fn a_returned_value_begins_on_the_line_of_its_return() {
    assert_eq!(only_statement("return"), StatementKind::Return(None));
    assert_eq!(accepts("return\na").body.statements.len(), 2);
    assert_eq!(accepts("if (a) { return } b").body.statements.len(), 2);
    assert_eq!(accepts("return a b").body.statements.len(), 2);
    assert!(matches!(only_statement("return {\n}"), StatementKind::Return(Some(_))));
}

#[test]
fn every_form_of_a_program_is_read() {
    assert_eq!(accepts("a").form, Form::Bare);
    assert_eq!(accepts("workflow { a }").form, Form::Workflow { parameters: Vec::new() });
    let Form::Workflow { parameters } = accepts("workflow(context, given) { a };").form else { panic!() };
    assert_eq!(parameters.iter().map(|name| name.text.as_str()).collect::<Vec<_>>(), ["context", "given"]);
    assert_eq!(accepts("async function main() { a }").form, Form::Main);
    assert_eq!(accepts("workflow = 1").form, Form::Bare);
    assert_eq!(accepts("async function other() { a }").form, Form::Bare);
    assert_eq!(codes_of("workflow(a, b, c) { d }"), ["FLOW015"]);
    assert_eq!(codes_of("async function main(a) { d }"), ["FLOW015"]);
    assert_eq!(codes_of("workflow { a } b"), ["FLOW015"]);
    assert_eq!(codes_of("b\nworkflow { a }"), ["FLOW015"]);
}

#[test]
fn an_empty_program_is_refused() {
    for source in ["", " \n", "// nothing", ";;", "workflow { }", "async function main() { /* */ }"] {
        assert_eq!(codes_of(source), ["FLOW016"], "{source}");
    }
    assert!(codes_of("```\nname: a\n```").contains(&"FLOW016"));
}

#[test]
fn keywords_are_properties_but_not_names() {
    accepts("a.if.new.while = { if: 1, const: 2, \"for\": 3, a.let }");
    assert_eq!(codes_of("let new = 1"), ["FLOW010"]);
    assert_eq!(codes_of("x = { if }"), ["FLOW010"]);
    assert_eq!(codes_of("for (const in of list) { }"), ["FLOW010"]);
    assert_eq!(codes_of("try { a } catch (null) { }"), ["FLOW010"]);
    for word in
        ["of", "async", "main", "workflow", "this", "default", "undefined", "_", "x1", "\u{e9}t\u{e9}"]
    {
        accepts(&format!("let {word} = 1"));
    }
}

#[test]
fn functions_of_any_kind_are_kept_for_the_checker() {
    for source in [
        "f(x => x + 1)",
        "f(async x => x)",
        "f(() => { anything [goes] })",
        "f((a, { b }) => ({}))",
        "f(async (a) => a, 1)",
        "f(function () { })",
        "f(async function g(a) { b })",
    ] {
        let ExpressionKind::Path { steps, .. } = only_expression(source) else { panic!("{source}") };
        let PathStepKind::Call(arguments) = &steps[0].kind else { panic!("{source}") };
        assert_eq!(arguments[0].kind, ExpressionKind::Closure, "{source}");
    }
    assert!(matches!(only_statement("function f() { }"), StatementKind::Function { name: Some(_) }));
    assert!(matches!(only_expression("async(x)"), ExpressionKind::Path { .. }));
}

#[test]
fn every_error_of_a_file_is_found_and_none_twice() {
    let source = "let a = \nlet b = (1 + 2\nlet c = [1 2]\nif a { }\nx++\nfoo(,)\nlet d = 1 +\nreturn d }";
    assert_eq!(
        codes_of(source),
        ["FLOW008", "FLOW009", "FLOW008", "FLOW008", "FLOW012", "FLOW008", "FLOW008", "FLOW009"]
    );
}

#[test]
fn a_mistake_does_not_hide_the_one_on_the_next_line() {
    assert_eq!(codes_of("let a =\nvar b = 1\nx = *\nnew D()"), ["FLOW008", "FLOW012", "FLOW008", "FLOW012"]);
    assert_eq!(codes_of("f(...)\nx = [...]\ny = { ... }"), ["FLOW012", "FLOW012", "FLOW012"]);
    assert_eq!(codes_of("let a = *; let b = *; let c = 1"), ["FLOW008", "FLOW008"]);
}

#[test]
fn nesting_ends_at_the_limit_and_is_reported_once() {
    let nests: [(&str, &str, &str); 14] = [
        ("(", "a", ")"),
        ("[", "a", "]"),
        ("!", "a", ""),
        ("- ", "a", ""),
        ("await ", "a", ""),
        ("a ? ", "b", " : c"),
        ("a ? b : ", "c", ""),
        ("f(", "a", ")"),
        ("a[", "b", "]"),
        ("{ ", "a", " }"),
        ("if (a) { ", "b", " }"),
        ("x => ", "x", ""),
        ("for (x in y) { try { ", "a", " } catch (e) { } }"),
        ("{ a: ", "1", " }"),
    ];
    for (open, inside, close) in nests {
        let begin = if open == "{ a: " { "x = " } else { "" };
        let levels = if open.contains("try") { 2 } else { 1 };
        let nested = |times: usize| format!("{begin}{}{inside}{}", open.repeat(times), close.repeat(times));
        accepts(&nested(DEPTH_LIMIT as usize / levels));
        assert_eq!(codes_of(&nested(DEPTH_LIMIT as usize / levels + 1)), ["FLOW020"], "{open}");
        assert_eq!(codes_of(&nested(10_000)), ["FLOW020"], "{open}");
        // The brackets are never closed.
        assert!(!codes_of(&format!("{begin}{}", open.repeat(10_000))).is_empty());
    }
    accepts(&format!("if (a) {{ }} {}", "else if (b) { } ".repeat(1000)));
    accepts(&format!("{}a", "a.b(c)[d] + b * c + ".repeat(1000)));
}
