//! The lines of a rewrite, and fresh names.

use std::collections::BTreeSet;

use rhythm_syntax::Span;

/// Prefix of every line of a rewrite.
const MARGIN: &str = "  ";

#[derive(Default)]
pub(in crate::check) struct Draft {
    lines: Vec<String>,
    depth: usize,
    /// Indentation of the user's statement, in bytes; it is removed from its further lines.
    indent: usize,
}

impl Draft {
    /// Takes the indentation of the source line on which this span begins.
    pub(in crate::check) fn begin_at(&mut self, source: &str, span: Span) {
        let before = source.get(..span.range().start).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        self.indent = line.len() - line.trim_start().len();
    }

    /// Adds a text; further lines keep their indentation relative to the statement.
    pub(in crate::check) fn line(&mut self, text: &str) {
        for (index, line) in text.lines().enumerate() {
            let extra = if index == 0 { 0 } else { self.indent };
            let kept = line.len() - line.trim_start().len();
            let line = line.get(kept.min(extra)..).unwrap_or_default().trim_end();
            self.lines.push(format!("{MARGIN}{}{line}", "  ".repeat(self.depth)));
        }
    }

    pub(in crate::check) fn open(&mut self, text: &str) {
        self.line(text);
        self.depth += 1;
    }

    pub(in crate::check) fn close(&mut self, text: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.line(text);
    }

    pub(in crate::check) fn finish(self, most: usize) -> Option<String> {
        (self.lines.len() <= most).then(|| self.lines.join("\n"))
    }
}

/// Generates `n`, `n2`, `n3`, skipping names the program already uses.
#[derive(Clone)]
pub(in crate::check) struct Names<'a> {
    taken: &'a BTreeSet<&'a str>,
    next: u32,
}

impl<'a> Names<'a> {
    pub(in crate::check) fn new(taken: &'a BTreeSet<&'a str>) -> Self {
        Self { taken, next: 1 }
    }

    pub(in crate::check) fn next(&mut self) -> String {
        loop {
            let name = if self.next == 1 { "n".to_owned() } else { format!("n{}", self.next) };
            self.next += 1;
            if !self.taken.contains(name.as_str()) {
                return name;
            }
        }
    }
}

pub(in crate::check) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(crate::lexer::continues_name)
}

/// Returns the negated condition in its shortest safe form.
pub(super) fn negated(condition: &str) -> String {
    match condition.strip_prefix('!') {
        Some(positive) if is_name(positive) => positive.to_owned(),
        _ if is_name(condition) => format!("!{condition}"),
        _ => format!("!({condition})"),
    }
}
