//! The paths that an expression reads in its scope. They explain why it could not be evaluated, and they give
//! warnings about fields that may be missing.

use serde_json::Value;

use super::super::compare::Relation;
use super::super::paths::{Origin, Path, Suspect};
use super::expression::{Expression, MacroKind, Root};

/// Returns the path when the expression consists only of one.
fn path_of(expression: &Expression) -> Option<Path> {
    let mut steps = Vec::new();
    let mut rest = expression;
    let root = loop {
        match rest {
            Expression::Root(root) => break root,
            Expression::Field(operand, name) => (rest, _) = (operand, steps.push(name.clone())),
            Expression::Index(operand, index) => {
                steps.push(match &**index {
                    Expression::Text(name) => name.clone(),
                    Expression::Int(place) => place.to_string(),
                    _ => return None,
                });
                rest = operand;
            }
            _ => return None,
        }
    };
    let mut steps = steps.into_iter().rev();
    let origin = match root {
        Root::Output => Origin::Output,
        Root::Inputs => Origin::Inputs,
        Root::Current => match steps.next()?.as_str() {
            "output" => Origin::Output,
            _ => return None,
        },
        Root::Context => {
            let node = steps.next()?;
            match steps.next().as_deref() {
                Some("output") => Origin::Node(node),
                _ => return None,
            }
        }
    };
    Some(Path { origin, steps: steps.collect() })
}

/// Returns every path in an expression that is not part of a longer one.
pub fn paths(expression: &Expression) -> Vec<Path> {
    let mut found = Vec::new();
    each(expression, &mut |part| {
        let path = path_of(part);
        let is_path = path.is_some();
        found.extend(path);
        !is_path
    });
    found
}

/// Returns paths beside `!=` or below `!` without a `has` check. When such a path leads to nothing, the
/// condition is not met, which is rarely the intention of a negation.
pub fn suspects(expression: &Expression) -> Vec<Suspect> {
    let (mut asked, mut found) = (Vec::new(), Vec::new());
    each(expression, &mut |part| {
        match part {
            Expression::Has(operand, name) => {
                asked.extend(path_of(operand).map(|path| path.then(name)));
            }
            Expression::Compare(Relation::NotEqual, left, right) => {
                let paths = [left, right].into_iter().filter_map(|side| path_of(side));
                found.extend(paths.map(|path| Suspect { path, operator: "!=" }));
            }
            Expression::Not(operand) => {
                let below = match &**operand {
                    Expression::Compare(_, left, right) | Expression::In(left, right) => {
                        vec![path_of(left), path_of(right)]
                    }
                    operand => vec![path_of(operand)],
                };
                let paths = below.into_iter().flatten();
                found.extend(paths.map(|path| Suspect { path, operator: "!" }));
            }
            _ => {}
        }
        true
    });
    found.retain(|suspect| !asked.iter().any(|path: &Path| path.reaches(&suspect.path)));
    found
}

/// Visits an expression and its parts, outermost first. When `visit` returns false, the parts are skipped.
fn each<'e>(expression: &'e Expression, visit: &mut impl FnMut(&'e Expression) -> bool) {
    if !visit(expression) {
        return;
    }
    match expression {
        Expression::Null
        | Expression::Bool(_)
        | Expression::Int(_)
        | Expression::Double(_)
        | Expression::Text(_)
        | Expression::Type(_)
        | Expression::Root(_)
        | Expression::Local(_) => {}
        Expression::List(items) | Expression::Call(_, items) => {
            items.iter().for_each(|item| each(item, visit));
        }
        Expression::Map(entries) => entries.iter().for_each(|(key, value)| {
            each(key, visit);
            each(value, visit);
        }),
        Expression::Field(operand, _)
        | Expression::Has(operand, _)
        | Expression::Not(operand)
        | Expression::Negate(operand)
        | Expression::Matches(operand, _) => each(operand, visit),
        Expression::Index(left, right)
        | Expression::And(left, right)
        | Expression::Or(left, right)
        | Expression::Compare(_, left, right)
        | Expression::In(left, right)
        | Expression::Arithmetic(_, left, right) => {
            each(left, visit);
            each(right, visit);
        }
        Expression::Choose(parts) => parts.iter().for_each(|part| each(part, visit)),
        Expression::Macro(source) => {
            each(&source.range, visit);
            match &source.kind {
                MacroKind::All(test) | MacroKind::Exists(test) | MacroKind::ExistsOne(test) => {
                    each(test, visit)
                }
                MacroKind::Map(test, item) => {
                    test.iter().for_each(|test| each(test, visit));
                    each(item, visit);
                }
            }
        }
    }
}

/// Returns the value at a path within a value.
pub fn walk<'v>(value: &'v Value, steps: &[String]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| match value {
        Value::Object(entries) => entries.get(step),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}
