//! For any text the front end answers quickly and does not panic, and a small mistake gets a short answer.

#[path = "../src/arbitrary.rs"]
#[allow(dead_code, reason = "shared with the tests inside the crate")]
mod arbitrary;

use proptest::prelude::*;
use rhythm_flow::{format, front_matter, parse};
use rhythm_syntax::diagnostic::DIAGNOSTIC_LIMIT;
use rhythm_syntax::render::{Style, locate, render};

use arbitrary::Flavour;

/// Runs a text through the whole front end; returns the number of diagnostics.
fn survives(source: &str) -> usize {
    let parsed = parse(source);
    let mut diagnostics = parsed.diagnostics.clone();
    if let Some(front_matter) = &parsed.file.front_matter {
        diagnostics.extend(front_matter::read(front_matter).diagnostics);
    }
    for diagnostic in &diagnostics {
        let range = diagnostic.span.range();
        assert!(range.start <= range.end && range.end <= source.len(), "{diagnostic:?}");
        assert!(source.is_char_boundary(range.start) && source.is_char_boundary(range.end), "{diagnostic:?}");
        assert!(!diagnostic.title.is_empty() && !diagnostic.title.contains('\n'), "{diagnostic:?}");
    }
    assert!(diagnostics.len() <= 3 * DIAGNOSTIC_LIMIT);
    let shown = &diagnostics[..diagnostics.len().min(20)];
    render("any.flow", source, shown, Style::Coloured);
    assert_eq!(locate(source, &diagnostics).len(), diagnostics.len());
    assert_eq!(format(source).is_err(), parsed.has_errors());
    parsed.diagnostics.len()
}

#[test]
fn a_title_stays_on_one_line_whatever_stands_between_its_signs() {
    for source in ["async?.#\n(", "a?.// note\n(b)", "a?./* note\n */[b]"] {
        assert!(survives(source) > 0, "{source}");
    }
}

const SOUP: &[&str] = &[
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
    "continue",
    "return",
    "await",
    "function",
    "async",
    "workflow",
    "main",
    "true",
    "null",
    "var",
    "switch",
    "do",
    "new",
    "typeof",
    "class",
    "finally",
    "import",
    "a",
    "b",
    "x1",
    "1",
    "2.5",
    ".5",
    "0x1",
    "\"t\"",
    "'t'",
    "\"",
    "'",
    "`",
    "```",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
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
    "===",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "++",
    "--",
    "+=",
    "**",
    "&",
    "|",
    "...",
    "//",
    "/*",
    "*/",
    "#",
    "@",
    "$",
    "\\",
    "\n",
    "\n",
    "\n",
    " ",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{e9}",
    "\u{1f600}",
    "\u{201c}",
    "\u{2028}",
    "\0",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_characters_are_survived(text in any::<String>()) {
        survives(&text);
        survives(&format!("```\n{text}\n```\na"));
        survives(&format!("let x = \"{text}\""));
    }

    #[test]
    fn soups_of_tokens_are_survived(
        soup in proptest::collection::vec(proptest::sample::select(SOUP), 0..120),
        joint in proptest::sample::select(&["", " "][..]),
    ) {
        survives(&soup.join(joint));
    }

    #[test]
    fn made_programs_are_survived_wherever_they_end(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let source = arbitrary::program(&bytes, Flavour::Syntax).text();
        for (end, _) in source.char_indices() {
            survives(&source[..end]);
        }
    }

    #[test]
    fn damaged_programs_are_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        damage in proptest::collection::vec(any::<u8>(), 5),
    ) {
        survives(&arbitrary::program(&bytes, Flavour::Syntax).mutated(&damage));
    }
}

#[test]
fn every_good_program_is_survived_wherever_it_ends() {
    for line in include_str!("flow/good.txt").lines() {
        let source = line.replace('\u{23ce}', "\n");
        for (end, _) in source.char_indices() {
            let found = survives(&source[..end]);
            assert!(found <= 3, "{found} diagnostics for one cut in {}", &source[..end]);
        }
    }
    for block in include_str!("flow/examples.md").split("```flow\n").skip(1) {
        let source = block.split("\n```").next().unwrap_or_default();
        for (end, _) in source.char_indices() {
            let found = survives(&source[..end]);
            assert!(found <= 6, "{found} diagnostics for one cut in {}", &source[..end]);
        }
    }
}

#[test]
fn every_bad_text_is_survived_alone_and_within_a_program() {
    for line in include_str!("flow/bad.txt").lines() {
        let source = line.replace('\u{23ce}', "\n");
        survives(&source);
        survives(&format!("workflow {{\n  let before = 1\n  {source}\n  let after = 2\n}}\n"));
    }
}

/// Repeats the brackets as often as fits in a source, but at most `most` times.
fn repeated(most: usize, open: &str, inside: &str, close: &str) -> String {
    let times = (1_000_000 / (open.len() + close.len()).max(1)).min(most);
    format!("{}{inside}{}", open.repeat(times), close.repeat(times))
}

#[test]
fn everything_can_be_nested_without_end() {
    let nests = [
        ("(", ")"),
        ("[", "]"),
        ("x={a:", "}"),
        ("{", "}"),
        ("!", ""),
        ("- ", ""),
        ("await ", ""),
        ("a?", ":b"),
        ("a?b:", ""),
        ("f(", ")"),
        ("f({a:", "})"),
        ("a[", "]"),
        ("a.b(", ")"),
        ("x=>", ""),
        ("x=>{", "}"),
        ("()=>(", ")"),
        ("async x=>", ""),
        ("function(){", "}"),
        ("if(a){", "}"),
        ("if(a){}else{", "}"),
        ("if(", "){}"),
        ("while(a){", "}"),
        ("for(x in y){", "}"),
        ("for(x of ", "){}"),
        ("try{", "}catch{}"),
        ("try{}catch(e){", "}"),
        ("workflow{", "}"),
        ("let{a:", "}=b"),
        ("let[", "]=b"),
        ("x={...", "}"),
        ("new ", ""),
        ("do{", "}while(a)"),
        ("switch(a){", "}"),
        ("class A{", "}"),
        ("if(a)", "b"),
        ("else ", ""),
        ("`${", "}`"),
        ("/*", "*/"),
        ("a=", ""),
        ("a+=", ""),
        ("a?.[", "]"),
        ("a**", ""),
        ("a+(", ")"),
        ("return ", ""),
        ("throw ", ""),
    ];
    for (open, close) in nests {
        assert!(parse(&repeated(100_000, open, "a", close)).diagnostics.len() <= DIAGNOSTIC_LIMIT);
        survives(&repeated(20_000, open, "", ""));
        survives(&repeated(5_000, "", "", close));
        survives(&format!("workflow(ctx) {{ x = {} }}", repeated(5_000, open, "a", close)));
        survives(&repeated(5_000, &format!("{open}\n"), "a", &format!("\n{close}")));
    }
}

#[test]
fn everything_can_be_long() {
    for (piece, count) in [
        ("a+", 20_000),
        ("a.", 20_000),
        ("a()", 20_000),
        ("a;", 20_000),
        ("a\n", 20_000),
        ("else if(a){}", 20_000),
        ("a,", 20_000),
        ("\"a\"+", 20_000),
        ("// a\n", 20_000),
        ("/* a */", 20_000),
        ("\n", 200_000),
        ("a?.b??", 20_000),
        ("1", 200_000),
        ("a", 200_000),
        ("\u{1f600}", 20_000),
    ] {
        let long = piece.repeat(count);
        survives(&long);
        survives(&format!("if (a) {{ }} {long}"));
        survives(&format!("x = [{long}]"));
        survives(&format!("x = \"{long}\""));
        survives(&format!("```\n{long}\n```\na"));
    }
}
