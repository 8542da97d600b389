//! Fixtures show the layout; properties hold for every program.

use proptest::prelude::*;
use rhythm_syntax::Span;

use super::*;
use crate::arbitrary::{self, Flavour};
use crate::tree::*;

/// The parts of a program that formatting must keep: comments, and the tree without spans and round brackets.
/// Removing a bracket that matters changes the shape of the tree, so the comparison still finds it.
#[derive(Debug, PartialEq)]
struct Essence {
    comments: Vec<String>,
    tree: String,
}

fn essence(source: &str) -> Essence {
    let mut file = parse(source).file;
    let unix = |text: &str| text.replace("\r\n", "\n");
    let mut comments: Vec<_> =
        file.comments.drain(..).map(|comment| unix(comment.span.text(source))).collect();
    comments.sort();
    if let Some(front_matter) = &mut file.front_matter {
        front_matter.text = unix(&front_matter.text);
    }
    // The tree holds only the spans of functions, so compare their text.
    let mut functions = Vec::new();
    for statement in &mut file.body.statements {
        strip_statement(statement, source, &mut functions);
    }
    let tree = format!("{file:?} {functions:?}");
    let mut spanless = String::with_capacity(tree.len());
    let mut rest = tree.as_str();
    while let Some((before, after)) = rest.split_once("Span { ") {
        spanless.push_str(before);
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    spanless.push_str(rest);
    Essence { comments, tree: spanless }
}

fn strip_block(block: &mut Block, source: &str, functions: &mut Vec<String>) {
    for statement in &mut block.statements {
        strip_statement(statement, source, functions);
    }
}

fn strip_statement(statement: &mut Statement, source: &str, functions: &mut Vec<String>) {
    let mut value = |expression: &mut Expression| strip(expression, source, functions);
    match &mut statement.kind {
        StatementKind::Declare { value: given, .. } => given.iter_mut().for_each(value),
        StatementKind::Assign { target, value: given } => {
            if let Target::Place { path, .. } = target {
                for place in path {
                    if let Place::Index(index) = place {
                        value(index);
                    }
                }
            }
            value(given);
        }
        StatementKind::Throw(given) | StatementKind::Expression(given) => value(given),
        StatementKind::Return(given) => given.iter_mut().for_each(value),
        StatementKind::While { condition: head, body } | StatementKind::For { items: head, body, .. } => {
            value(head);
            strip_block(body, source, functions);
        }
        StatementKind::If { arms, otherwise } => {
            for arm in arms {
                strip(&mut arm.condition, source, functions);
                strip_block(&mut arm.body, source, functions);
            }
            otherwise.iter_mut().for_each(|block| strip_block(block, source, functions));
        }
        StatementKind::Try { body, handler, .. } => {
            strip_block(body, source, functions);
            strip_block(handler, source, functions);
        }
        StatementKind::Block(block) => strip_block(block, source, functions),
        StatementKind::Function { .. } => functions.push(statement.span.text(source).replace("\r\n", "\n")),
        StatementKind::Break | StatementKind::Continue => {}
    }
}

fn strip(expression: &mut Expression, source: &str, functions: &mut Vec<String>) {
    while let ExpressionKind::Group(inner) = &mut expression.kind {
        let inner =
            std::mem::replace(&mut **inner, Expression { kind: ExpressionKind::Null, span: Span::default() });
        *expression = inner;
    }
    let mut value = |expression: &mut Expression| strip(expression, source, functions);
    match &mut expression.kind {
        ExpressionKind::List(items) => items.iter_mut().for_each(value),
        ExpressionKind::Object(properties) => {
            properties.iter_mut().for_each(|property| match &mut property.value {
                PropertyValue::Given(given) | PropertyValue::Shorthand(given) => value(given),
            })
        }
        ExpressionKind::Group(inner) | ExpressionKind::Await(inner) => value(inner),
        ExpressionKind::Unary { operand, .. } => value(operand),
        ExpressionKind::Chain { first, rest } => {
            value(first);
            rest.iter_mut().for_each(|link| value(&mut link.operand));
        }
        ExpressionKind::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].into_iter().for_each(|part| value(part));
        }
        ExpressionKind::Path { base, steps } => {
            value(base);
            for step in steps {
                match &mut step.kind {
                    PathStepKind::Property { .. } => {}
                    PathStepKind::Index(index) => value(index),
                    PathStepKind::Call(arguments) => arguments.iter_mut().for_each(&mut value),
                }
            }
        }
        ExpressionKind::Closure => functions.push(expression.span.text(source).replace("\r\n", "\n")),
        _ => {}
    }
}

/// Checks every property of the formatted text; returns the first violation.
fn violation(source: &str) -> Option<String> {
    let text = match format(source) {
        Ok(text) => text,
        Err(errors) => return Some(format!("refused:\n{source}\n{errors:#?}")),
    };
    match format(&text) {
        Ok(again) if again == text => {}
        Ok(again) => return Some(format!("unstable:\n{source}\n--- first\n{text}\n--- second\n{again}")),
        Err(errors) => return Some(format!("broken:\n{source}\n--- formatted\n{text}\n{errors:#?}")),
    }
    let (before, after) = (essence(source), essence(&text));
    (before != after).then(|| format!("changed:\n{source}\n--- formatted\n{text}\n{before:#?}\n{after:#?}"))
}

#[track_caller]
fn formats(source: &str, expected: &str) {
    assert_eq!(format(source).unwrap(), expected);
    assert_eq!(violation(source), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn formatting_is_stable_and_keeps_meaning_and_comments(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for flavour in [Flavour::Syntax, Flavour::Sound] {
            let violation = violation(&arbitrary::program(&bytes, flavour).text());
            prop_assert!(violation.is_none(), "{}", violation.unwrap_or_default());
        }
    }
}

#[test]
fn a_file_with_syntax_errors_is_left_alone() {
    assert_eq!(format("let x =").unwrap_err().len(), 1);
}

#[test]
fn statements_stand_on_lines_of_their_own_without_semicolons() {
    formats(
        "let o = { 'a-b': 1, 'it\\'s': 2, \"c\": { 'd': 3 } }",
        "let o = { \"a-b\": 1, \"it's\": 2, \"c\": { \"d\": 3 } }\n",
    );
    formats("let x=1;let y = 'a';;x\n\n\n\ny", "let x = 1\nlet y = \"a\"\nx\n\ny\n");
    formats("if(a){b}else if(c){d}else{e}", "if (a) {\n  b\n} else if (c) {\n  d\n} else {\n  e\n}\n");
    formats("try{a}catch(e){throw e}", "try {\n  a\n} catch (e) {\n  throw e\n}\n");
    formats("try{a}catch{}", "try {\n  a\n} catch {}\n");
    formats("while(a){break;continue}", "while (a) {\n  break\n  continue\n}\n");
    formats("for(let x of y){}for(z in y){}", "for (let x of y) {}\nfor (z in y) {}\n");
    formats("[a,b]=c;let{d,e}=f;const[g]=h", "[a, b] = c\nlet { d, e } = f\nconst [g] = h\n");
    formats("a.b [0] .c = 1", "a.b[0].c = 1\n");
    formats("{a}return", "{\n  a\n}\nreturn\n");
}

#[test]
fn a_semicolon_stays_where_lines_would_run_together() {
    formats("a;-b", "a;\n-b\n");
    formats("let x = 1; -b + c", "let x = 1;\n-b + c\n");
    formats("let x; -b", "let x\n-b\n");
    formats("if (a) {} -b", "if (a) {}\n-b\n");
    formats("return a; -b", "return a;\n-b\n");
    formats("a; workflow; { b }", "a\nworkflow;\n{\n  b\n}\n");
    formats("a; workflow(1); { b }", "a\nworkflow(1);\n{\n  b\n}\n");
    formats("a; (b); [c]", "a\nb\n[c]\n");
}

#[test]
fn programs_keep_their_form() {
    formats("workflow(ctx , inputs){a}", "workflow(ctx, inputs) {\n  a\n}\n");
    formats("workflow ( ) { a } ;", "workflow {\n  a\n}\n");
    formats("async function main( ){a}", "async function main() {\n  a\n}\n");
    formats("```yaml\r\nname:   x\r\n```\r\n\r\na", "```yaml\nname:   x\n```\n\na\n");
    formats("// one\n```\nname: x\n  ```a", "// one\n```\nname: x\n```\na\n");
    formats(
        "// one\n\n\n```\n```\n// two\nworkflow { a } // three\n\n// four",
        "// one\n\n```\n```\n// two\nworkflow {\n  a\n} // three\n\n// four\n",
    );
}

#[test]
fn what_is_too_long_is_broken_at_its_brackets() {
    formats(
        "let result = await Task.run(\"a rather long name of a task\", { first: \"a longer text\", second: \"and another\" })",
        "let result = await Task.run(\"a rather long name of a task\", {\n  first: \"a longer text\",\n  second: \"and another\",\n})\n",
    );
    formats(
        "let list = [\"a text of some length\", \"a text of some length\", \"a text of some length\", \"and so much more\"]",
        "let list = [\n  \"a text of some length\",\n  \"a text of some length\",\n  \"a text of some length\",\n  \"and so much more\",\n]\n",
    );
    formats(
        "call(\"a text of some length\", \"a text of some length\", \"a text of some length\", \"and so very much more\")",
        "call(\n  \"a text of some length\",\n  \"a text of some length\",\n  \"a text of some length\",\n  \"and so very much more\",\n)\n",
    );
    formats("let o = {\na, b }", "let o = {\n  a,\n  b,\n}\n");
    formats("let o = { a,\n b }", "let o = { a, b }\n");
    formats("f({\na: 1}, 2)", "f(\n  {\n    a: 1,\n  },\n  2,\n)\n");
    formats("f(x, [\n1, 2], {\na: 1 })", "f(x, [1, 2], {\n  a: 1,\n})\n");
}

#[test]
fn long_operators_and_conditions_are_broken() {
    let long = "some.rather.long.condition";
    formats(
        &format!("let x = {long} && {long} || {long} && {long}"),
        &format!("let x = {long} && {long} ||\n  {long} && {long}\n"),
    );
    formats(
        &format!("if ({long} && {long} && {long} && {long}) {{ a }}"),
        &format!("if (\n  {long} &&\n  {long} &&\n  {long} &&\n  {long}\n) {{\n  a\n}}\n"),
    );
    formats(
        &format!("let x = {long} ? {long}.and.this : {long}.or.that"),
        &format!("let x = {long}\n  ? {long}.and.this\n  : {long}.or.that\n"),
    );
    formats(
        &format!("x = {long}.first({long}).second({long}).third()"),
        &format!("x = {long}\n  .first({long})\n  .second({long})\n  .third()\n"),
    );
}

#[test]
fn brackets_stay_where_they_matter() {
    formats("x = (a + b) * (c)", "x = (a + b) * c\n");
    formats("x = ((a && b)) || c", "x = (a && b) || c\n");
    formats("return ((a + b))", "return a + b\n");
    formats("f((a ? b : c), (({})))", "f(a ? b : c, {})\n");
    formats("(a?.b).c; (a).b; (5).b", "(a?.b).c\na.b\n(5).b\n");
    formats("({}).a", "({}).a\n");
    formats("x = (await a).b; y = (await a)", "x = (await a).b\ny = (await a)\n");
    formats("x = - -a - -b", "x = - -a - -b\n");
    formats("x = !(a && b) && -(a + b)", "x = !(a && b) && -(a + b)\n");
}

#[test]
fn comments_stay_with_what_they_are_about() {
    formats("a // one\n// two\nb /* three */; // four\n", "a // one\n// two\nb /* three */ // four\n");
    formats("{ // one\na\n// two\n}", "{ // one\n  a\n  // two\n}\n");
    formats("{ /* one */ a }", "{\n  /* one */ a\n}\n");
    formats("{\n\n// one\n\n\na\n\n}", "{\n  // one\n\n  a\n}\n");
    formats("{ // one\n}", "{ // one\n}\n");
    formats(
        "if (a) {\n b\n} // one\n// two\nelse {\n c\n}",
        "if (a) {\n  b\n} // one\n// two\nelse {\n  c\n}\n",
    );
    formats(
        "x = [1, // one\n2 /* two */, /* three */ 3,\n// four\n4\n// five\n]",
        "x = [\n  1, // one\n  2 /* two */,\n  /* three */ 3,\n  // four\n  4,\n  // five\n]\n",
    );
    formats("f(/* seconds */ 5)", "f(/* seconds */ 5)\n");
    formats("x = {\n // none\n}", "x = {\n  // none\n}\n");
    formats("x = {\na, // one\n\n\n// two\nb }", "x = {\n  a, // one\n\n  // two\n  b,\n}\n");
}

#[test]
fn comments_in_odd_places_are_kept() {
    formats("x = a + // one\n  b", "x = a + // one\n  b\n");
    formats("f(a // one\n  .b, c)", "f(\n  a // one\n  .b,\n  c,\n)\n");
    formats("let /* one */ x /* two */ = /* three */ 1", "/* one */\n/* two */\n/* three */\nlet x = 1\n");
    formats("if /* one */ (a) /* two */ { b }", "/* one */\n/* two */\nif (a) {\n  b\n}\n");
    formats("x = { a: /* one */ 1 }", "x = { a: /* one */ 1 }\n");
    formats("workflow /* one */ { a }", "/* one */\nworkflow {\n  a\n}\n");
}

#[test]
fn deep_and_long_programs_are_formatted_in_good_time() {
    let nested = format!("x = {}1{}", "f({ a: ".repeat(32), " })".repeat(32));
    assert_eq!(violation(&nested), None);
    let long = "let x = [1, 2, 3] // a\n".repeat(20_000);
    assert_eq!(format(&long).unwrap(), long);
}
