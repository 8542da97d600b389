//! What does not fit, in words: where in the input, what was expected, what was given.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

/// So many problems are told; whoever mends them is told the rest.
const TOLD: usize = 5;
/// How much of a value is shown.
const SHOWN: usize = 60;

/// How an input does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// `inputs.items[0].price: expected a number, given "ten"`
    pub problems: Vec<String>,
    /// How many more there are.
    pub untold: usize,
}

impl Misfit {
    pub(super) fn of<'a>(errors: impl Iterator<Item = ValidationError<'a>>) -> Self {
        let mut problems: Vec<String> = errors.map(|error| problem(&error)).collect();
        let untold = problems.len().saturating_sub(TOLD);
        problems.truncate(TOLD);
        Self { problems, untold }
    }

    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self { problems: vec![format!("inputs: expected JSON, given something else: {error}")], untold: 0 }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))?;
        match self.untold {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

fn problem(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    match error.kind() {
        // The place is that of the property, not of the object it belongs to.
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            format!("{}: expected a value, given nothing", shown_path(path, Some(name)))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let name = unexpected.first().map(String::as_str);
            format!("{}: expected no such property, given one", shown_path(path, name))
        }
        kind => {
            let given = shown_value(error.instance());
            format!("{}: expected {}, given {given}", shown_path(path, None), expected(kind))
        }
    }
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Type { kind: TypeKind::Single(wanted) } => with_article(&wanted.to_string()),
        Kind::Type { kind: TypeKind::Multiple(wanted) } => {
            wanted.iter().map(|one| with_article(&one.to_string())).collect::<Vec<_>>().join(" or ")
        }
        Kind::Enum { options } => match options.as_array() {
            Some(options) => {
                let options: Vec<String> = options.iter().map(shown_value).collect();
                format!("one of {}", options.join(", "))
            }
            None => format!("one of {}", shown_value(options)),
        },
        Kind::Constant { expected_value } => shown_value(expected_value),
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
        Kind::Pattern { pattern } => format!("a string that matches {pattern:?}"),
        Kind::UniqueItems => "items that are all different".to_owned(),
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

fn shown_value(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// A JSON pointer as programs write it.
fn shown_path(pointer: &str, last: Option<&str>) -> String {
    let mut text = "inputs".to_owned();
    for part in parts(pointer).iter().map(String::as_str).chain(last) {
        let plain = |c: char| c.is_alphanumeric() || c == '_';
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
            text.push_str(&format!("[{part}]"));
        } else if part.chars().all(plain) && !part.is_empty() {
            text.push_str(&format!(".{part}"));
        } else {
            text.push_str(&format!("[{part:?}]"));
        }
    }
    text
}

/// The parts of a JSON pointer.
pub(super) fn parts(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
}
