//! Finds conditions that negate a field which may be missing. Such a condition cannot be evaluated and then
//! counts as not met.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;
use serde_json::Value;

use super::Compiler;
use crate::codes;
use crate::condition::{Condition, Origin, Suspect};
use crate::ir::{Graph, NodeIndex, OnConditionError};
use crate::patch::type_name;

/// The suspect fields of one condition.
pub struct Suspects {
    /// The node whose output the condition reads, or `None` when it reads something else.
    pub owner: Option<NodeIndex>,
    pub span: Span,
    pub found: Vec<Suspect>,
}

impl Compiler<'_, '_> {
    pub(super) fn suspect(&mut self, condition: &Condition, span: Span) {
        let found = condition.suspects();
        if !found.is_empty() {
            let owner = self.owner;
            self.suspects.push(Suspects { owner, span, found });
        }
    }

    /// Reports the suspects that no schema guarantees. Runs once all nodes and their types are known.
    pub(super) fn check_guards(&mut self, graph: &Graph) {
        for Suspects { owner, span, found } in std::mem::take(&mut self.suspects) {
            let is_told = |owner: NodeIndex| {
                graph.nodes.get(owner).is_some_and(|node| node.on_condition_error == OnConditionError::Fail)
            };
            if owner.is_some_and(is_told) {
                continue;
            }
            for Suspect { path, operator } in found {
                let schema = match &path.origin {
                    Origin::Inputs => graph.inputs.as_ref(),
                    Origin::Output => owner.and_then(|owner| self.output_of(graph, owner)),
                    Origin::Node(id) => graph.find(id).and_then(|node| self.output_of(graph, node)),
                };
                if schema.is_some_and(|schema| is_certain(schema, &path.steps)) || path.steps.is_empty() {
                    continue;
                }
                let label = format!("`{path}` may not be there");
                let help = format!(
                    "write `has({path}) && ..` or `!has({path}) || ..`, whichever is meant, or `on_condition_error: fail`"
                );
                let title =
                    format!("`{operator}` on a field that may be missing: the condition is not met then");
                self.report.say(Diagnostic::new(codes::UNGUARDED, span, label).titled(title).helped(help));
            }
        }
    }

    fn output_of(&self, graph: &Graph, node: NodeIndex) -> Option<&Value> {
        let kind = self.context.registry.find(type_name(&graph.nodes.get(node)?.kind))?;
        kind.output_schema.as_ref()
    }
}

/// Returns whether a schema requires every step of a path.
fn is_certain(schema: &Value, steps: &[String]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(step)));
    let inner = schema.get("properties").and_then(|properties| properties.get(step));
    is_required && (rest.is_empty() || inner.is_some_and(|inner| is_certain(inner, rest)))
}
