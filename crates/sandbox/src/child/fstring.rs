//! `f'{a.b} of {c[0]}'` becomes `'{} of {}'.format((a.b), (c[0]))`: Starlark's own f-strings take names only. This comes before
//! anything else looks at a program, so that what stands in the braces is a part of it like any other.

use super::python::tokens;

/// The same program on the same lines. What cannot be written otherwise stays for the parser to complain about.
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

/// What is left of a prefix without its `f`.
fn prefix(token: &str) -> Option<&'static str> {
    match token {
        "f" | "F" => Some(""),
        "fr" | "rf" | "Fr" | "rF" | "fR" | "Rf" | "FR" | "RF" => Some("r"),
        _ => None,
    }
}

struct Parts {
    text: String,
    /// In brackets: none is taken for an argument with a name.
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

/// Where a value ends: at its brace, at a conversion (`!r`) or at a format (`:`), which there is none of.
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
