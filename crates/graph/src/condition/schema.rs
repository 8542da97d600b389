//! `schema_validation`: whether the output fits a JSON Schema. References stay inside the schema, and no
//! address is ever fetched. The cost of a schema is computed before it is compiled.

mod cost;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::bounds::{FUEL, Limit, Size};
use super::error::{ConditionError, ErrorKind};
use super::fields::{Fields, malformed};
use super::{Scope, Verdict};

/// Maximum bytes of a compiled pattern.
const PATTERN_SIZE: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct SchemaCondition {
    source: Source,
    invert: bool,
}

#[derive(Debug)]
enum Source {
    Compiled {
        validator: Box<Validator>,
        cost: u64,
    },
    /// A reference without content.
    Unknown(String),
}

impl SchemaCondition {
    pub fn of(fields: &Fields<'_>) -> Result<Self, ConditionError> {
        let invert = fields.flag("invert")?;
        let source = match (fields.get("schema"), fields.optional_text("schema_ref")?) {
            (Some(schema), _) => compile(schema)?,
            (None, Some(reference)) => Source::Unknown(reference.to_owned()),
            (None, None) => return Err(malformed("schema", "give `schema` or `schema_ref`")),
        };
        Ok(Self { source, invert })
    }

    pub fn evaluate(&self, scope: &Scope<'_>) -> Verdict {
        let (validator, cost) = match &self.source {
            Source::Compiled { validator, cost } => (validator, *cost),
            Source::Unknown(reference) => {
                return Verdict::NotEvaluable(format!("schema_ref {reference} leads to nothing"));
            }
        };
        let size = match Size::of(scope.output) {
            Ok(size) => size,
            Err(limit) => return Verdict::NotEvaluable(limit.to_string()),
        };
        if cost.saturating_mul(size.values) > FUEL {
            return Verdict::NotEvaluable(Limit::Work.to_string());
        }
        Verdict::of(validator.is_valid(scope.output) != self.invert)
    }
}

fn compile(schema: &Value) -> Result<Source, ConditionError> {
    let cost = cost::of(schema)?;
    let patterns = PatternOptions::regex().size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE);
    let built =
        jsonschema::options().with_pattern_options(patterns).should_validate_formats(false).build(schema);
    let validator = built.map_err(|error| {
        let place = error.instance_path().as_str().to_owned();
        ConditionError::new(ErrorKind::Syntax, format!("schema{place}"), shorten(&error.to_string()))
    })?;
    Ok(Source::Compiled { validator: Box::new(validator), cost })
}

/// Shortens a message of the library, which quotes the schema.
fn shorten(message: &str) -> String {
    const SHOWN: usize = 200;
    match message.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", &message[..end]),
        None => message.to_owned(),
    }
}
