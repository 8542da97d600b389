//! Chooses the quotes of strings.

/// Returns a string in its preferred quotes. Escapes stay as written, unless the quotes make them
/// unnecessary.
pub(super) fn quoted(written: &str, meaning: &str) -> String {
    let single = meaning.contains('"') && !meaning.contains('\'');
    let quote = if single { '\'' } else { '"' };
    let inside = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    let mut text = String::with_capacity(written.len() + 2);
    text.push(quote);
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('"' | '\'')) => push_quote(&mut text, escaped, quote),
                escaped => text.extend(std::iter::once('\\').chain(escaped)),
            },
            '"' | '\'' => push_quote(&mut text, character, quote),
            _ => text.push(character),
        }
    }
    text.push(quote);
    text
}

fn push_quote(text: &mut String, character: char, quote: char) {
    if character == quote {
        text.push('\\');
    }
    text.push(character);
}

#[cfg(test)]
mod tests {
    use super::quoted;
    use crate::lexer::meaning;

    #[test]
    fn quotes_are_double_unless_the_string_contains_them() {
        for (written, expected) in [
            ("'a'", "\"a\""),
            ("\"it's\"", "\"it's\""),
            ("'it\\'s'", "\"it's\""),
            ("\"say \\\"hi\\\"\"", "'say \"hi\"'"),
            ("'\"'", "'\"'"),
            ("'\"\\''", "\"\\\"'\""),
            ("'\\u0022 \\n \\\\'", "'\\u0022 \\n \\\\'"),
            ("'\\\\\\''", "\"\\\\'\""),
            ("\"\"", "\"\""),
        ] {
            let text = quoted(written, &meaning(written));
            assert_eq!(text, expected);
            assert_eq!(meaning(&text), meaning(written));
            assert_eq!(quoted(&text, &meaning(&text)), text);
        }
    }
}
