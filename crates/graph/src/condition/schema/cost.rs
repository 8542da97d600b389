//! Cost of a schema: its size with every reference replaced by its target. A schema that refers to itself has
//! no such size and is refused, and so is one that doubles with every reference.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::bounds::{MAX_DEPTH, MAX_DOCUMENT, Size};
use super::super::error::{ConditionError, ErrorKind};
use super::super::regexes::Pattern;

/// Maximum number of parts of a schema with its references replaced.
const MAX_PARTS: u64 = 4_096;
/// Maximum nesting with its references replaced, because validators recurse.
const MAX_HEIGHT: usize = 128;
/// Maximum number of values in one schema, including items in `enum` and names in `required`.
const MAX_VALUES: u64 = 8_192;

/// Returns the number of parts that each value of an output may be checked against. Fails when the schema is
/// too large or unsupported.
pub(super) fn of(schema: &Value) -> Result<u64, ConditionError> {
    let size = Size::of(schema).map_err(|limit| too_large(limit.to_string()))?;
    if size.depth > MAX_DEPTH {
        return Err(too_large(format!("it nests more than {MAX_DEPTH} deep")));
    }
    if size.values > MAX_VALUES || schema.to_string().len() > MAX_DOCUMENT {
        return Err(too_large(format!("it is larger than {MAX_DOCUMENT} bytes or {MAX_VALUES} values")));
    }
    let mut counter = Counter { root: schema, known: BTreeMap::new(), depth: 0 };
    Ok(counter.part(schema)?.parts)
}

#[derive(Clone, Copy)]
struct Cost {
    parts: u64,
    /// Length of the longest path down.
    height: usize,
}

impl Cost {
    const LEAF: Self = Self { parts: 1, height: 1 };

    fn above(self, part: Self) -> Self {
        Self { parts: self.parts.saturating_add(part.parts), height: self.height.max(part.height + 1) }
    }
}

struct Counter<'a> {
    root: &'a Value,
    /// Costs by reference; `None` while a reference is being counted.
    known: BTreeMap<&'a str, Option<Cost>>,
    depth: usize,
}

impl<'a> Counter<'a> {
    /// Counts every object and list as a part, whatever keyword holds it. An upper bound need not know which
    /// ones are schemas.
    fn part(&mut self, schema: &'a Value) -> Result<Cost, ConditionError> {
        self.deeper(1)?;
        self.depth += 1;
        let cost = match schema {
            Value::Object(entries) => self.keywords(entries)?,
            Value::Array(items) => {
                items.iter().try_fold(Cost::LEAF, |cost, item| Ok(cost.above(self.part(item)?)))?
            }
            _ => Cost::LEAF,
        };
        self.depth -= 1;
        if cost.parts > MAX_PARTS {
            return Err(too_large(format!(
                "with its references replaced it has more than {MAX_PARTS} parts"
            )));
        }
        Ok(cost)
    }

    fn keywords(&mut self, entries: &'a Map<String, Value>) -> Result<Cost, ConditionError> {
        let mut total = Cost::LEAF;
        for (name, value) in entries {
            let cost = match (name.as_str(), value) {
                ("$ref", Value::String(reference)) => self.reference(reference)?,
                ("$dynamicRef" | "$recursiveRef", _) => {
                    return Err(unsupported(name, "references of this kind are not followed in conditions"));
                }
                ("$id" | "id" | "$schema", Value::String(_)) if self.moves(name, value) => {
                    return Err(unsupported(
                        name,
                        "a schema of a condition has no other address or language",
                    ));
                }
                ("pattern", Value::String(pattern)) => {
                    check_pattern(pattern)?;
                    Cost::LEAF
                }
                ("patternProperties", Value::Object(schemas)) => {
                    schemas.keys().try_for_each(|pattern| check_pattern(pattern))?;
                    self.named(schemas)?
                }
                ("properties" | "dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    self.named(schemas)?
                }
                // Definitions count where they are referred to, but an error in them is reported here.
                ("$defs" | "definitions", Value::Object(schemas)) => {
                    self.named(schemas)?;
                    Cost::LEAF
                }
                // These keywords hold data, not schemas.
                ("const" | "default" | "examples", _) => Cost::LEAF,
                ("enum", Value::Array(values)) => Cost { parts: 1 + values.len() as u64, height: 1 },
                _ => self.part(value)?,
            };
            total = total.above(cost);
        }
        // To find unevaluated members, a validator checks the rest a second time.
        if entries.contains_key("unevaluatedProperties") || entries.contains_key("unevaluatedItems") {
            total.parts = total.parts.saturating_mul(2);
        }
        Ok(total)
    }

    /// Counts schemas whose keys are names, not keywords.
    fn named(&mut self, schemas: &'a Map<String, Value>) -> Result<Cost, ConditionError> {
        schemas.values().try_fold(Cost::LEAF, |cost, schema| Ok(cost.above(self.part(schema)?)))
    }

    fn deeper(&self, levels: usize) -> Result<(), ConditionError> {
        if self.depth + levels > MAX_HEIGHT {
            return Err(too_large(format!(
                "with its references replaced it nests more than {MAX_HEIGHT} deep"
            )));
        }
        Ok(())
    }

    /// Returns whether a keyword changes the base address, which would change the meaning of `#`.
    fn moves(&self, name: &str, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        match name {
            "$schema" => !text.contains("json-schema.org/"),
            _ => !self.root.get(name).is_some_and(|own| std::ptr::eq(own, value)),
        }
    }

    fn reference(&mut self, reference: &'a str) -> Result<Cost, ConditionError> {
        let target = reference.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let Some(target) = target else {
            return Err(unsupported("$ref", "it leads out of the schema: write #/$defs/name"));
        };
        match self.known.get(reference) {
            Some(Some(cost)) => {
                let cost = *cost;
                return self.deeper(cost.height).map(|()| cost);
            }
            Some(None) => return Err(unsupported("$ref", "the schema refers to itself")),
            None => {}
        }
        let Some(schema) = self.root.pointer(target) else {
            let message = format!("{reference:?} leads to nothing");
            return Err(ConditionError::new(ErrorKind::Syntax, "schema.$ref", message));
        };
        self.known.insert(reference, None);
        let cost = self.part(schema)?;
        self.known.insert(reference, Some(cost));
        Ok(cost)
    }
}

fn check_pattern(pattern: &str) -> Result<(), ConditionError> {
    Pattern::compile(pattern).map(drop).map_err(|message| unsupported("pattern", &message))
}

fn too_large(message: String) -> ConditionError {
    ConditionError::new(ErrorKind::TooLarge, "schema", message)
}

fn unsupported(keyword: &str, message: &str) -> ConditionError {
    ConditionError::new(ErrorKind::Unsupported, format!("schema.{keyword}"), message)
}
