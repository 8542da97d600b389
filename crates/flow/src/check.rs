//! The checker: errors that the grammar does not cover, warnings, and the task, workflow and signal names of
//! a program.
//!
//! One walk over the tree. It resolves names as the compiler does, tracks where each value stands so that
//! waits are only accepted where a run can wait, and collects the problems of each statement, because a
//! message shows the whole statement rewritten. Only certain mistakes are errors.

mod call;
mod closure;
mod condition;
mod constant;
mod expression;
mod function_text;
mod handle;
mod javascript;
mod known;
mod misuse;
mod name;
mod option;
mod place;
mod race;
mod report;
mod rewrite;
mod scope;
mod statement;
mod wait;

use std::collections::{BTreeMap, BTreeSet};

use rhythm_syntax::Code;
use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{Diagnostic, Severity};
use rhythm_syntax::line_index::Lines;

use super::front_matter::{self, Failures, Reading, Settings};
use super::lexer::continues_name;
use super::parser::{Parsed, parse};
use super::tree::{File, Form};
use crate::codes;
use handle::Handles;
use name::Pending;
use report::Report;
use scope::{Kind, Scopes};
use wait::Offence;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Treats warnings as errors.
    pub strict: bool,
    /// Whether awaiting a failed task throws or gives a value, as the front matter sets it.
    pub failures: Failures,
    /// Reports only errors and names that are certainly unknown. Used for a file with syntax errors, where
    /// the part that could not be read would cause false warnings.
    pub errors_only: bool,
}

/// Records which parts of a file with syntax errors are uncertain.
struct Doubt<'t> {
    /// Line numbers of the syntax errors, from 1. Further findings on these lines may be consequences of
    /// them.
    lines: BTreeSet<usize>,
    /// Words in unreadable parts: any of them may be a declaration.
    words: BTreeSet<&'t str>,
}

impl<'t> Doubt<'t> {
    /// Returns nothing when so little of the file is certain that only errors should be reported.
    fn of(source: &'t str, parsed: &Parsed) -> Option<Self> {
        const HOPELESS: [Code; 4] =
            [codes::TOO_LONG, codes::TOO_DEEP, codes::OPEN_COMMENT, codes::FRONT_MATTER];
        let errors = || parsed.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        if errors().any(|found| HOPELESS.iter().any(|code| code.id == found.code)) {
            return None;
        }
        let lines = Lines::of(source);
        let mut doubt = Self { lines: BTreeSet::new(), words: BTreeSet::new() };
        for found in errors() {
            let (start, end) = (found.span.range().start, found.span.range().end);
            let first = lines.position(start).line;
            doubt.lines.extend(first..=lines.position(end).line.max(first));
            doubt.note(source.get(lines.around(found.span)).unwrap_or_default());
        }
        parsed.skipped.iter().for_each(|span| doubt.note(span.text(source)));
        Some(doubt)
    }

    fn note(&mut self, text: &'t str) {
        let words = text.split(|letter| !continues_name(letter));
        let words = words.map(|word| word.trim_start_matches(|letter: char| letter.is_ascii_digit()));
        self.words.extend(words.filter(|word| !word.is_empty()));
    }
}

/// Result of the checker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// In the order of the source.
    pub diagnostics: Vec<Diagnostic>,
    /// Every task started under a constant name, in the order of the source.
    pub task_names: Vec<Mention>,
    /// Every workflow started under a constant name.
    pub workflow_names: Vec<Mention>,
    /// Every signal waited for under a constant name.
    pub signal_names: Vec<Mention>,
}

impl Checked {
    /// Returns whether `rhythm check` and registration refuse the program.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity.refuses())
    }

    /// Returns whether the program can be compiled, even if some calls in it are certain to throw.
    pub fn compiles(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }
}

/// A constant name and its position in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub name: String,
    pub span: Span,
}

/// Checks the part of a program that the parser could read.
pub fn check(source: &str, file: &File, options: Options) -> Checked {
    check_in_doubt(source, file, options, None)
}

fn check_in_doubt<'t>(
    source: &'t str,
    file: &'t File,
    options: Options,
    doubt: Option<Doubt<'t>>,
) -> Checked {
    let report = Report::new(options, doubt.is_some());
    let mut checker = Checker {
        doubt,
        source,
        lines: Lines::of(source),
        scopes: Scopes::default(),
        report,
        checked: Checked::default(),
        pending: BTreeMap::new(),
        offences: Vec::new(),
        handles: Handles::default(),
        loops: Vec::new(),
        effect: false,
        failures: options.failures,
        shown: None,
        taken: None,
    };
    checker.program(file);
    checker.finish()
}

/// A source after parsing and checking.
#[derive(Clone, Debug)]
pub struct Examined {
    pub file: File,
    pub settings: Settings,
    /// Holds the diagnostics of the parser and the front matter, too.
    pub checked: Checked,
}

/// Reads and checks a source.
pub fn examine(source: &str, strict: bool) -> Examined {
    let parsed = parse(source);
    let Reading { settings, diagnostics } =
        parsed.file.front_matter.as_ref().map(front_matter::read).unwrap_or_default();
    let options = Options { strict, failures: settings.failures, errors_only: parsed.has_errors() };
    let doubt = if parsed.has_errors() { Doubt::of(source, &parsed) } else { None };
    let mut checked = check_in_doubt(source, &parsed.file, options, doubt);
    for more in [parsed.diagnostics, diagnostics] {
        checked.diagnostics.extend(report::severe_if(strict, more));
    }
    checked.diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity));
    Examined { file: parsed.file, settings, checked }
}

struct Checker<'t> {
    doubt: Option<Doubt<'t>>,
    source: &'t str,
    lines: Lines<'t>,
    scopes: Scopes<'t>,
    report: Report,
    checked: Checked,
    /// Names that were read but not declared. One that is assigned further down still counts as known.
    pending: BTreeMap<&'t str, Vec<Pending>>,
    /// Misplaced waits of the current statement.
    offences: Vec<Offence<'t>>,
    handles: Handles<'t>,
    /// For each enclosing loop, innermost last: whether a `break` leaves it.
    loops: Vec<bool>,
    /// Whether the current statement has an effect besides its value.
    effect: bool,
    failures: Failures,
    /// The part of the current statement that a message repeats.
    shown: Option<Shown>,
    /// All words of the source, collected when a fresh name is first needed.
    taken: Option<BTreeSet<&'t str>>,
}

/// A statement or its head, and the text that stands for its remainder in a message.
#[derive(Clone, Copy)]
struct Shown {
    span: Span,
    rest: &'static str,
}

impl<'t> Checker<'t> {
    fn program(&mut self, file: &'t File) {
        self.scopes.open();
        if let Form::Workflow { parameters } = &file.form {
            for (index, parameter) in parameters.iter().enumerate() {
                let kind = if index == 0 { Kind::Context } else { Kind::Inputs };
                self.scopes.declare(&parameter.text, parameter.span, kind);
            }
        }
        self.block(&file.body);
        self.close_scope(file.body.span);
        self.unknown_names();
    }

    fn finish(self) -> Checked {
        let mut diagnostics = self.report.finish();
        if let Some(doubt) = &self.doubt {
            let lines = &self.lines;
            let line = |found: &Diagnostic| lines.position(found.span.range().start).line;
            diagnostics
                .retain(|found| found.severity == Severity::Error || !doubt.lines.contains(&line(found)));
        }
        Checked { diagnostics, ..self.checked }
    }

    fn text(&self, span: Span) -> &'t str {
        span.text(self.source)
    }

    /// Returns the line number, from 1.
    fn line(&self, offset: u32) -> usize {
        self.lines.position(offset as usize).line
    }
}

#[cfg(test)]
mod tests;
