//! What is wrong with a program, or might be: a code, where, what, and what to write instead.

use crate::Code;
use crate::Span;

/// A file gets at most this many diagnostics from each pass; after so many, more are no help to anybody.
pub const DIAGNOSTIC_LIMIT: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Registration is refused.
    Error,
    /// The program can be compiled, but what stands here throws whenever it is reached, whatever the data. To
    /// `rhythm check` and at registration this is an error; a scenario plays it.
    SureToThrow,
    /// Registration goes on; `rhythm check --strict` refuses it.
    Warning,
    /// Advice; never refused.
    Hint,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// `FLOW012`
    pub code: &'static str,
    pub severity: Severity,
    /// One line: what is wrong.
    pub title: String,
    pub span: Span,
    /// Beside the underlined source.
    pub label: String,
    /// What to write instead, or why; may have several lines.
    pub help: Option<String>,
}

impl Severity {
    /// Whether `rhythm check` and registration refuse it.
    pub fn refuses(self) -> bool {
        matches!(self, Self::Error | Self::SureToThrow)
    }

    /// For people and machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error | Self::SureToThrow => "error",
            Self::Warning => "warning",
            Self::Hint => "hint",
        }
    }
}

impl Diagnostic {
    /// With the title of its code and no help; see [`titled`](Self::titled) and [`helped`](Self::helped).
    pub fn new(code: Code, span: Span, label: impl Into<String>) -> Self {
        Self {
            code: code.id,
            severity: code.severity,
            title: code.title.to_owned(),
            span,
            label: label.into(),
            help: None,
        }
    }

    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    pub fn helped(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A piece of a source as it can stand in a title: on one line, not too long.
pub fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("..");
    }
    shown
}
