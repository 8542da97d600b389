//! Collects diagnostics up to a limit; errors come before warnings.

use rhythm_syntax::Code;
use rhythm_syntax::diagnostic::{DIAGNOSTIC_LIMIT, Diagnostic, Severity};

use super::Options;
use crate::codes;

pub(super) struct Report {
    options: Options,
    /// Unknown names are reported even if only errors are wanted.
    names: bool,
    errors: Vec<Diagnostic>,
    others: Vec<Diagnostic>,
    /// Number of findings so far, whether kept or not.
    count: usize,
}

impl Report {
    pub(super) fn new(options: Options, names: bool) -> Self {
        Self { options, names, errors: Vec::new(), others: Vec::new(), count: 0 }
    }

    /// Returns whether a diagnostic of this code would be kept. Call it before building an expensive message.
    pub(super) fn wants(&self, code: Code) -> bool {
        match code.severity.refuses() {
            true => self.errors.len() < DIAGNOSTIC_LIMIT,
            false => {
                let wanted = !self.options.errors_only || (self.names && code == codes::UNKNOWN_NAME);
                wanted && self.others.len() < DIAGNOSTIC_LIMIT
            }
        }
    }

    pub(super) fn add(&mut self, code: Code, make: impl FnOnce() -> Diagnostic) {
        self.count += 1;
        if self.wants(code) {
            let kept = if code.severity.refuses() { &mut self.errors } else { &mut self.others };
            kept.push(make());
        }
    }

    /// Counts a finding that will be reported later, so that the current expression does not look free of
    /// findings.
    pub(super) fn announce(&mut self) {
        self.count += 1;
    }

    /// Returns the number of findings so far.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn finish(self) -> Vec<Diagnostic> {
        let mut all = self.errors;
        all.extend(self.others);
        all.truncate(DIAGNOSTIC_LIMIT);
        all.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity));
        severe_if(self.options.strict, all)
    }
}

/// Turns warnings into errors when `strict` is set.
pub(super) fn severe_if(strict: bool, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for diagnostic in &mut diagnostics {
        if strict && diagnostic.severity == Severity::Warning {
            diagnostic.severity = Severity::Error;
        }
    }
    diagnostics
}
