//! Notes about scenarios that test less than they seem to: they use unknown names, or they expect nothing.

use std::collections::BTreeSet;

use rhythm_core::WorkflowKind;
use rhythm_graph::document;
use rhythm_syntax::{Diagnostic, Severity};
use serde_json::Value;

use crate::expectation::Expectation;
use crate::file::{Scenario, Subject};
use crate::script::ANY;

/// Returns notes about a scenario of a graph in which these nodes and tasks were seen.
pub fn about(scenario: &Scenario, known: &BTreeSet<String>) -> Vec<String> {
    let tasks = scenario.tasks.keys().filter(|name| *name != ANY).map(|name| ("tasks", name));
    let decisions = scenario.decisions.keys().map(|name| ("decisions", name));
    let patches = scenario.patches.iter().map(|patch| ("patches.after", &patch.after));
    let duplicate = scenario.duplicate.iter().map(|name| ("duplicate", name));
    let expected = expectations(scenario).flat_map(Expectation::names);
    let added: Vec<String> = scenario.patches.iter().flat_map(|patch| ids(&patch.operations)).collect();
    let mut notes: Vec<String> = Vec::new();
    for (key, name) in tasks.chain(decisions).chain(patches).chain(duplicate).chain(expected) {
        let note = format!("{key}: there is no node {name}");
        if !known.contains(name) && !added.contains(name) && !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Returns the compiler's warnings, located by document path in a graph and by line in a flow.
pub fn of_compiler(subject: &Subject, remarks: &[Diagnostic]) -> Vec<String> {
    let root = document::read(&subject.source).ok().filter(|_| subject.kind == WorkflowKind::Graph);
    let warnings =
        remarks.iter().filter(|remark| matches!(remark.severity, Severity::SureToThrow | Severity::Warning));
    let told = warnings.map(|warning| {
        let start = warning.span.range().start;
        let place = match &root {
            Some(root) => root.pointer(start),
            None => {
                let before = subject.source.get(..start).unwrap_or_default();
                format!("line {}", before.matches('\n').count() + 1)
            }
        };
        let Diagnostic { code, title, label, .. } = warning;
        format!("{}: {place}: {code}: {title}: {label}", subject.name)
    });
    told.collect()
}

/// Returns a note if the scenario expects nothing, so that it always passes.
pub fn expects_nothing(scenario: &Scenario) -> Option<String> {
    let nothing = expectations(scenario).next().is_none();
    nothing.then(|| "nothing is expected, so nothing can be wrong: write `expect`".to_owned())
}

/// Returns the ids of the nodes that patch operations would add.
fn ids(operations: &Value) -> Vec<String> {
    let inside: Vec<&Value> = match operations {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => return Vec::new(),
    };
    let own = ["id", "node_id"].into_iter().filter_map(|key| operations.get(key)?.as_str());
    own.map(str::to_owned).chain(inside.into_iter().flat_map(ids)).collect()
}

fn expectations(scenario: &Scenario) -> impl Iterator<Item = &Expectation> {
    scenario.expect.iter().chain(scenario.any_of.iter().flatten())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scenario(written: serde_json::Value) -> Scenario {
        serde_json::from_str(&written.to_string()).expect("a scenario")
    }

    #[test]
    fn names_of_nothing_are_told_once_each_and_those_a_patch_would_add_are_known() {
        let scenario = scenario(json!({
            "tasks": {"a": [{"ok": 1}], "tpyo": [{"ok": 1}], "*": [{"ok": 1}]},
            "decisions": {"manger": [{"decision": "approve"}]},
            "duplicate": ["b"],
            "patches": [{"after": "a", "operations": [{"op": "add", "path": "/nodes/-", "value": {"id": "new"}}]}],
            "any_of": [{"not_executed": ["new", "x"]}, {"not_executed": ["x"], "counts": {"a": 1}}],
        }));
        let known = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        let expected = [
            "tasks: there is no node tpyo",
            "decisions: there is no node manger",
            "not_executed: there is no node x",
        ];
        assert_eq!(about(&scenario, &known), expected);
        assert_eq!(expects_nothing(&scenario), None);
    }

    #[test]
    fn a_scenario_that_expects_nothing_is_told() {
        assert!(expects_nothing(&scenario(json!({"source": "return 1"}))).is_some());
    }
}
