//! Conditions as they are kept: content put inline, and seen to compile.

use serde_json::{Map, Value, json};

use super::Compiler;
use crate::document::{Entry, Node as Tree, NodeKind as TreeKind};
use crate::flow::diagnostic::Diagnostic;
use crate::flow::similar::closest;
use crate::graph::codes;

const TYPES: [&str; 6] =
    ["cel", "jsonpath", "schema_validation", "cross_node_comparison", "composite", "python_sandbox"];

impl Compiler<'_, '_> {
    /// A bare text is CEL.
    pub(super) fn condition(&mut self, tree: &Tree) -> Value {
        let condition = match tree.as_str() {
            Some(expression) => json!({"type": "cel", "expression": expression}),
            None => self.with_content(tree),
        };
        if let Err(reason) = check_condition(&condition) {
            self.report.say(
                Diagnostic::new(codes::CONDITION, tree.span, reason)
                    .helped("write for example `{type: cel, expression: \"output.score >= 80\"}`"),
            );
        }
        condition
    }

    /// Puts `schema_ref` and `code_ref` inline as far as they are there, in conditions within conditions too.
    fn with_content(&mut self, tree: &Tree) -> Value {
        let TreeKind::Mapping(entries) = &tree.kind else { return tree.to_json() };
        let mut kept = Map::new();
        for Entry { key, value, .. } in entries {
            let name = match (key.as_str(), &value.kind) {
                ("schema_ref", _) => "schema",
                ("code_ref", _) => "code",
                ("conditions", TreeKind::List(items)) => {
                    kept.insert(key.clone(), items.iter().map(|item| self.with_content(item)).collect());
                    continue;
                }
                _ => {
                    kept.insert(key.clone(), value.to_json());
                    continue;
                }
            };
            match value.as_str().and_then(|reference| self.content(reference, key, value.span)) {
                Some(content) => kept.insert(name.to_owned(), content),
                None => kept.insert(key.clone(), value.to_json()),
            };
        }
        Value::Object(kept)
    }
}

/// Whether a condition can be used, or why not.
fn check_condition(condition: &Value) -> Result<(), String> {
    let Value::Object(fields) = condition else {
        return Err("a condition is a mapping with a `type`".to_owned());
    };
    let Some(kind) = fields.get("type").and_then(Value::as_str) else {
        return Err(format!("a condition has a `type`: {}", TYPES.join(", ")));
    };
    if !TYPES.contains(&kind) {
        return Err(match closest(kind, TYPES) {
            Some(meant) => format!("there is no condition type `{kind}`: did you mean `{meant}`?"),
            None => format!("there is no condition type `{kind}`: the types are {}", TYPES.join(", ")),
        });
    }
    let one_of =
        |keys: &[&str]| match keys.iter().any(|key| fields.get(*key).is_some_and(|value| !value.is_null())) {
            true => Ok(()),
            false => Err(format!("a condition of type `{kind}` needs `{}`", keys.join("` or `"))),
        };
    match kind {
        "cel" => one_of(&["expression"]),
        "jsonpath" => one_of(&["query"]).and(one_of(&["operator"])),
        "schema_validation" => one_of(&["schema", "schema_ref"]),
        "cross_node_comparison" => one_of(&["left", "expression"]),
        "python_sandbox" => one_of(&["code", "code_ref"]),
        _ => match fields.get("conditions").and_then(Value::as_array) {
            Some(inner) if !inner.is_empty() => inner.iter().try_for_each(check_condition),
            _ => Err("a composite condition needs `conditions`, a list of at least one".to_owned()),
        },
    }
}
