//! CEL expressions. The `cel` crate parses them. Its syntax tree is checked and translated into our own
//! expression ([`lower`]), because the crate's evaluator has no work limit and copies the values it visits.
//! Our evaluator borrows from the scope and counts every step ([`evaluate`]). A test compares the results of
//! both.
//!
//! One difference is deliberate. JSON does not distinguish 1 from 1.0, so a number from data mixes with any
//! other, and two such numbers divide without loss. Combined with a whole number written in the expression,
//! it is a whole number.

mod evaluate;
mod expression;
mod foreign;
mod functions;
mod lower;
mod names;
mod numbers;
mod paths;
#[cfg(test)]
mod tests;
mod times;
mod value;

use cel::parser::PrattParser;

use super::bounds::{MAX_DEPTH, Size, check_source};
use super::error::{ConditionError, ErrorKind};
use super::fields::Fields;
use super::paths::{Path, Suspect};
use super::text::{longest_sign, outside_quotes};
use super::{Scope, Verdict};
use evaluate::Evaluation;
use expression::Expression;
use lower::Lower;
pub(super) use paths::walk;
use value::Val;

#[derive(Debug)]
pub(super) struct Cel {
    expression: Expression,
    reads: Reads,
}

/// The values an expression can read.
#[derive(Debug, Default)]
struct Reads {
    output: bool,
    inputs: bool,
    context: bool,
    /// The nodes it names. Complete unless `context` is set.
    nodes: std::collections::BTreeSet<String>,
}

impl Cel {
    pub fn of(fields: &Fields<'_>) -> Result<Self, ConditionError> {
        Self::compile(fields.text("expression")?, false)
    }

    /// Compiles the expression of a comparison between nodes, where this node's output is `current.output`.
    pub fn comparison(fields: &Fields<'_>) -> Result<Self, ConditionError> {
        Self::compile(fields.text("expression")?, true)
    }

    fn compile(source: &str, current: bool) -> Result<Self, ConditionError> {
        check_source("expression", source)?;
        // The parser does not count its depth for `?`. Quotes are not considered, because a comment could
        // hide them.
        if source.bytes().filter(|&byte| byte == b'?').count() > MAX_DEPTH {
            let message = format!("it has more than {MAX_DEPTH} question marks");
            return Err(ConditionError::new(ErrorKind::TooLarge, "expression", message));
        }
        // Nor does the parser count signs in a row: it drops two signs as none.
        if longest_sign(source) > MAX_DEPTH {
            let message = format!("it has more than {MAX_DEPTH} signs in a row");
            return Err(ConditionError::new(ErrorKind::TooLarge, "expression", message));
        }
        let text = without_dollars(source);
        let parser = PrattParser::new()
            .max_recursion_depth(MAX_DEPTH as u16)
            .error_recovery_limit(0)
            .error_reporting_limit(1)
            .max_expression_node_count(4096);
        let parsed = parser.parse(&text).map_err(|errors| {
            if let Some(foreign::Foreign { line, column, found, instead }) = foreign::find(source) {
                let message =
                    format!("line {line}, column {column}: there is no `{found}`: write `{instead}`");
                return ConditionError::new(ErrorKind::Syntax, "expression", message);
            }
            // An error without a position only says that the parser gave up.
            let placed = errors.errors.iter().find(|error| error.pos.0 > 0);
            let message = placed.map_or_else(
                || "it is no expression".to_owned(),
                |error| {
                    let (line, column) = (error.pos.0, column_before_dollars(source, error.pos));
                    let what = error.msg.strip_prefix("Syntax error: ").unwrap_or(&error.msg);
                    format!("line {line}, column {column}: {what}")
                },
            );
            ConditionError::new(ErrorKind::Syntax, "expression", message)
        })?;
        let mut lower = Lower::new(current);
        let expression = lower.expression(&parsed, 1)?;
        Ok(Self { expression, reads: lower.reads })
    }

    pub fn paths(&self) -> Vec<Path> {
        paths::paths(&self.expression)
    }

    pub fn suspects(&self) -> Vec<Suspect> {
        paths::suspects(&self.expression)
    }

    pub fn evaluate(&self, scope: &Scope<'_>) -> Verdict {
        if let Err(limit) = self.reads.check(scope) {
            return Verdict::NotEvaluable(limit.to_string());
        }
        match Evaluation::new(scope).value(&self.expression) {
            Ok(Val::Bool(met)) => Verdict::of(met),
            Ok(other) => Verdict::NotEvaluable(format!("it gives {}, not a boolean", other.type_name())),
            Err(fault) => Verdict::NotEvaluable(fault.to_string()),
        }
    }
}

impl Reads {
    fn check(&self, scope: &Scope<'_>) -> Result<(), super::bounds::Limit> {
        let mut size = Size::default();
        if self.output {
            size.add(scope.output)?;
        }
        if self.inputs {
            size.add(scope.inputs)?;
        }
        if self.context {
            scope.context.values().try_for_each(|past| size.add(past.output))?;
        } else {
            for node in &self.nodes {
                scope.context.get(node.as_str()).map_or(Ok(()), |past| size.add(past.output))?;
            }
        }
        Ok(())
    }
}

/// Replacement of `$`: `$.x` is `output.x`.
const DOLLAR: &str = "output";

fn without_dollars(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut from = 0;
    for (place, _) in outside_quotes(source).filter(|&(_, byte)| byte == b'$') {
        text.push_str(&source[from..place]);
        text.push_str(DOLLAR);
        from = place + 1;
    }
    text.push_str(&source[from..]);
    text
}

/// Returns the column in `source` that belongs to this position in the text without dollars.
fn column_before_dollars(source: &str, (line, column): (isize, isize)) -> isize {
    let longer = DOLLAR.len() as isize - 1;
    let start: usize = source.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
    let end = source[start..].find('\n').map_or(source.len(), |length| start + length);
    let dollars =
        outside_quotes(source).filter(|&(place, byte)| byte == b'$' && (start..end).contains(&place));
    let places = dollars.map(|(place, _)| source[start..place].chars().count() as isize + 1);
    places
        .fold((column, 0), |(found, before), place| match column > place + before * longer {
            true => ((column - (before + 1) * longer).max(place), before + 1),
            false => (found, before),
        })
        .0
}
