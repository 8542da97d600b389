//! Conditions of branches, loops and filters: six types with one verdict.
//!
//! A condition is compiled once and evaluated often, against the values in a [`Scope`]. Every evaluation is
//! bounded beforehand or counts its work as it runs. A `python_sandbox` cannot be bounded here, so its call
//! is requested as data and answered from outside. Nothing reads a clock, a file or the order of a hash
//! table.

mod bounds;
mod cache;
mod cel;
mod compare;
mod composite;
mod cross_node;
mod error;
mod fields;
mod jsonpath;
mod paths;
mod regexes;
mod sandbox;
mod schema;
mod scope;
mod text;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub use cache::Conditions;
pub use error::{ConditionError, ErrorKind};
pub use paths::{Origin, Path, Suspect, written};
pub use sandbox::{Answer, Answers, SANDBOX_TASK, SandboxCall};
pub use scope::{Metadata, Past, Scope};

use composite::Composite;
use cross_node::CrossNode;
use fields::Fields;
use jsonpath::JsonPathCondition;
use sandbox::Sandbox;
use schema::SchemaCondition;

/// The compiled form of a condition.
#[derive(Debug)]
pub struct Condition(Kind);

#[derive(Debug)]
enum Kind {
    Cel(cel::Cel),
    JsonPath(JsonPathCondition),
    Schema(SchemaCondition),
    CrossNode(CrossNode),
    Composite(Composite),
    Sandbox(Sandbox),
}

/// Result of evaluating a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Met,
    NotMet,
    /// The condition counts as not met; the reason is written to the history.
    NotEvaluable(String),
    /// The answer of a sandbox is needed. Evaluate again with it.
    Ask(SandboxCall),
}

impl Verdict {
    fn of(met: bool) -> Self {
        if met { Self::Met } else { Self::NotMet }
    }
}

impl Condition {
    /// Checks a condition from a graph and prepares it for evaluation. References into the content store must
    /// have been replaced by their content; a remaining one makes the condition not evaluable. Fails when the
    /// condition is malformed, unsupported or too large.
    pub fn compile(source: &Value) -> Result<Self, ConditionError> {
        let mut sandboxes = 0;
        Self::compile_at(source, 1, &mut sandboxes)
    }

    fn compile_at(source: &Value, depth: usize, sandboxes: &mut u32) -> Result<Self, ConditionError> {
        let fields = Fields::of(source)?;
        let kind = match fields.text("type")? {
            "cel" => Kind::Cel(cel::Cel::of(&fields)?),
            "jsonpath" => Kind::JsonPath(JsonPathCondition::of(&fields)?),
            "schema_validation" => Kind::Schema(SchemaCondition::of(&fields)?),
            "cross_node_comparison" => Kind::CrossNode(CrossNode::of(&fields)?),
            "composite" => Kind::Composite(Composite::of(&fields, depth, sandboxes)?),
            "python_sandbox" => Kind::Sandbox(Sandbox::of(&fields, sandboxes)?),
            other => {
                return Err(ConditionError::new(
                    ErrorKind::Malformed,
                    "type",
                    format!(
                        "{other:?} is no type of condition: write cel, jsonpath, schema_validation, \
                         cross_node_comparison, composite or python_sandbox"
                    ),
                ));
            }
        };
        Ok(Self(kind))
    }

    /// Returns the programs of its sandboxes whose text is present.
    pub fn programs(&self) -> Vec<&str> {
        match &self.0 {
            Kind::Sandbox(sandbox) => sandbox.code().into_iter().collect(),
            Kind::Composite(composite) => composite.members().iter().flat_map(Self::programs).collect(),
            Kind::Cel(_) | Kind::JsonPath(_) | Kind::Schema(_) | Kind::CrossNode(_) => Vec::new(),
        }
    }

    /// Returns the fields it reads, as far as they are known before evaluation.
    fn paths(&self) -> Vec<Path> {
        match &self.0 {
            Kind::Cel(cel) => cel.paths(),
            Kind::CrossNode(comparison) => comparison.paths(),
            Kind::Composite(composite) => composite.members().iter().flat_map(Self::paths).collect(),
            Kind::JsonPath(_) | Kind::Schema(_) | Kind::Sandbox(_) => {
                vec![Path { origin: Origin::Output, steps: Vec::new() }]
            }
        }
    }

    /// Describes the fields it read and their values, for a condition that could not be evaluated.
    pub fn looked_at(&self, scope: &Scope<'_>) -> String {
        paths::told(&self.paths(), scope)
    }

    /// Returns the fields it negates without checking that they exist.
    pub fn suspects(&self) -> Vec<Suspect> {
        match &self.0 {
            Kind::Cel(cel) => cel.suspects(),
            Kind::CrossNode(comparison) => comparison.suspects(),
            Kind::Composite(composite) => composite.members().iter().flat_map(Self::suspects).collect(),
            Kind::JsonPath(_) | Kind::Schema(_) | Kind::Sandbox(_) => Vec::new(),
        }
    }

    /// Evaluates the condition against a scope and the sandbox answers so far. The same scope and answers
    /// always give the same verdict.
    pub fn evaluate(&self, scope: &Scope<'_>, answers: &Answers) -> Verdict {
        match &self.0 {
            Kind::Cel(cel) => cel.evaluate(scope),
            Kind::JsonPath(path) => path.evaluate(scope),
            Kind::Schema(schema) => schema.evaluate(scope),
            Kind::CrossNode(comparison) => comparison.evaluate(scope),
            Kind::Composite(composite) => composite.evaluate(scope, answers),
            Kind::Sandbox(sandbox) => sandbox.evaluate(scope, answers),
        }
    }
}
