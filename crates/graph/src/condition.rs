//! Conditions of branches, loops and filters: six types, one verdict.
//!
//! A condition is compiled once and evaluated often, against what a node gave ([`Scope`]). Whatever runs here is
//! bounded before it begins or counts as it goes; what cannot be (`python_sandbox`) is asked for as data and answered
//! from outside. Nothing reads a clock, a file or the order of a hash table.

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

/// What a condition comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Met,
    NotMet,
    /// It counts as not met; the reason belongs into the history.
    NotEvaluable(String),
    /// The answer of a sandbox is needed. With it, evaluate again.
    Ask(SandboxCall),
}

impl Verdict {
    fn of(met: bool) -> Self {
        if met { Self::Met } else { Self::NotMet }
    }
}

impl Condition {
    /// Checks a condition as a graph holds it and prepares it for evaluation. References into the content store must
    /// have been replaced by what they refer to; one that has not makes the condition not evaluable.
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

    /// The texts of its sandboxes, as far as they are there.
    pub fn programs(&self) -> Vec<&str> {
        match &self.0 {
            Kind::Sandbox(sandbox) => sandbox.code().into_iter().collect(),
            Kind::Composite(composite) => composite.members().iter().flat_map(Self::programs).collect(),
            Kind::Cel(_) | Kind::JsonPath(_) | Kind::Schema(_) | Kind::CrossNode(_) => Vec::new(),
        }
    }

    /// The fields it looks at, as far as they can be read off.
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

    /// What it looked at when it could not be evaluated, and what was there.
    pub fn looked_at(&self, scope: &Scope<'_>) -> String {
        paths::told(&self.paths(), scope)
    }

    /// Fields it denies without asking whether they are there.
    pub fn suspects(&self) -> Vec<Suspect> {
        match &self.0 {
            Kind::Cel(cel) => cel.suspects(),
            Kind::CrossNode(comparison) => comparison.suspects(),
            Kind::Composite(composite) => composite.members().iter().flat_map(Self::suspects).collect(),
            Kind::JsonPath(_) | Kind::Schema(_) | Kind::Sandbox(_) => Vec::new(),
        }
    }

    /// Evaluates against a scope, with what sandboxes have answered so far. The same scope and answers always give the
    /// same verdict.
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
