//! The parser and the grammar in `flow.pest`, which was written independently, accept and refuse the same
//! texts.

#[path = "../src/arbitrary.rs"]
#[allow(dead_code, reason = "shared with the tests inside the crate")]
mod arbitrary;

use pest::Parser;
use proptest::prelude::*;

use arbitrary::Flavour;

#[derive(pest_derive::Parser)]
#[grammar = "../tests/flow.pest"]
struct Grammar;

fn grammar_accepts(source: &str) -> bool {
    Grammar::parse(Rule::file, source).is_ok()
}

fn parser_accepts(source: &str) -> bool {
    !rhythm_flow::parse(source).has_errors()
}

/// Returns the messages of both, unless both judge the text as `expected`.
fn dissent(source: &str, expected: bool) -> Option<String> {
    let diagnostics = rhythm_flow::parse(source).diagnostics;
    let error = Grammar::parse(Rule::file, source).err().map(|error| error.to_string());
    let dissent = parser_accepts(source) != expected || grammar_accepts(source) != expected;
    dissent.then(|| {
        format!(
            "{expected} expected\n{source}\nthe parser: {diagnostics:#?}\nthe grammar: {}",
            error.unwrap_or_default()
        )
    })
}

/// Returns the snippets of a file, each with its line.
fn snippets(text: &'static str) -> impl Iterator<Item = (usize, String)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with("## "));
    lines.map(|(index, line)| (index + 1, line.replace('\u{23ce}', "\n")))
}

#[test]
fn both_judge_the_corpus_as_it_says() {
    let good = snippets(include_str!("flow/good.txt")).map(|snippet| (snippet, true));
    let bad = snippets(include_str!("flow/bad.txt")).map(|snippet| (snippet, false));
    let mut failures = String::new();
    let mut count = 0;
    for ((line, source), expected) in good.chain(bad) {
        count += 1;
        if let Some(dissent) = dissent(&source, expected) {
            failures += &format!("line {line}: {dissent}\n\n");
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count > 600, "{count}");
}

#[test]
fn both_accept_every_example_of_the_documents() {
    let blocks: Vec<_> = include_str!("flow/examples.md").split("```flow\n").skip(1).collect();
    assert_eq!(blocks.len(), 17);
    for block in blocks {
        let source = block.split("\n```").next().unwrap_or_default();
        assert_eq!(dissent(source, true), None);
        let formatted = rhythm_flow::format(source).unwrap();
        assert_eq!(rhythm_flow::format(&formatted).unwrap(), formatted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_accept_every_program_that_is_made(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for flavour in [Flavour::Syntax, Flavour::Sound] {
            let source = arbitrary::program(&bytes, flavour).text();
            let dissent = dissent(&source, true);
            prop_assert!(dissent.is_none(), "{}", dissent.unwrap_or_default());
        }
    }

    #[test]
    fn both_judge_damaged_programs_alike(
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        damage in proptest::collection::vec(any::<u8>(), 5),
    ) {
        for flavour in [Flavour::Syntax, Flavour::Sound] {
            let source = arbitrary::program(&bytes, flavour).mutated(&damage);
            let dissent = dissent(&source, grammar_accepts(&source));
            prop_assert!(dissent.is_none(), "{}", dissent.unwrap_or_default());
        }
    }

    #[test]
    fn both_judge_soups_of_tokens_alike(soup in proptest::collection::vec(proptest::sample::select(SOUP), 0..12)) {
        let source = soup.join(" ");
        let dissent = dissent(&source, grammar_accepts(&source));
        prop_assert!(dissent.is_none(), "{}", dissent.unwrap_or_default());
    }
}

/// Tokens from which short random sequences are often programs.
const SOUP: &[&str] = &[
    "a",
    "b",
    "x",
    "1",
    "\"t\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "(a)",
    "[a]",
    "{ }",
    "{ a }",
    ",",
    ";",
    ":",
    ".",
    "?.",
    "?",
    "??",
    "=",
    "=>",
    "==",
    "<",
    "+",
    "-",
    "*",
    "/",
    "!",
    "&&",
    "++",
    "let",
    "const",
    "if",
    "else",
    "while",
    "for",
    "in",
    "of",
    "try",
    "catch",
    "throw",
    "break",
    "return",
    "await",
    "function",
    "async",
    "workflow",
    "main",
    "null",
    "new",
    "\n",
    "\n",
    "\n",
    "// c\n",
    "/* c */",
    "```\n",
    "for (x of y) { }",
    "if (a) { }",
    "try { }",
    "catch { }",
    "x =",
    "let x =",
    "f (",
    "function f () { }",
    "async function main () {",
    "workflow {",
    "x =>",
    "a ? b :",
];
