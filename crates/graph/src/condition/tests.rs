//! Conditions as users write them, with their verdicts.

mod composites;
mod cross_nodes;
mod paths;
mod properties;
mod schemas;
mod seeds;

use rhythm_core::time::Timestamp;
use serde_json::{Value, json};

use super::*;

const COMPLETED: Metadata =
    Metadata { completed_at: Timestamp(1_794_774_600_123), duration_ms: 1_500, attempt: 2 };

/// Evaluates with earlier node outputs and without sandbox answers.
fn verdict_with(condition: &Value, output: &Value, past: &[(&str, Value)]) -> Verdict {
    let compiled = Condition::compile(condition).unwrap_or_else(|error| panic!("{condition}: {error}"));
    let context = past.iter().map(|(node, output)| (*node, Past { output, metadata: COMPLETED })).collect();
    compiled.evaluate(&Scope { output, context, inputs: &json!({"limit": 10}) }, &Answers::new())
}

fn verdict(condition: Value, output: Value) -> Verdict {
    verdict_with(&condition, &output, &[])
}

fn refused(condition: Value) -> ConditionError {
    match Condition::compile(&condition) {
        Ok(_) => panic!("{condition} compiles"),
        Err(error) => error,
    }
}

#[track_caller]
fn not_evaluable(verdict: Verdict, part: &str) {
    match verdict {
        Verdict::NotEvaluable(reason) => assert!(reason.contains(part), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_condition_says_so() {
    assert_eq!(refused(json!("x")).kind, ErrorKind::Malformed);
    assert_eq!(refused(json!({})).to_string(), "type: it is missing");
    assert!(refused(json!({"type": "javascript"})).message.contains("python_sandbox"));
    assert_eq!(refused(json!({"type": "cel", "expression": 1})).to_string(), "expression: it is a string");
}

#[test]
fn the_same_content_is_compiled_once() {
    let mut conditions = Conditions::default();
    let first = conditions.compile(&json!({"type": "cel", "expression": "output.a > 1"})).unwrap();
    let again = conditions.compile(&json!({"type": "cel", "expression": "output.a > 1"})).unwrap();
    conditions.compile(&json!({"type": "cel", "expression": "output.a > 2"})).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &again));
    assert_eq!(conditions.len(), 2);
    assert!(conditions.compile(&json!({"type": "cel", "expression": "("})).is_err());
}

#[test]
fn conditions_can_be_shared_between_threads() {
    fn shareable<T: Send + Sync>() {}
    shareable::<Condition>();
}
