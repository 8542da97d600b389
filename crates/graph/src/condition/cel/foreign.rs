//! Finds operators of other languages in expressions that cannot be parsed, and names the replacement.

use crate::condition::text::outside_quotes;

/// Longer operators come first. A single `=` matches only when no sign beside it makes it another operator.
const SIGNS: [(&str, &str); 4] = [("===", "=="), ("!==", "!="), ("<>", "!="), ("=", "==")];
const WORDS: [(&str, &str); 3] = [("and", "&&"), ("or", "||"), ("not", "!")];

pub(super) struct Foreign {
    /// Line and column from 1.
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) found: &'static str,
    pub(super) instead: &'static str,
}

pub(super) fn find(source: &str) -> Option<Foreign> {
    let mut passed = 0;
    for (place, _) in outside_quotes(source) {
        // A byte in the middle of a character starts no operator.
        let Some(rest) = source.get(place..).filter(|_| place >= passed) else { continue };
        let before = source.get(..place).unwrap_or_default();
        if let Some((found, instead)) = word(before, rest).or_else(|| sign(rest)) {
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = before.matches('\n').count() + 1;
            let column = before.get(start..).unwrap_or_default().chars().count() + 1;
            return Some(Foreign { line, column, found, instead });
        }
        passed = place
            + ["==", "!=", "<=", ">="].iter().find(|own| rest.starts_with(**own)).map_or(1, |own| own.len());
    }
    None
}

fn sign(rest: &str) -> Option<(&'static str, &'static str)> {
    if rest.starts_with("==") && !rest.starts_with("===") {
        return None;
    }
    SIGNS.into_iter().find(|(found, _)| rest.starts_with(found))
}

/// Returns a keyword that is a whole word: not part of a longer name and not a field after a dot.
fn word(before: &str, rest: &str) -> Option<(&'static str, &'static str)> {
    let in_name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    if before.ends_with(in_name) {
        return None;
    }
    WORDS.into_iter().find(|(found, _)| {
        rest.strip_prefix(found)
            .is_some_and(|behind| behind.starts_with([' ', '\n', '\t', '(', '!', '"', '\'']))
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn operators_of_other_languages_are_found_where_they_stand() {
        let told = |source: &str| {
            find(source).map(|it| format!("{}:{} {} {}", it.line, it.column, it.found, it.instead))
        };
        for (source, expected) in [
            ("output.a === 1", "1:10 === =="),
            ("output.a !== 1", "1:10 !== !="),
            ("output.a = 1", "1:10 = =="),
            ("output.a <> 1", "1:10 <> !="),
            ("output.a == 1\n and output.b", "2:2 and &&"),
            ("output.a or output.b", "1:10 or ||"),
            ("not output.a", "1:1 not !"),
            ("output.é == \"a === b\" === 2", "1:23 === =="),
        ] {
            assert_eq!(told(source).as_deref(), Some(expected), "{source}");
        }
        for source in
            ["output.a == 1 && output.b >= 2", "output.and == 1", "a <= b || nothing != 'x = y'", "order or"]
        {
            assert_eq!(told(source), None, "{source}");
        }
    }
}
