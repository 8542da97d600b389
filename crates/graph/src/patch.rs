//! Patches: RFC 6902 operations on a graph's document, applied to a copy and compiled. The caller decides
//! whether to adopt the result. An agent's patch is checked against the agent's restrictions.

mod agent;
mod changes;
mod difference;
mod normal;
mod operations;
mod permission;
mod places;
mod undo;

use std::sync::Arc;

use serde_json::{Value, json};

use super::document::{DEPTH_LIMIT, SOURCE_LIMIT};
use super::ir::{Graph, NodeKind};
use super::node_type::Registry;
use super::{Context, Language, compile};

pub use agent::check_agent;
pub use changes::Changes;
pub use permission::check_permission;
pub use places::told;
pub use undo::undo;

/// Compiles a document derived from another one, with the types and content that the other graph uses. Fails
/// with the errors as text.
pub type Compiler = Arc<dyn Fn(&Value, &Graph) -> Result<Graph, String> + Send + Sync>;

/// Returns the default compiler, with the types of a registry.
pub fn compiler(registry: Registry) -> Compiler {
    compiler_that_reads(registry, |_, _| Ok(()))
}

/// Returns a compiler that also checks programs inside graphs. A run does not use it, because the patches a
/// run adopts must not depend on which languages a process can read.
pub fn compiler_that_reads(
    registry: Registry,
    programs: fn(Language, &str) -> Result<(), String>,
) -> Compiler {
    Arc::new(move |document, base| {
        let mut registry = registry.clone();
        for node in &base.nodes {
            let NodeKind::Registered(name) = &node.kind else { continue };
            if let Some(known) = base.types.get(name) {
                registry.add(known.clone()).map_err(|bad| bad.to_string())?;
            } else if registry.find(name).is_none() {
                let known = json!({"name": name, "queue": node.queue});
                let known = serde_json::from_value(known).map_err(|error| error.to_string())?;
                registry.add(known).map_err(|bad| bad.to_string())?;
            }
        }
        let content = |reference: &str| base.contents.get(reference).cloned();
        let context = Context { registry: &registry, content: &content, programs: &programs };
        let compiled = compile(&document.to_string(), &context);
        let wrong =
            compiled.errors().map(|error| format!("{}: {}: {}", error.code, error.title, error.label));
        let wrong: Vec<String> = wrong.collect();
        compiled.graph.ok_or_else(|| wrong.join("; "))
    })
}

/// Maximum number of operations in a patch, because each one may touch the whole document.
const MOST_OPERATIONS: usize = 256;

pub mod codes {
    pub const MALFORMED: &str = "malformed_patch";
    pub const INAPPLICABLE: &str = "inapplicable_patch";
    pub const INVALID_GRAPH: &str = "invalid_graph";
    pub const LIVE_NODE: &str = "live_node_removed";
    pub const JOIN: &str = "join_unreachable";
    pub const AGENTS: &str = "excessive_agent_nodes";
    pub const UNAUTHORIZED: &str = "unauthorized_patch";
    pub const REJECTED: &str = "patch_rejected";
    pub const TOO_LATE: &str = "run_is_ending";
}

/// Reason that a patch is not adopted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Refused {
    pub code: &'static str,
    pub message: String,
}

impl Refused {
    pub fn because<T>(code: &'static str, message: impl Into<String>) -> Result<T, Self> {
        Err(Self { code, message: message.into() })
    }
}

/// A document after a patch.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    pub document: Value,
    pub graph: Graph,
    /// Patch that restores the old document from the new one.
    pub inverse: Value,
}

/// Applies a patch to a copy and compiles it. Fails when an operation does not apply or the result does not
/// compile.
pub fn propose(
    (document, base): (&Value, &Graph),
    operations: &Value,
    compile: &Compiler,
) -> Result<Changed, Refused> {
    let changed = apply(document, operations)?;
    let graph = compile(&changed, base).map_err(|message| Refused { code: codes::INVALID_GRAPH, message })?;
    let inverse = diff(&changed, document);
    Ok(Changed { document: changed, graph, inverse })
}

/// Returns the document with all operations applied in order. Fails without effect when one of them does not
/// apply.
pub fn apply(document: &Value, operations: &Value) -> Result<Value, Refused> {
    let operations = operations::parse(operations)?;
    if operations.len() > MOST_OPERATIONS {
        let message = format!("it has {} operations, the limit is {MOST_OPERATIONS}", operations.len());
        return Refused::because(codes::MALFORMED, message);
    }
    let mut changed = normal::prepared(document.clone(), &operations);
    for (place, operation) in operations.into_iter().enumerate() {
        let name = operation.name();
        if let Err(reason) = operation.apply(&mut changed) {
            let message = format!("operation {} ({name}): {reason}", place + 1);
            return Refused::because(codes::INAPPLICABLE, message);
        }
        // Checked after each operation: a few copies of the document into itself would exceed any memory.
        if !is_moderate(&changed) {
            return Refused::because(codes::INAPPLICABLE, "the document would grow too large or too deep");
        }
    }
    Ok(changed)
}

/// Returns the patch that turns the first document into the second, exact to the order of keys.
pub fn diff(from: &Value, to: &Value) -> Value {
    Value::Array(difference::between(from, to))
}

pub fn type_name(kind: &NodeKind) -> &str {
    match kind {
        NodeKind::Task => "task",
        NodeKind::Http => "http",
        NodeKind::Agent => "agent",
        NodeKind::Human => "human",
        NodeKind::Transform => "transform",
        NodeKind::Filter => "filter",
        NodeKind::Aggregate => "aggregate",
        NodeKind::Conditional => "conditional",
        NodeKind::Loop => "loop",
        NodeKind::Parallel => "parallel",
        NodeKind::Child => "child",
        NodeKind::Delay => "delay",
        NodeKind::Signal => "signal",
        NodeKind::Registered(name) => name,
    }
}

/// Returns whether the document is within the limits of a text. Works without recursion.
fn is_moderate(document: &Value) -> bool {
    let (mut bytes, mut next) = (0, vec![(document, 1)]);
    while let Some((value, depth)) = next.pop() {
        bytes += match value {
            Value::String(text) => text.len() + 2,
            Value::Object(fields) => fields.keys().map(|key| key.len() + 4).sum(),
            _ => 4,
        };
        if depth > DEPTH_LIMIT || bytes > SOURCE_LIMIT {
            return false;
        }
        match value {
            Value::Array(items) => next.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => next.extend(fields.values().map(|field| (field, depth + 1))),
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests;
