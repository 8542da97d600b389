//! Reads the name, parameters and result of a refused function from its text. The tree does not hold its
//! contents; this is enough for a message that shows a replacement.

use crate::lexer;
use crate::token::{Keyword, Token, TokenKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionText<'t> {
    pub(super) name: Option<&'t str>,
    /// `None` when a parameter is more than a name.
    pub(super) parameters: Option<Vec<&'t str>>,
    pub(super) body: Body<'t>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body<'t> {
    Value(&'t str),
    /// Text between the braces.
    Statements(&'t str),
}

/// Returns every name in a text.
pub(super) fn names(text: &str) -> Vec<&str> {
    let tokens = lexer::lex(text).tokens;
    tokens.iter().filter(|token| token.kind == TokenKind::Name).map(|token| token.span.text(text)).collect()
}

/// Reads `x => ..`, `(a, b) => { .. }` or `function name(a) { .. }`.
pub(super) fn read(text: &str) -> Option<FunctionText<'_>> {
    let tokens = lexer::lex(text).tokens;
    let mut rest = tokens.as_slice();
    if let [Token { kind: TokenKind::Name, span, .. }, second, ..] = rest
        && span.text(text) == "async"
        && second.kind != TokenKind::Arrow
    {
        rest = &rest[1..];
    }
    match rest {
        [Token { kind: TokenKind::Keyword(Keyword::Function), .. }, after @ ..] => definition(text, after),
        [
            Token { kind: TokenKind::Name, span, .. },
            Token { kind: TokenKind::Arrow, span: arrow, .. },
            ..,
        ] => {
            let parameters = Some(vec![span.text(text)]);
            Some(FunctionText { name: None, parameters, body: body(text, arrow.range().end)? })
        }
        [Token { kind: TokenKind::LeftParen, .. }, inside @ ..] => {
            let (parameters, after) = parameters(text, inside)?;
            let arrow = after.first().filter(|token| token.kind == TokenKind::Arrow)?;
            Some(FunctionText { name: None, parameters, body: body(text, arrow.span.range().end)? })
        }
        _ => None,
    }
}

fn definition<'t>(text: &'t str, tokens: &[Token]) -> Option<FunctionText<'t>> {
    let mut rest = tokens;
    if let [Token { kind: TokenKind::Star, .. }, after @ ..] = rest {
        rest = after;
    }
    let name = match rest {
        [Token { kind: TokenKind::Name, span, .. }, after @ ..] => {
            rest = after;
            Some(span.text(text))
        }
        _ => None,
    };
    let [Token { kind: TokenKind::LeftParen, .. }, inside @ ..] = rest else { return None };
    let (parameters, after) = parameters(text, inside)?;
    let brace = after.first()?;
    Some(FunctionText { name, parameters, body: body(text, brace.span.range().start)? })
}

/// Returns the parameter names up to the closing bracket, and the tokens after it.
fn parameters<'t, 'k>(text: &'t str, tokens: &'k [Token]) -> Option<(Option<Vec<&'t str>>, &'k [Token])> {
    let mut names = Vec::new();
    let mut simple = true;
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::RightParen if depth == 0 => {
                return Some((simple.then_some(names), &tokens[index + 1..]));
            }
            TokenKind::Name => names.push(token.span.text(text)),
            TokenKind::Comma => {}
            kind => {
                simple = false;
                depth += usize::from(kind.opens());
                depth = depth.saturating_sub(usize::from(kind.closes()));
            }
        }
    }
    None
}

fn body(text: &str, from: usize) -> Option<Body<'_>> {
    let body = text.get(from..)?.trim();
    match body.strip_prefix('{') {
        Some(inside) => {
            let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside).trim();
            Some(returned(inside).map_or(Body::Statements(inside), Body::Value))
        }
        None if body.is_empty() => None,
        None => Some(Body::Value(object_without_brackets(body))),
    }
}

/// Removes the brackets of `({ a: 1 })`, which are there only because a brace would begin a block.
fn object_without_brackets(body: &str) -> &str {
    let inside = body.strip_prefix('(').and_then(|body| body.strip_suffix(')')).map(str::trim);
    inside.filter(|inside| inside.starts_with('{') && inside.ends_with('}')).unwrap_or(body)
}

/// Returns the value of a body that consists of one `return`.
fn returned(body: &str) -> Option<&str> {
    let value = body.strip_prefix("return ")?.trim().trim_end_matches(';').trim_end();
    let one = !value.contains(['\n', ';']) && !value.is_empty();
    one.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<(Option<Vec<&str>>, Body<'_>)> {
        read(text).map(|function| (function.parameters, function.body))
    }

    #[test]
    fn functions_of_every_form_are_read() {
        assert_eq!(shape("x => x + 1"), Some((Some(vec!["x"]), Body::Value("x + 1"))));
        assert_eq!(shape("async x => await f(x)"), Some((Some(vec!["x"]), Body::Value("await f(x)"))));
        assert_eq!(shape("async => 1"), Some((Some(vec!["async"]), Body::Value("1"))));
        assert_eq!(shape("(a, b) => { return a }"), Some((Some(vec!["a", "b"]), Body::Value("a"))));
        assert_eq!(shape("() => ({ a: 1 })"), Some((Some(vec![]), Body::Value("{ a: 1 }"))));
        assert_eq!(shape("({ a }) => a"), Some((None, Body::Value("a"))));
        assert_eq!(shape("(a) => { f(a); g(a) }"), Some((Some(vec!["a"]), Body::Statements("f(a); g(a)"))));
        let helper = read("function helper(a) {\n  return task(\"x\")\n}").unwrap();
        assert_eq!((helper.name, helper.body), (Some("helper"), Body::Value("task(\"x\")")));
        assert_eq!(shape("async function () { }"), Some((Some(vec![]), Body::Statements(""))));
        for broken in ["", "(", "() =>", "function", "function f", "function f(", "(a, b)", "=>", "async"] {
            assert_eq!(shape(broken), None, "{broken}");
        }
    }
}
