//! Python features that conditions use and Starlark lacks: `is`, generators, `round`, `isinstance`.

use std::collections::BTreeSet;

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value};

use super::ticks::wrong;

/// Returns the program, with the same line numbers, with `==` for `is`, `!=` for `is not`, and lists for
/// generators. In the sandbox no program can see the difference between equal and identical values, or
/// between a list and a generator.
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
                let blank = |token: &&&str| token.trim().is_empty() || **token == "\\";
                let blanks = tokens[place + 1..].iter().take_while(blank).count();
                match tokens.get(place + 1 + blanks) {
                    Some(&"not") => {
                        adapted.push_str("!=");
                        // Keep the line breaks, so that line numbers stay the same.
                        tokens[place + 1..][..blanks].iter().for_each(|blank| adapted.push_str(blank));
                        places.nth(blanks);
                    }
                    _ => adapted.push_str("=="),
                }
            }
            token => adapted.push_str(token),
        }
    }
    adapted
}

/// Splits a program into words, strings, comments and single characters.
pub(super) fn tokens(code: &str) -> Vec<&str> {
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

/// Returns the positions of round brackets that enclose a `for`.
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

/// Returns the length of the string literal that `rest` begins with, including its quotes.
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
    /// Rounds halves to the even neighbour, as Python does.
    fn round<'v>(
        #[starlark(require = pos)] number: Value<'v>,
        ndigits: Option<NoneOr<i32>>,
        heap: &'v Heap,
    ) -> starlark::Result<Value<'v>> {
        let whole = number.get_type() == "int";
        let float = UnpackFloat::unpack_value_opt(number).map(|float| float.0);
        let Some(float) = float else {
            return Err(wrong(format!("round takes a number, not a {}", number.get_type())));
        };
        let digits = ndigits.and_then(NoneOr::into_option);
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

    /// A type is named by the function that makes it, such as `str`.
    fn isinstance<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(require = pos)] types: Value<'v>,
    ) -> starlark::Result<bool> {
        let (own, is_bool) = (value.get_type(), value.unpack_bool().is_some());
        let (mut open, mut found) = (vec![types], false);
        while let Some(kind) = open.pop() {
            if let Some(several) = TupleRef::from_value(kind) {
                open.extend(several.content());
                continue;
            }
            // A string such as "str" is not a type.
            let shown = if kind.unpack_str().is_some() { kind.to_repr() } else { kind.to_str() };
            for name in shown.split(" | ") {
                found |= match name {
                    "str" => own == "string",
                    "int" => own == "int" || is_bool,
                    "None" => own == "NoneType",
                    "bool" | "float" | "list" | "dict" | "tuple" | "set" | "range" => own == name,
                    other => {
                        return Err(wrong(format!(
                            "isinstance takes types such as int and dict, not {other}"
                        )));
                    }
                };
            }
        }
        Ok(found)
    }
}
