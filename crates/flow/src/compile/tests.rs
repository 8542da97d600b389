//! The steps a program compiles to, and that these never change.

use super::*;
use crate::parse;

fn compiled(source: &str) -> Code {
    let parsed = parse(source);
    assert!(!parsed.has_errors(), "{:#?}", parsed.diagnostics);
    compile(&parsed.file, source, Defaults::default()).unwrap()
}

/// Returns the steps of a program, one a line.
fn steps(source: &str) -> String {
    let code = compiled(source);
    let shown = code.steps.iter().enumerate();
    shown.map(|(place, step)| format!("{place} {}\n", serde_json::to_string(step).unwrap())).collect()
}

#[test]
fn a_wait_is_a_step_of_its_own() {
    assert_eq!(
        steps("let x = await task(\"a\")\nreturn x"),
        "0 {\"await\":1}\n1 {\"set\":[0,2]}\n2 {\"return\":3}\n3 {\"return\":4}\n"
    );
}

#[test]
fn loops_test_behind_their_body() {
    assert_eq!(
        steps("let n = 0\nwhile (n < 3) { n = n + 1 }"),
        "0 {\"set\":[0,0]}\n1 {\"jump\":3}\n2 {\"set\":[0,3]}\n3 {\"jump_if\":[6,2]}\n4 {\"return\":7}\n"
    );
    assert_eq!(
        steps("for (let x of [1]) { continue }"),
        "0 {\"walk\":{\"items\":1,\"keys\":false,\"list\":0,\"place\":1,\"next\":2}}\n1 {\"jump\":2}\n2 \
         {\"next\":{\"list\":0,\"place\":1,\"variable\":2,\"body\":1}}\n3 {\"return\":2}\n"
    );
}

#[test]
fn handlers_are_a_table_with_the_innermost_first() {
    let code = compiled("try { a = 1 try { a = 2 } catch (e) { a = 3 } } catch { a = 4 }");
    let ranges: Vec<_> = code.handlers.iter().map(|h| (h.from, h.to, h.target, h.slot.is_some())).collect();
    assert_eq!(ranges, [(1, 2, 3, true), (0, 4, 5, false)]);
    assert_eq!(code.handler(1).unwrap().target, 3);
    assert_eq!(code.handler(3).unwrap().target, 5);
    assert!(code.handler(5).is_none());
}

#[test]
fn slots_know_their_scope_and_have_keys_of_their_own() {
    let code = compiled("let x = 1\n{ let x = 2\nlog(x) }\nfor (let x of []) { }\ny = x");
    let slots: Vec<_> = code.slots.iter().map(|slot| (slot.key(), slot.scope)).collect();
    assert_eq!(
        slots,
        [
            ("y", (0, 7)),
            ("x", (1, 7)),
            ("x#2", (2, 3)),
            ("#items", (4, 5)),
            ("#place", (4, 5)),
            ("x#3", (4, 5))
        ]
    );
}

#[test]
fn places_count_lines_and_characters() {
    let code = compiled("let é = \"ü\"; let b = 1\n\n  return b");
    let places: Vec<_> = code.places.iter().map(|place| (place.line, place.column)).collect();
    assert_eq!(places, [(1, 1), (1, 14), (3, 3), (3, 10)]);
}

#[test]
fn what_a_program_does_not_read_is_not_kept() {
    assert!(!compiled("workflow(ctx, inputs) { return 1 }").reads_inputs);
    assert!(compiled("workflow(c, i) { return i }").reads_inputs);
    let code = compiled("return Context");
    assert!(code.reads_context && !code.reads_inputs);
}

#[test]
fn an_unchecked_tree_is_refused_and_never_a_panic() {
    for source in [
        "f(await x)",
        "let a = 1 + await x",
        "if (await x) { }",
        "let f = x => x",
        "function f() { }",
        "break",
        "while (true) { } continue",
        "let { a }",
        "for (let x of await y) { }",
        "throw await x",
    ] {
        let parsed = parse(source);
        assert!(compile(&parsed.file, source, Defaults::default()).is_err(), "{source}");
    }
    // Sources with syntax errors must not panic.
    for source in ["let = 5", "a b ( c", "{", "x = ", "[1, , 2", "let x = 1 +", "return )", "\u{0}", "`"] {
        let parsed = parse(source);
        let _ = compile(&parsed.file, source, Defaults::default());
    }
}

#[test]
fn the_compiled_form_is_always_the_same() {
    let source = include_str!("tests/golden.flow");
    let code = compiled(source);
    assert_eq!(code.to_json(), compiled(source).to_json());
    assert_eq!(code.to_json(), include_str!("tests/golden.json").trim_end());
    assert_eq!(Code::from_json(code.to_json().as_bytes()).unwrap(), code);
}
