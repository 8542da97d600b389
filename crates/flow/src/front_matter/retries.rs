//! Reads the retry policy in front matter one field at a time, so that each mistake is reported at its
//! position.

use rhythm_core::retry::{PolicyError, RetryPolicy};
use rhythm_syntax::spanned_value::{Entry, Node, NodeKind};
use serde_json::{Map, Value};

use super::Reading;
use crate::option::{RETRIES, written};

impl Reading {
    /// Reads a number of attempts, or the fields of a policy.
    pub(super) fn retries(&mut self, node: &Node) -> Option<RetryPolicy> {
        let policy = match &node.kind {
            NodeKind::Scalar(number @ Value::Number(_)) => match serde_json::from_value(number.clone()) {
                Ok(policy) => policy,
                Err(_) => {
                    self.wrong(node.span, TITLE, "not a whole number of attempts", HELP);
                    return None;
                }
            },
            NodeKind::Mapping(entries) => self.policy(entries)?,
            _ => {
                self.wrong(node.span, TITLE, node.describe(), HELP);
                return None;
            }
        };
        if let Err(error) = policy.check() {
            let key = match error {
                PolicyError::MaxAttempts(_) => "max_attempts",
                PolicyError::Multiplier(_) => "multiplier",
                PolicyError::Jitter(_) => "jitter",
                PolicyError::MaxDelay { .. } => "max_delay",
            };
            let field = match &node.kind {
                NodeKind::Mapping(entries) => entries.iter().find(|entry| entry.key == key),
                _ => None,
            };
            let span = field.map_or(node.span, |entry| entry.value.span);
            self.wrong(span, "this retry policy cannot be used", &error.to_string(), HELP);
            return None;
        }
        Some(policy)
    }

    fn policy(&mut self, entries: &[Entry]) -> Option<RetryPolicy> {
        let mut fields = Map::new();
        let mut sound = true;
        for entry in entries {
            let Some(choice) = written(RETRIES, &entry.key) else {
                self.unknown(entry, &RETRIES.iter().map(|choice| choice.key).collect::<Vec<_>>());
                continue;
            };
            let value = match entry.value.to_json() {
                Value::Number(count) if entry.key != choice.key => Value::String(format!("{count}ms")),
                value => value,
            };
            let field = Map::from_iter([(choice.key.to_owned(), value)]);
            match serde_json::from_value::<RetryPolicy>(Value::Object(field.clone())) {
                Ok(_) => fields.extend(field),
                Err(error) => {
                    sound = false;
                    self.wrong(
                        entry.value.span,
                        &format!("`{}` cannot be this", entry.key),
                        &error.to_string(),
                        HELP,
                    );
                }
            }
        }
        if sound { serde_json::from_value(Value::Object(fields)).ok() } else { None }
    }
}

const TITLE: &str = "`retries` is a number of attempts or a retry policy";
const HELP: &str = "write for example `retries: 5` or `retries: { max_attempts: 5, backoff: exponential, initial_delay: 1s }`";
