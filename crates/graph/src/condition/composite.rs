//! AND, OR and NOT over other conditions. A member that decides the result does so even if others are not
//! evaluable. A sandbox is asked only when no other member decides.

use super::bounds::MAX_DEPTH;
use super::error::{ConditionError, ErrorKind};
use super::fields::{Fields, malformed};
use super::sandbox::Answers;
use super::{Condition, Scope, Verdict};

#[derive(Debug)]
pub(super) enum Composite {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

impl Composite {
    pub fn of(fields: &Fields<'_>, depth: usize, sandboxes: &mut u32) -> Result<Self, ConditionError> {
        if depth > MAX_DEPTH {
            let message = format!("conditions nest more than {MAX_DEPTH} deep");
            return Err(ConditionError::new(ErrorKind::TooLarge, "conditions", message));
        }
        let operator = fields.text("operator")?;
        let sources = fields.get("conditions").and_then(|value| value.as_array());
        let sources = sources.ok_or_else(|| malformed("conditions", "it is a list of conditions"))?;
        let mut members = Vec::with_capacity(sources.len());
        for (number, source) in sources.iter().enumerate() {
            let member = Condition::compile_at(source, depth + 1, sandboxes);
            members.push(member.map_err(|error| error.within(&format!("conditions[{number}]")))?);
        }
        match operator.to_ascii_uppercase().as_str() {
            _ if members.is_empty() => Err(malformed("conditions", "there is none")),
            "AND" => Ok(Self::All(members)),
            "OR" => Ok(Self::Any(members)),
            "NOT" => match <[Condition; 1]>::try_from(members) {
                Ok([only]) => Ok(Self::Not(Box::new(only))),
                Err(_) => Err(malformed("conditions", "NOT takes exactly one")),
            },
            _ => Err(malformed("operator", "write AND, OR or NOT")),
        }
    }

    pub fn members(&self) -> &[Condition] {
        match self {
            Self::All(members) | Self::Any(members) => members,
            Self::Not(member) => std::slice::from_ref(member),
        }
    }

    pub fn evaluate(&self, scope: &Scope<'_>, answers: &Answers) -> Verdict {
        match self {
            Self::All(members) => decide(members, scope, answers, Verdict::NotMet, Verdict::Met),
            Self::Any(members) => decide(members, scope, answers, Verdict::Met, Verdict::NotMet),
            Self::Not(member) => match member.evaluate(scope, answers) {
                Verdict::Met => Verdict::NotMet,
                Verdict::NotMet => Verdict::Met,
                undecided => undecided,
            },
        }
    }
}

/// Combines the members. An open sandbox question takes precedence over a not evaluable member, because its
/// answer may still decide.
fn decide(
    members: &[Condition],
    scope: &Scope<'_>,
    answers: &Answers,
    deciding: Verdict,
    otherwise: Verdict,
) -> Verdict {
    let (mut question, mut reason) = (None, None);
    for member in members {
        match member.evaluate(scope, answers) {
            verdict if verdict == deciding => return deciding,
            verdict @ Verdict::Ask(_) => question = question.or(Some(verdict)),
            verdict @ Verdict::NotEvaluable(_) => reason = reason.or(Some(verdict)),
            Verdict::Met | Verdict::NotMet => {}
        }
    }
    question.or(reason).unwrap_or(otherwise)
}
