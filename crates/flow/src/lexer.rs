//! Splits a source into tokens: lines, comments, names, numbers, texts and signs. Reports everything else and
//! continues, so the parser sees only valid tokens.

mod number;
mod sign;
mod text;

pub use text::meaning;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{DIAGNOSTIC_LIMIT, Diagnostic};

use super::codes;
use super::token::{Keyword, Token, TokenKind};
use super::tree::{Comment, FrontMatter};

/// Longest program, in bytes.
pub const SOURCE_LIMIT: usize = 1 << 20;

const FENCE: &str = "```";
const DASHES: &str = "---";

pub struct Lexed {
    /// Never empty: the last one is [`TokenKind::End`].
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    pub front_matter: Option<FrontMatter>,
    pub diagnostics: Vec<Diagnostic>,
}

pub fn lex(source: &str) -> Lexed {
    let mut lexer = Lexer {
        source,
        position: 0,
        newline: false,
        template_open: false,
        no_regex_until: 0,
        lexed: Lexed {
            tokens: Vec::new(),
            comments: Vec::new(),
            front_matter: None,
            diagnostics: Vec::new(),
        },
    };
    if source.len() > SOURCE_LIMIT {
        lexer.report(
            Diagnostic::new(codes::TOO_LONG, Span::new(0, 0), format!("{} bytes", source.len())).helped(
                "a program has at most 1 MiB (1048576 bytes); data belongs in its inputs or in tasks",
            ),
        );
    } else {
        lexer.run();
    }
    let end = Span::new(lexer.position, lexer.position);
    lexer.push(TokenKind::End, end);
    lexer.lexed
}

/// Returns whether a character can be the first of a name.
pub fn begins_name(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}

/// Returns whether a character can be a further one of a name.
pub fn continues_name(character: char) -> bool {
    begins_name(character) || character.is_ascii_digit()
}

struct Lexer<'a> {
    source: &'a str,
    position: usize,
    /// Whether a line ended since the last token.
    newline: bool,
    /// A template text was never closed, so the lexer does not search for the end of a later one.
    template_open: bool,
    /// No regular expression ends before this offset: the line was already searched.
    no_regex_until: usize,
    lexed: Lexed,
}

impl Lexer<'_> {
    fn run(&mut self) {
        if self.rest().starts_with('\u{feff}') {
            self.position += '\u{feff}'.len_utf8();
        }
        while let Some(character) = self.peek() {
            match character {
                '\n' => {
                    self.newline = true;
                    self.position += 1;
                }
                _ if character.is_whitespace() => self.position += character.len_utf8(),
                '/' if self.rest().starts_with("//") => self.line_comment(),
                '/' if self.rest().starts_with("/*") => self.block_comment(),
                '/' if self.operand_expected() => self.slash(),
                '"' | '\'' => self.text(character),
                '`' if self.fence_expected() => self.front_matter(),
                '-' if self.dashes_expected() => self.dashed_front_matter(),
                '`' => self.template(),
                _ if self.number_begins() => self.number(),
                _ if begins_name(character) => self.word(),
                _ => self.sign(),
            }
        }
    }

    fn rest(&self) -> &str {
        self.source.get(self.position..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes characters while they fit; returns the offset of the first one.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> usize {
        let start = self.position;
        let rest = self.rest();
        self.position += rest.find(|character| !fits(character)).unwrap_or(rest.len());
        start
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.position)
    }

    fn push(&mut self, kind: TokenKind, span: Span) {
        self.lexed.tokens.push(Token { kind, span, newline_before: self.newline });
        self.newline = false;
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.lexed.diagnostics.len() < DIAGNOSTIC_LIMIT {
            self.lexed.diagnostics.push(diagnostic);
        }
    }

    fn word(&mut self) {
        let start = self.take_while(continues_name);
        let span = self.span_from(start);
        let kind = Keyword::find(span.text(self.source)).map_or(TokenKind::Name, TokenKind::Keyword);
        self.push(kind, span);
    }

    fn line_comment(&mut self) {
        let start = self.take_while(|character| character != '\n');
        let written = self.span_from(start).text(self.source).trim_end().len();
        self.lexed.comments.push(Comment { span: Span::new(start, start + written) });
    }

    fn block_comment(&mut self) {
        let start = self.position;
        match self.rest().get(2..).and_then(|inside| inside.find("*/")) {
            Some(length) => self.position += length + 4,
            None => {
                self.report(
                    Diagnostic::new(codes::OPEN_COMMENT, Span::new(start, start + 2), "begins here")
                        .helped("close it with `*/`"),
                );
                self.position = self.source.len();
            }
        }
        let span = self.span_from(start);
        self.newline |= span.text(self.source).contains('\n');
        self.lexed.comments.push(Comment { span });
    }

    fn fence_expected(&self) -> bool {
        self.rest().starts_with(FENCE)
            && self.lexed.tokens.is_empty()
            && self.lexed.front_matter.is_none()
            && self.lexed.diagnostics.is_empty()
    }

    /// Returns whether `---`, as other tools write it, stands alone on this line.
    fn dashes_expected(&self) -> bool {
        let line = self.rest().lines().next().unwrap_or_default();
        line.trim_end() == DASHES
            && self.lexed.tokens.is_empty()
            && self.lexed.front_matter.is_none()
            && self.lexed.diagnostics.is_empty()
    }

    /// Reports `---` and still reads the lines up to the next `---` as front matter.
    fn dashed_front_matter(&mut self) {
        let fence = Span::new(self.position, self.position + DASHES.len());
        self.report(
            Diagnostic::new(codes::FRONT_MATTER, fence, "other tools write it like this")
                .titled("front matter stands between triple backticks")
                .helped("write ``` on a line of its own instead of ---, before it and behind it"),
        );
        self.take_while(|character| character != '\n');
        let start = (self.position + 1).min(self.source.len());
        let mut end = start;
        for line in self.source.get(start..).unwrap_or_default().split_inclusive('\n') {
            if line.trim_end() == DASHES {
                self.position = end + DASHES.len();
                self.keep_front_matter(start, end);
                return;
            }
            end += line.len();
        }
    }

    /// Reads front matter between two lines of three backticks; the first may name the language.
    fn front_matter(&mut self) {
        let fence = Span::new(self.position, self.position + FENCE.len());
        self.position += FENCE.len();
        let named = self.take_while(|character| character != '\n');
        let name = self.span_from(named);
        if !matches!(name.text(self.source).trim(), "" | "yaml" | "yml") {
            self.report(
                Diagnostic::new(codes::FRONT_MATTER, name, "this belongs on a line of its own")
                    .helped("write ``` alone on its line, then the YAML, then ``` on a line again"),
            );
        }
        let start = (self.position + 1).min(self.source.len());
        let mut end = start;
        let lines = self.source.get(start..).unwrap_or_default().split_inclusive('\n');
        for line in lines {
            if line.trim_start().starts_with(FENCE) {
                let indent = line.len() - line.trim_start().len();
                self.position = end + indent + FENCE.len();
                self.keep_front_matter(start, end);
                return;
            }
            end += line.len();
        }
        self.report(
            Diagnostic::new(codes::FRONT_MATTER, fence, "begins here")
                .titled("the front matter has no end")
                .helped("close it with ``` on a line of its own"),
        );
        self.position = self.source.len();
        self.keep_front_matter(start, end);
    }

    fn keep_front_matter(&mut self, start: usize, end: usize) {
        let span = Span::new(start, end);
        let text = span.text(self.source).to_owned();
        self.lexed.front_matter = Some(FrontMatter { text, span });
    }
}

#[cfg(test)]
mod tests;
