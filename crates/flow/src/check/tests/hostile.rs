//! For any text the checker does not panic or overflow, and its time is linear in the length.

use proptest::prelude::*;
use rhythm_syntax::render::{Style, render};

use super::examine;
use crate::arbitrary::{Flavour, program};
use crate::lexer::SOURCE_LIMIT;

/// Tokens and fragments of programs, mostly of wrong ones.
const PIECES: &[&str] = &[
    "let",
    "const",
    "x",
    "y",
    "n",
    "=",
    "=>",
    "await",
    "task",
    "(",
    ")",
    "(\"a\")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    "\n",
    "if",
    "else",
    "while",
    "for",
    "of",
    "in",
    "try",
    "catch",
    "throw",
    "break",
    "continue",
    "return",
    "function",
    "f",
    "async",
    "workflow",
    "main",
    "main()",
    ".",
    "?.",
    "map",
    ".map(x => x.y)",
    "Task",
    "Task.run",
    "Promise.all",
    "race",
    "all",
    "sleep",
    "Inputs",
    "ctx",
    "\"text\"",
    "1",
    "0.5",
    "null",
    "true",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "??",
    "?",
    ":",
    "==",
    "<",
    "// note\n",
    "/* note */",
    "_",
    "é",
    "🙂",
    "`",
    "```\n",
    "{ a }",
    "{ a: 1 }",
    "(x)",
    "await task(\"a\")",
    "Task.run(\"a\", { })",
    "() =>",
    "() => x",
    "function g(a) { return a }",
    "log(",
    "log(await x)",
    "x = ",
    "let { a } ",
    "\u{a0}",
    "\r\n",
    "\"open",
    "Signal.when",
    "{ timeout: \"5 m\" }",
];

pub(super) fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES);
    let gap = prop::sample::select(&["", " ", " ", " ", "\n"][..]);
    prop::collection::vec((piece, gap), 0..60)
        .prop_map(|pieces| pieces.into_iter().flat_map(|(piece, gap)| [piece, gap]).collect())
}

/// Programs of the table with some characters changed.
pub(super) fn mutated() -> impl Strategy<Value = String> {
    let cases: Vec<&str> =
        include_str!("cases.txt").lines().filter_map(|line| Some(line.split_once('|')?.1)).collect();
    let piece = prop::sample::select(PIECES);
    let changes = prop::collection::vec((any::<prop::sample::Index>(), 0..6_usize, piece), 1..5);
    (prop::sample::select(cases), changes).prop_map(|(case, changes)| {
        let mut text: Vec<char> = case.replace('¶', "\n").chars().collect();
        for (at, removed, piece) in changes {
            let start = at.index(text.len() + 1);
            let end = (start + removed).min(text.len());
            text.splice(start..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

fn survives(source: &str) {
    let checked = examine(source, false).checked;
    let of_checker = |code: &str| code >= "FLOW020" || code == "FLOW007";
    for diagnostic in checked.diagnostics.iter().filter(|diagnostic| of_checker(diagnostic.code)) {
        let range = diagnostic.span.range();
        assert!(source.get(range).is_some(), "{diagnostic:?} is not in the source: {source}");
        assert!(!diagnostic.title.contains('\n') && diagnostic.help.is_some(), "{diagnostic:?}");
    }
    render("hostile.flow", source, &checked.diagnostics, Style::Plain);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_soup_of_tokens_is_judged(source in soup()) {
        survives(&source);
    }

    #[test]
    fn any_mutated_program_is_judged(source in mutated()) {
        survives(&source);
    }

    #[test]
    fn anything_that_can_be_written_is_judged(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let program = program(&bytes, Flavour::Syntax);
        survives(&program.text());
        survives(&program.mutated(&bytes));
    }

    #[test]
    fn any_text_is_judged(source in "\\PC*") {
        survives(&source);
    }
}

/// Length, in bytes, at which quadratic time would make the test slow.
const LENGTH: usize = SOURCE_LIMIT / 8;

/// Repeats a piece up to that length.
fn long(piece: &str) -> String {
    piece.repeat(LENGTH / piece.len())
}

#[test]
fn the_longest_program_is_judged() {
    let piece =
        "const x = await Task.run(\"a\", { list: [1, Inputs.y] })\nif (x.ok) { log(x, y.map(z => z)) }\n";
    let source = piece.repeat(SOURCE_LIMIT / piece.len());
    assert!(!examine(&source, false).checked.diagnostics.is_empty());
}

#[test]
fn anything_repeated_takes_no_more_time_than_its_length() {
    let numbered = |make: fn(usize) -> String| (0..).map(make).scan(0, fits).collect::<String>();
    fn fits(length: &mut usize, piece: String) -> Option<String> {
        *length += piece.len();
        (*length <= LENGTH).then_some(piece)
    }
    for source in [
        long("x "),
        long("log(await Task.run(\"a\", { }))\n"),
        long("task(\"a\", { b: task(\"b\") }) "),
        long("const x = 1\nx = 2\n"),
        long("return 1\n"),
        long("let x = Inputs.list.map(y => y + 1)\n"),
        long("function f() { return 1 }\n"),
        long("await Task.run(\"a\", { }, { timeuot: 3 })\n"),
        long("if (a) { } else if (b) { }\n"),
        format!("log({})", "await x, ".repeat(LENGTH / 9 - 10)),
        format!("let y = {}1", "await x + ".repeat(LENGTH / 10 - 10)),
        format!("let y = {}1", "x && ".repeat(LENGTH / 5 - 10)),
        format!("return x{}", ".map(a => b)".repeat(LENGTH / 12 - 10)),
        format!("let f = () => {{ {} }}", "x ".repeat(LENGTH / 2 - 20)),
        format!("x = {{ {} }}", "a: 1, ".repeat(LENGTH / 6 - 10)),
        numbered(|index| format!("let name{index} = nam{index}\n")),
        numbered(|index| format!("created{index} = create{index}\n")),
        numbered(|index| format!("{{ let v{index} = 1 }} log(v{index})\n")),
        numbered(|index| format!("f{index}(g{index}.h())\n")),
    ] {
        assert!(source.len() <= LENGTH);
        assert!(!examine(&source, false).checked.diagnostics.is_empty(), "{}", &source[..60]);
    }
}
