//! JSON Schemas for configs of nodes and inputs of runs, with mismatches described in words. A schema may
//! refer only to its own parts, and its patterns match in linear time.

use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// Largest number of mismatches to show for one value; the others appear once these are fixed.
pub const TOLD: usize = 5;
/// Longest value in a message, in characters.
const SHOWN: usize = 60;

#[derive(Debug)]
pub struct Schema(Validator);

/// A value that does not match its schema, or a schema that is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Keys and list indexes, from the outside in.
    pub path: Vec<String>,
    pub reason: String,
    /// Whether the value at this path is required and missing.
    pub missing: bool,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.reason),
            false => write!(f, "{}: {}", self.path.join("."), self.reason),
        }
    }
}

impl Schema {
    pub fn compile(schema: &Value) -> Result<Self, Misfit> {
        let built = jsonschema::options().with_pattern_options(PatternOptions::regex()).build(schema);
        built.map(Self).map_err(|error| Misfit {
            path: parts(error.instance_path().as_str()),
            reason: error.to_string(),
            missing: false,
        })
    }

    /// Returns the parts of the value that do not match.
    pub fn misfits(&self, value: &Value) -> Vec<Misfit> {
        self.misfits_but(value, |_| false)
    }

    /// Returns the parts that do not match, except `open` values, which are known only in a run.
    pub fn misfits_but(&self, value: &Value, open: fn(&Value) -> bool) -> Vec<Misfit> {
        if self.0.is_valid(value) {
            return Vec::new();
        }
        self.0.iter_errors(value).filter(|error| counts(error, open)).map(|error| misfit(&error)).collect()
    }
}

/// A missing or unknown key is a mismatch whatever the values are.
fn counts(error: &ValidationError<'_>, open: fn(&Value) -> bool) -> bool {
    match error.kind() {
        Kind::Required { .. } | Kind::AdditionalProperties { .. } | Kind::AnyOf { .. } => true,
        _ => !open(error.instance()),
    }
}

fn misfit(error: &ValidationError<'_>) -> Misfit {
    let mut path = parts(error.instance_path().as_str());
    let (reason, key) = match error.kind() {
        Kind::Required { property } => ("is missing".to_owned(), property.as_str()),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            ("is not known".to_owned(), unexpected.first().map(String::as_str))
        }
        Kind::AnyOf { context } if keys_of(context).is_some() => {
            (format!("needs {}", keys_of(context).unwrap_or_default()), None)
        }
        kind => (format!("expected {}, given {}", expected(kind), shown(error.instance())), None),
    };
    path.extend(key.map(str::to_owned));
    let missing = matches!(error.kind(), Kind::Required { .. });
    Misfit { path, reason, missing }
}

/// Returns the missing keys of the alternatives, if each alternative lacks exactly one key and nothing else.
fn keys_of(context: &[Vec<ValidationError<'_>>]) -> Option<String> {
    let key = |errors: &Vec<ValidationError<'_>>| match errors.as_slice() {
        [error] => match error.kind() {
            Kind::Required { property } => property.as_str().map(|key| format!("`{key}`")),
            _ => None,
        },
        _ => None,
    };
    context.iter().map(key).collect::<Option<Vec<_>>>().map(|keys| keys.join(" or "))
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind: TypeKind::Single(wanted) } => with_article(&wanted.to_string()),
        Kind::Type { kind: TypeKind::Multiple(wanted) } => {
            wanted.iter().map(|one| with_article(&one.to_string())).collect::<Vec<_>>().join(" or ")
        }
        Kind::Enum { options } => match options.as_array() {
            Some(options) => format!("one of {}", options.iter().map(shown).collect::<Vec<_>>().join(", ")),
            None => format!("one of {}", shown(options)),
        },
        Kind::Constant { expected_value } => shown(expected_value),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MinLength { limit } => format!("at least {limit} characters"),
        Kind::MaxLength { limit } => format!("at most {limit} characters"),
        Kind::MinItems { limit } => format!("at least {limit} items"),
        Kind::MaxItems { limit } => format!("at most {limit} items"),
        Kind::MinProperties { limit } => format!("at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("at most {limit} properties"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::UniqueItems => "items that are all different".to_owned(),
        Kind::Pattern { pattern } => format!("a string that matches {pattern:?}"),
        other => format!("what `{}` of the schema says", other.keyword()),
    }
}

fn with_article(word: &str) -> String {
    match word {
        "null" => "null".to_owned(),
        "array" => "a list".to_owned(),
        "object" | "integer" => format!("an {word}"),
        other => format!("a {other}"),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// Splits a JSON pointer into its parts.
fn parts(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
}
