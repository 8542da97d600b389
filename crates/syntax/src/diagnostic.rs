//! Diagnostics: errors, warnings and hints about a program. Each has a code, a place, a description and a
//! fix.

use crate::Code;
use crate::Span;

/// Largest number of diagnostics from each pass over a file; more would not help the reader.
pub const DIAGNOSTIC_LIMIT: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Registration is refused.
    Error,
    /// The program can be compiled, but this place throws whenever it is reached, whatever the data. `rhythm
    /// check` and registration treat it as an error; a scenario runs it.
    SureToThrow,
    /// Registration succeeds; `rhythm check --strict` refuses it.
    Warning,
    /// Advice; never refused.
    Hint,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Code such as `FLOW012`.
    pub code: &'static str,
    pub severity: Severity,
    /// Description of the mistake, on one line.
    pub title: String,
    pub span: Span,
    /// Text beside the underlined source.
    pub label: String,
    /// A fix or a reason; may have several lines.
    pub help: Option<String>,
}

impl Severity {
    /// Returns whether `rhythm check` and registration refuse it.
    pub fn refuses(self) -> bool {
        matches!(self, Self::Error | Self::SureToThrow)
    }

    /// Returns the severity as shown in output for people and for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error | Self::SureToThrow => "error",
            Self::Warning => "warning",
            Self::Hint => "hint",
        }
    }
}

impl Diagnostic {
    /// Creates a diagnostic with the title of its code and without help; see [`titled`](Self::titled) and
    /// [`helped`](Self::helped).
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

/// Returns a piece of source for use in a title: escaped to one line, and cut after 40 characters.
pub fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("..");
    }
    shown
}
