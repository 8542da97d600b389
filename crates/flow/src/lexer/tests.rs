use super::*;

fn kinds(source: &str) -> Vec<TokenKind> {
    lex(source).tokens.iter().map(|token| token.kind).collect()
}

fn first_code(source: &str) -> Option<&'static str> {
    lex(source).diagnostics.first().map(|diagnostic| diagnostic.code)
}

#[test]
fn a_question_before_a_decimal_is_no_optional_access() {
    use TokenKind::{Colon, End, Name, Number, OptionalDot, Question};
    assert_eq!(kinds("a?.5:1"), [Name, Question, Number, Colon, Number, End]);
    assert_eq!(kinds("a?.b"), [Name, OptionalDot, Name, End]);
}

#[test]
fn texts_mean_what_json_says() {
    assert_eq!(meaning(r#""a\"\\\/\b\f\n\r\tb""#), "a\"\\/\u{8}\u{c}\n\r\tb");
    assert_eq!(meaning(r"'it\'s \u00e9 \ud83d\ude00'"), "it's \u{e9} \u{1f600}");
    assert_eq!(meaning("'\u{1f600}'"), "\u{1f600}");
    for source in [r#""\x41""#, r#""\u12g4""#, r#""\ud83d""#, r#""\ud83d\u0041""#, r#""\ude00""#, r"'\u+123'"]
    {
        assert_eq!(first_code(source), Some("FLOW003"), "{source}");
    }
    for source in ["\"", "'a\n'", "\"a\\\"", "'a\\", "\"a\\\nb\""] {
        assert_eq!(first_code(source), Some("FLOW002"), "{source}");
    }
}

#[test]
fn numbers_are_those_of_json() {
    for source in ["0", "10", "0.5", "1.25e10", "1E-2", "123456789012345678901234567890"] {
        assert_eq!(first_code(source), None, "{source}");
        assert_eq!(kinds(source), [TokenKind::Number, TokenKind::End], "{source}");
    }
    for source in ["01", ".5", "1e", "0x1f", "10n", "1_000", "5s", "1e999", "1.5.5"] {
        assert_eq!(first_code(source), Some("FLOW004"), "{source}");
    }
    assert_eq!(kinds("1.length"), [TokenKind::Number, TokenKind::Dot, TokenKind::Name, TokenKind::End]);
}

#[test]
fn a_slash_divides_after_a_value_and_is_refused_elsewhere() {
    assert_eq!(first_code("a / b / c"), None);
    assert_eq!(first_code("(a) / b.if / c[0] / null / 2"), None);
    assert_eq!(first_code("x = /a[/]b\\/c/g"), Some("FLOW012"));
    assert_eq!(kinds("x = /ab/g.test"), kinds("x = `ab`.test"));
}

#[test]
fn comments_are_kept_and_carry_line_breaks() {
    let lexed = lex("a // one \r\nb /* two\n */ c");
    let texts: Vec<_> =
        lexed.comments.iter().map(|comment| comment.span.text("a // one \r\nb /* two\n */ c")).collect();
    assert_eq!(texts, ["// one", "/* two\n */"]);
    assert_eq!(
        lexed.tokens.iter().map(|token| token.newline_before).collect::<Vec<_>>(),
        [false, true, true, false]
    );
    assert_eq!(first_code("a /* b"), Some("FLOW005"));
}

#[test]
fn front_matter_stands_between_fences() {
    let lexed = lex("// first\n```yaml\nname: a\nqueue: b\n```\nc");
    assert_eq!(lexed.front_matter.unwrap().text, "name: a\nqueue: b\n");
    assert_eq!(lexed.tokens.len(), 2);
    assert!(lexed.diagnostics.is_empty());
    assert_eq!(lex("```\n```\na").front_matter.unwrap().text, "");
    assert_eq!(lex("```\r\na: 1\r\n  ``` b").front_matter.unwrap().text, "a: 1\r\n");
    assert_eq!(first_code("```\na: 1"), Some("FLOW017"));
    assert_eq!(first_code("```name: x\n```"), Some("FLOW017"));
    assert_eq!(first_code("a\n```\n```"), Some("FLOW012"));
}

#[test]
fn unknown_characters_are_reported_once_for_each_run() {
    let lexed = lex("a \u{1f600}\u{1f600} b # c\nd");
    assert_eq!(lexed.diagnostics.len(), 2);
    assert_eq!(lexed.tokens.len(), 4);
    assert_eq!(first_code("\u{201c}a\u{201d}"), Some("FLOW001"));
}

#[test]
fn a_source_has_a_limit() {
    assert_eq!(first_code(&" ".repeat(SOURCE_LIMIT)), None);
    assert_eq!(first_code(&" ".repeat(SOURCE_LIMIT + 1)), Some("FLOW006"));
}
