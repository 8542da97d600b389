//! What the language refuses beyond syntax, what deserves a warning, and the names a program mentions.
//!
//! One walk over the tree. It resolves names as the compiler does, keeps the place of every value so that waits
//! are only accepted where a run can stand still, and collects what is wrong statement by statement: the rewrite in
//! a message shows the whole statement as it should be. What is not certain to be wrong is never an error.

mod call;
mod closure;
mod condition;
mod expression;
mod function_text;
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

use super::diagnostic::{Diagnostic, Severity};
use super::front_matter::{self, Failures, Reading, Settings};
use super::lines::Lines;
use super::parser::parse;
use super::tree::{File, Form, Span};
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
    /// Only what would be refused. For a file with syntax errors: what could not be read would make warnings lie.
    pub errors_only: bool,
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
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
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
    let mut checker = Checker {
        source,
        lines: Lines::of(source),
        scopes: Scopes::default(),
        report: Report::new(options),
        checked: Checked::default(),
        pending: BTreeMap::new(),
        offences: Vec::new(),
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
    let mut checked = check(source, &parsed.file, options);
    for more in [parsed.diagnostics, diagnostics] {
        checked.diagnostics.extend(report::severe_if(strict, more));
    }
    checked.diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity));
    Examined { file: parsed.file, settings, checked }
}

struct Checker<'t> {
    source: &'t str,
    lines: Lines<'t>,
    scopes: Scopes<'t>,
    report: Report,
    checked: Checked,
    /// Names that were read and not declared; one that is assigned further down is known all the same.
    pending: BTreeMap<&'t str, Vec<Pending>>,
    /// Waits that cannot be where they are, of the statement at hand.
    offences: Vec<Offence<'t>>,
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
        Checked { diagnostics: self.report.finish(), ..self.checked }
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
