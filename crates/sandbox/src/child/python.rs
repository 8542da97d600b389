//! What conditions use of Python and Starlark lacks: `is`, generators, `sum`, `round`, `isinstance`.

use std::collections::BTreeSet;

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value};

/// The same program on the same lines, with `==` for `is`, `!=` for `is not`, and lists for generators. There are no two
/// equal values here that anybody could tell apart, and nothing that is made only when it is asked for.
pub(super) fn adapted(code: &str) -> String {
    let tokens = tokens(code);
    let generators = generators(&tokens);
    let mut adapted = String::with_capacity(code.len());
    let mut places = tokens.iter().enumerate().peekable();
    while let Some((place, token)) = places.next() {
        match *token {
            "(" if generators.contains(&place) => adapted.push_str("(["),
            ")" if generators.contains(&place) => adapted.push_str("])"),
            "is" => {
                let rest = tokens[place + 1..].iter().take_while(|token| token.trim().is_empty()).count();
                match tokens.get(place + 1 + rest) {
                    Some(&"not") => {
                        adapted.push_str("!=");
                        places.nth(rest);
                    }
                    _ => adapted.push_str("=="),
                }
            }
            token => adapted.push_str(token),
        }
    }
    adapted
}

/// Words, texts, comments, and everything else a character at a time.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => quoted(rest),
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(taken);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// The places of round brackets around a `for`.
fn generators(tokens: &[&str]) -> BTreeSet<usize> {
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut found = BTreeSet::new();
    for (place, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => open.push((place, false)),
            "for" => open.last_mut().into_iter().for_each(|(_, around)| *around = true),
            ")" | "]" | "}" => match open.pop() {
                Some((start, true)) if tokens[start] == "(" && *token == ")" => found.extend([start, place]),
                _ => {}
            },
            _ => {}
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How long the text is that `rest` begins with, its quotes included.
fn quoted(rest: &str) -> usize {
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let (mark, many_lines) = match rest.starts_with(&triple) {
        true => (triple.as_str(), true),
        false => (quote, false),
    };
    let mut at = mark.len();
    while let Some(next) = rest[at..].chars().next() {
        if rest[at..].starts_with(mark) {
            return at + mark.len();
        }
        at += match next {
            '\n' if !many_lines => return at,
            '\\' => 1 + rest[at + 1..].chars().next().map_or(0, char::len_utf8),
            _ => next.len_utf8(),
        };
    }
    rest.len()
}

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn sum<'v>(
        #[starlark(require = pos)] items: Value<'v>,
        start: Option<Value<'v>>,
        heap: &'v Heap,
    ) -> starlark::Result<Value<'v>> {
        let mut sum = start.unwrap_or_else(|| heap.alloc(0));
        for item in items.iterate(heap)? {
            sum = sum.add(item, heap)?;
        }
        Ok(sum)
    }

    /// Halves go to the even neighbour, as in Python.
    fn round<'v>(
        #[starlark(require = pos)] number: Value<'v>,
        digits: Option<i32>,
        heap: &'v Heap,
    ) -> starlark::Result<Value<'v>> {
        let whole = number.get_type() == "int";
        let float = UnpackFloat::unpack_value_opt(number).map(|float| float.0);
        let Some(float) = float else {
            let wrong = format!("round takes a number, not a {}", number.get_type());
            return Err(starlark::Error::new_other(std::io::Error::other(wrong)));
        };
        let rounded = match digits.unwrap_or(0) {
            0.. if whole => return Ok(number),
            digits @ 1.. => format!("{float:.*}", digits.min(30) as usize).parse().unwrap_or(float),
            digits => {
                let unit = 10_f64.powi(-digits.max(-30));
                (float / unit).round_ties_even() * unit
            }
        };
        match whole || digits.is_none() {
            true if rounded.abs() < 9e18 => Ok(heap.alloc(rounded as i64)),
            _ => Ok(heap.alloc(rounded)),
        }
    }

    /// Types are known by the functions that make them.
    fn isinstance<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(require = pos)] types: Value<'v>,
    ) -> starlark::Result<bool> {
        let types = TupleRef::from_value(types).map_or_else(|| vec![types], |types| types.content().to_vec());
        let (own, is_bool) = (value.get_type(), value.unpack_bool().is_some());
        Ok(types.iter().any(|kind| match kind.to_str().as_str() {
            "str" => own == "string",
            "int" => own == "int" || is_bool,
            kind => own == kind,
        }))
    }
}
