//! Reads texts in either kind of quotes and their escapes, and refuses the template texts of JavaScript.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Lexer;
use crate::codes;
use crate::token::{Token, TokenKind};

/// Longest string, in bytes, that a message repeats.
const LONGEST_QUOTED: usize = 60;
/// Largest number of tokens to search back for the beginning of such a string.
const MOST_TOKENS: usize = 200;

impl Lexer<'_> {
    /// Reads a text up to its closing quote, or to the end of the line if there is none.
    pub(super) fn text(&mut self, quote: char) {
        let start = self.position;
        let rest = self.rest();
        let mut characters = rest.char_indices().skip(1);
        let mut end = None;
        while let Some((at, character)) = characters.next() {
            match character {
                '\n' | '\r' => {
                    end = Some((at, false));
                    break;
                }
                // A backslash before a line break does not continue the text.
                '\\' if !rest.get(at + 1..).unwrap_or_default().starts_with(['\n', '\r']) => {
                    characters.next();
                }
                _ if character == quote => {
                    end = Some((at + 1, true));
                    break;
                }
                _ => {}
            }
        }
        let (length, closed) = end.unwrap_or((rest.len(), false));
        if !closed && self.quote_inside() {
            return;
        }
        self.position += length;
        let span = self.span_from(start);
        if closed {
            self.check_escapes(span);
        } else {
            self.report(
                Diagnostic::new(codes::OPEN_TEXT, span, format!("a closing {quote} is missing"))
                    .helped("a string ends on the line it begins on; write \\n for a line break"),
            );
        }
        self.push(TokenKind::Text, span);
    }

    /// Detects `'it's'`: a string on this line ended at a quote inside of it, so its last quote now opens
    /// another string.
    fn quote_inside(&mut self) -> bool {
        let tokens = &self.lexed.tokens;
        if self.newline || tokens.is_empty() {
            return false;
        }
        let near = tokens.len().saturating_sub(MOST_TOKENS);
        let line = tokens[near..].iter().rposition(|token| token.newline_before).unwrap_or(0) + near;
        let cut = |pair: &[Token]| match pair {
            [text, word] => {
                text.kind == TokenKind::Text
                    && word.kind == TokenKind::Name
                    && text.span.end == word.span.start
            }
            _ => false,
        };
        let Some(place) = tokens[line..].windows(2).position(cut).map(|place| line + place) else {
            return false;
        };
        let (text, word) = (tokens[place], tokens[place + 1]);
        let start = text.span.range().start;
        let quote = text.span.text(self.source).chars().next().unwrap_or('"');
        let behind = self.source.get(word.span.range().end..).unwrap_or_default();
        let Some(length) = behind.find(quote) else { return false };
        let end = word.span.range().end + length;
        let meant = self.source.get(start + 1..end).unwrap_or_default();
        // Limit the text that is read again, so that a line full of quotes takes linear time.
        if meant.len() > LONGEST_QUOTED || self.position.saturating_sub(end) > 10 * LONGEST_QUOTED {
            return false;
        }
        let other = if quote == '"' { '\'' } else { '"' };
        let written = match meant.contains(other) {
            true => format!("{quote}{}{quote}", meant.replace(quote, &format!("\\{quote}"))),
            false => format!("{other}{meant}{other}"),
        };
        let ended = text.span.text(self.source).trim_matches(quote).to_owned();
        let span = Span::new(start, end + 1);
        self.report(
            Diagnostic::new(codes::OPEN_TEXT, span, format!("the string ended after `{ended}`"))
                .titled(format!("a string ends at the first {quote} in it"))
                .helped(format!("write {written}")),
        );
        self.newline = text.newline_before;
        self.lexed.tokens.truncate(place);
        self.position = end + 1;
        self.push(TokenKind::Refused, span);
        true
    }

    fn check_escapes(&mut self, span: Span) {
        let source = self.source;
        unescape(span.text(source), |range, problem| {
            let at = Span::new(span.range().start + range.start, span.range().start + range.end);
            self.report(Diagnostic::new(codes::BAD_ESCAPE, at, problem.label()).helped(problem.help()));
        });
    }

    pub(super) fn template(&mut self) {
        let start = self.position;
        let inside = self.rest().get(1..).unwrap_or_default();
        let close = if self.template_open { None } else { closing_backtick(inside) };
        let length = match close {
            Some(at) => at + 1,
            None => inside.find('\n').unwrap_or(inside.len()),
        };
        self.template_open |= close.is_none();
        self.position += 1 + length;
        let span = self.span_from(start);
        self.report(
            Diagnostic::new(codes::FOREIGN, span, "a template string")
                .titled("there are no template strings")
                .helped("join strings with `+`: write \"order \" + id"),
        );
        self.push(TokenKind::Refused, span);
    }
}

fn closing_backtick(inside: &str) -> Option<usize> {
    let mut escaped = false;
    inside.find(|character| {
        let closes = character == '`' && !escaped;
        escaped = character == '\\' && !escaped;
        closes
    })
}

/// Returns the meaning of a quoted text. Invalid escapes are left out.
pub fn meaning(written: &str) -> String {
    unescape(written, |_, _| {})
}

#[derive(Clone, Copy)]
enum Problem {
    Unknown,
    Hex,
    Surrogate,
}

impl Problem {
    fn label(self) -> &'static str {
        match self {
            Self::Unknown => "is not an escape",
            Self::Hex => "four hexadecimal digits belong after `\\u`",
            Self::Surrogate => "is half of a character",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Unknown => r#"the escapes are \" \' \\ \/ \b \f \n \r \t \uXXXX; write \\ for a backslash"#,
            Self::Hex => "write for example \\u00e9, or the character itself",
            Self::Surrogate => "write both halves, such as \\ud83d\\ude00, or the character itself",
        }
    }
}

fn unescape(written: &str, mut report: impl FnMut(std::ops::Range<usize>, Problem)) -> String {
    let quote = written.chars().next().unwrap_or('"');
    let inside = written.get(1..).unwrap_or_default();
    let inside = inside.strip_suffix(quote).unwrap_or(inside);
    let mut meaning = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        meaning.push_str(before);
        let start = 1 + inside.len() - escape.len();
        let (length, read) = read_escape(escape);
        match read {
            Ok(character) => meaning.push(character),
            Err(problem) => report(start..start + length, problem),
        }
        rest = escape.get(length..).unwrap_or_default();
    }
    meaning.push_str(rest);
    meaning
}

/// Returns the length of the escape at the beginning and the character it stands for.
fn read_escape(escape: &str) -> (usize, Result<char, Problem>) {
    let Some(letter) = escape.chars().nth(1) else { return (1, Err(Problem::Unknown)) };
    let simple = match letter {
        '"' | '\'' | '\\' | '/' => letter,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return read_unicode(escape),
        _ => return (1 + letter.len_utf8(), Err(Problem::Unknown)),
    };
    (2, Ok(simple))
}

fn read_unicode(escape: &str) -> (usize, Result<char, Problem>) {
    let Some(first) = hex(escape) else {
        let digits = escape.chars().skip(2).take(4).take_while(char::is_ascii_hexdigit).count();
        return (2 + digits, Err(Problem::Hex));
    };
    if let Some(character) = char::from_u32(u32::from(first)) {
        return (6, Ok(character));
    }
    let second = escape.get(6..).and_then(hex);
    match second.and_then(|second| char::decode_utf16([first, second]).next()?.ok()) {
        Some(character) => (12, Ok(character)),
        None => (6, Err(Problem::Surrogate)),
    }
}

/// Returns the number in `\uXXXX`.
fn hex(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    let plain = digits.chars().all(|digit| digit.is_ascii_hexdigit());
    plain.then(|| u16::from_str_radix(digits, 16).ok())?
}
