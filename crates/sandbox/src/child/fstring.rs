//! Rewrites f-strings: `f'{a.b} of {c[0]}'` becomes `'{} of {}'.format((a.b), (c[0]))`, because Starlark's
//! f-strings take only names. This runs before all other rewrites, so that they see the expressions in the
//! braces too.

use super::python::tokens;

/// Returns the program without f-strings, with the same line numbers. An f-string that cannot be rewritten
/// stays, and the parser reports it.
pub(super) fn without(code: &str) -> String {
    let tokens = tokens(code);
    let mut plain = String::with_capacity(code.len());
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        let text = tokens.get(place + 1).filter(|text| text.starts_with(['"', '\'']));
        match prefix(token).zip(text.and_then(|text| Parts::of(text))) {
            Some((prefix, parts)) => {
                plain.push_str(&format!("{prefix}{}.format({})", parts.text, parts.values.join(", ")));
                place += 2;
            }
            None => {
                plain.push_str(token);
                place += 1;
            }
        }
    }
    plain
}

/// Returns the string prefix without its `f`.
fn prefix(token: &str) -> Option<&'static str> {
    match token {
        "f" | "F" => Some(""),
        "fr" | "rf" | "Fr" | "rF" | "fR" | "Rf" | "FR" | "RF" => Some("r"),
        _ => None,
    }
}

struct Parts {
    text: String,
    /// Expressions, each in brackets, so that none is taken for a keyword argument.
    values: Vec<String>,
}

impl Parts {
    fn of(quoted: &str) -> Option<Self> {
        let mut parts = Self { text: String::with_capacity(quoted.len()), values: Vec::new() };
        let mut rest = quoted;
        while let Some(brace) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(brace);
            parts.text.push_str(before);
            if from.starts_with("{{") || from.starts_with("}}") {
                parts.text.push_str(&from[..2]);
                rest = &from[2..];
                continue;
            }
            let inside = from.strip_prefix('{')?;
            let end = value_end(inside)?;
            let (value, mut after) = inside.split_at(end);
            if value.trim().is_empty() {
                return None;
            }
            parts.values.push(format!("({value})"));
            parts.text.push('{');
            for conversion in ["!r", "!s"] {
                if let Some(shorter) = after.strip_prefix(conversion) {
                    parts.text.push_str(conversion);
                    after = shorter;
                }
            }
            parts.text.push('}');
            rest = after.strip_prefix('}')?;
        }
        parts.text.push_str(rest);
        Some(parts)
    }
}

/// Returns the end of an expression: its brace, a conversion (`!r`) or a format (`:`). The last two are not
/// supported.
fn value_end(inside: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    for token in tokens(inside) {
        match token {
            "(" | "[" | "{" => depth += 1,
            "}" | ":" if depth == 0 => return Some(at),
            "!" if depth == 0 && !inside[at..].starts_with("!=") => return Some(at),
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += token.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_braces_is_formatted() {
        for (code, plain) in [
            ("f'a'", "'a'.format()"),
            ("x = f\"{a.b} of {c[0]}!\" + 'f'", "x = \"{} of {}!\".format((a.b), (c[0])) + 'f'"),
            ("f'{g(1, {\"k\": 2})}'", "'{}'.format((g(1, {\"k\": 2})))"),
            ("f'{a != b} {a!r} {{x}}'", "'{} {!r} {{x}}'.format((a != b), (a))"),
            ("rf'\\d{n}'", "r'\\d{}'.format((n))"),
            ("f'''{a}\n{b}''' # f'{c}'", "'''{}\n{}'''.format((a), (b)) # f'{c}'"),
            ("f'{d[\"}\"]}'", "'{}'.format((d[\"}\"]))"),
            ("f'{[x for x in y]}'", "'{}'.format(([x for x in y]))"),
        ] {
            assert_eq!(without(code), plain);
        }
    }

    #[test]
    fn what_cannot_be_written_otherwise_stays() {
        for code in [
            "f'{x:.2f}'",
            "f'{'",
            "f'}'",
            "f'{}'",
            "f'{ }'",
            "f'{x!a}'",
            "f'{x]}'",
            "f",
            "if 'x': f",
            "of'{x}'",
        ] {
            assert_eq!(without(code), code);
        }
    }
}
