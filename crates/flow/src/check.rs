//! What the language refuses beyond syntax, what deserves a warning, and the names a program mentions.
//!
//! One walk over the tree. It resolves names as the compiler does, keeps the place of every value so that waits
//! are only accepted where a run can stand still, and collects what is wrong statement by statement: the rewrite in
//! a message shows the whole statement as it should be. What is not certain to be wrong is never an error.

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
    /// Warnings are errors.
    pub strict: bool,
    /// What a failed task gives, as the front matter says.
    pub failures: Failures,
    /// Only what would be refused, and names that are certainly unknown. For a file with syntax errors: what could
    /// not be read would make other warnings lie.
    pub errors_only: bool,
}

/// What is not known of a file with syntax errors.
struct Doubt<'t> {
    /// The lines of the errors, as people count. What else is found there may follow from them.
    lines: BTreeSet<usize>,
    /// Words that may be declared by what could not be read.
    words: BTreeSet<&'t str>,
}

impl<'t> Doubt<'t> {
    /// Nothing when so much is not known that only errors are worth telling.
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

/// What the checker found.
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
    /// Whether `rhythm check` and registration refuse it.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity.refuses())
    }

    /// Whether it can be compiled, though calls in it may be sure to throw.
    pub fn compiles(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }
}

/// A constant name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub name: String,
    pub span: Span,
}

/// Checks what the parser could read.
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

/// A source, read and checked.
#[derive(Clone, Debug)]
pub struct Examined {
    pub file: File,
    pub settings: Settings,
    /// With everything there is to say, of the parser and the front matter too.
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
    /// Names that were read and not declared; one that is assigned further down is known all the same.
    pending: BTreeMap<&'t str, Vec<Pending>>,
    /// Waits that cannot be where they are, of the statement at hand.
    offences: Vec<Offence<'t>>,
    handles: Handles<'t>,
    /// The loops around, innermost last, and whether something breaks out of them.
    loops: Vec<bool>,
    /// The statement at hand does more than compute.
    effect: bool,
    failures: Failures,
    /// The statement at hand as far as a message repeats it.
    shown: Option<Shown>,
    /// The words of the source, once one is needed that is not among them.
    taken: Option<BTreeSet<&'t str>>,
}

/// A statement, or its head, and what stands for the rest of it.
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

    /// As people count.
    fn line(&self, offset: u32) -> usize {
        self.lines.position(offset as usize).line
    }
}

#[cfg(test)]
mod tests;
