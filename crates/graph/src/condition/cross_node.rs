//! `cross_node_comparison`: compares the output of this node with that of another node, or with a value.

use serde_json::Value;

use super::bounds::{Fuel, MAX_DEPTH, Size, check_source};
use super::cel::Cel;
use super::compare::{Operator, Relation};
use super::error::{ConditionError, ErrorKind};
use super::fields::{Fields, malformed};
use super::paths::{self, Origin, Suspect};
use super::{Scope, Verdict};

#[derive(Debug)]
pub(super) enum CrossNode {
    Sides { left: Side, operator: Operator, right: Side },
    Expression(Cel),
}

#[derive(Debug)]
pub(super) enum Side {
    Value(Value),
    Current(Path),
    Context { node: String, path: Path },
}

impl CrossNode {
    pub fn of(fields: &Fields<'_>) -> Result<Self, ConditionError> {
        if fields.get("expression").is_some() {
            return Cel::comparison(fields).map(Self::Expression);
        }
        let operator = Operator::read("operator", fields.text("operator")?)?;
        Ok(Self::Sides { left: side(fields, "left")?, operator, right: side(fields, "right")? })
    }

    pub fn paths(&self) -> Vec<paths::Path> {
        match self {
            Self::Expression(cel) => cel.paths(),
            Self::Sides { left, right, .. } => [left, right].into_iter().filter_map(Side::path).collect(),
        }
    }

    pub fn suspects(&self) -> Vec<Suspect> {
        match self {
            Self::Expression(cel) => cel.suspects(),
            Self::Sides { operator: Operator::Relation(Relation::NotEqual), .. } => {
                self.paths().into_iter().map(|path| Suspect { path, operator: "!=" }).collect()
            }
            Self::Sides { .. } => Vec::new(),
        }
    }

    pub fn evaluate(&self, scope: &Scope<'_>) -> Verdict {
        let (left, operator, right) = match self {
            Self::Expression(cel) => return cel.evaluate(scope),
            Self::Sides { left, operator, right } => (left, operator, right),
        };
        // A missing value satisfies no comparison.
        let (Some(left), Some(right)) = (left.find(scope), right.find(scope)) else { return Verdict::NotMet };
        let mut size = Size::default();
        if let Err(limit) = size.add(&left).and_then(|()| size.add(&right)) {
            return Verdict::NotEvaluable(limit.to_string());
        }
        match operator.compare(&left, &right, &mut Fuel::default()) {
            Ok(met) => Verdict::of(met),
            Err(reason) => Verdict::NotEvaluable(reason.to_string()),
        }
    }
}

fn side(fields: &Fields<'_>, name: &str) -> Result<Side, ConditionError> {
    let source = fields.get(name).ok_or_else(|| malformed(name, "it is missing"))?;
    read_side(source).map_err(|error| error.within(name))
}

fn read_side(source: &Value) -> Result<Side, ConditionError> {
    // A bare value stands for itself.
    if matches!(source, Value::Number(_) | Value::Bool(_) | Value::String(_)) {
        return Ok(Side::Value(source.clone()));
    }
    let fields = Fields::of(source)?;
    if let Some(value) = fields.given("value") {
        Size::of(value)
            .map_err(|limit| ConditionError::new(ErrorKind::TooLarge, "value", limit.to_string()))?;
        return Ok(Side::Value(value.clone()));
    }
    let path = Path::parse(fields.optional_text("path")?.unwrap_or("output"))?;
    match fields.optional_text("source")? {
        Some("current") => Ok(Side::Current(path)),
        Some("context") => Ok(Side::Context { node: fields.text("node")?.to_owned(), path }),
        None if fields.get("node").is_some() => {
            Ok(Side::Context { node: fields.text("node")?.to_owned(), path })
        }
        Some(_) => Err(malformed("source", "write current or context, or give a `value`")),
        None => Err(malformed("source", "it is missing: write current or context, or give a `value`")),
    }
}

impl Side {
    fn path(&self) -> Option<paths::Path> {
        let (origin, path) = match self {
            Self::Value(_) => return None,
            Self::Current(path) => (Origin::Output, path),
            Self::Context { node, path } => (Origin::Node(node.clone()), path),
        };
        let step = |step: &Step| match step {
            Step::Name(name) => name.clone(),
            Step::Index(place) => place.to_string(),
        };
        (!path.metadata).then(|| paths::Path { origin, steps: path.steps.iter().map(step).collect() })
    }

    fn find<'a>(&'a self, scope: &'a Scope<'a>) -> Option<std::borrow::Cow<'a, Value>> {
        use std::borrow::Cow;
        match self {
            Self::Value(value) => Some(Cow::Borrowed(value)),
            Self::Current(path) if path.metadata => None,
            Self::Current(path) => path.find(scope.output).map(Cow::Borrowed),
            Self::Context { node, path } => {
                let past = scope.context.get(node.as_str())?;
                match path.metadata {
                    false => path.find(past.output).map(Cow::Borrowed),
                    true => {
                        let metadata = serde_json::to_value(past.metadata).ok()?;
                        path.find(&metadata).cloned().map(Cow::Owned)
                    }
                }
            }
        }
    }
}

/// A path such as `output.items[0].price`. A path that begins with neither `output` nor `metadata` is looked
/// up in the output.
#[derive(Debug)]
pub(super) struct Path {
    metadata: bool,
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Index(usize),
}

impl Path {
    fn parse(text: &str) -> Result<Self, ConditionError> {
        check_source("path", text)?;
        let wrong = || malformed("path", &format!("{text:?} is no path such as output.items[0].price"));
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        rest = rest.strip_prefix('.').unwrap_or(rest);
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let (index, after) = inner.split_once(']').ok_or_else(wrong)?;
                steps.push(bracketed(index).ok_or_else(wrong)?);
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                if end == 0 {
                    return Err(wrong());
                }
                steps.push(Step::Name(rest[..end].to_owned()));
                rest = &rest[end..];
            }
            match rest.strip_prefix('.') {
                Some("") => return Err(wrong()),
                Some(after) => rest = after,
                None if rest.is_empty() || rest.starts_with('[') => {}
                None => return Err(wrong()),
            }
        }
        if steps.len() > MAX_DEPTH {
            let message = format!("it has more than {MAX_DEPTH} parts");
            return Err(ConditionError::new(ErrorKind::TooLarge, "path", message));
        }
        let root = match steps.first() {
            Some(Step::Name(name)) if !text.starts_with('$') => name.clone(),
            _ => String::new(),
        };
        if matches!(root.as_str(), "output" | "metadata") {
            steps.remove(0);
        }
        Ok(Self { metadata: root == "metadata", steps })
    }

    fn find<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(root, |value, step| match step {
            // `items.1.price` means `items[1].price`.
            Step::Name(name) => match value {
                Value::Array(items) => items.get(name.parse::<usize>().ok()?),
                other => other.get(name),
            },
            Step::Index(index) => value.get(index),
        })
    }
}

fn bracketed(text: &str) -> Option<Step> {
    for quote in ['"', '\''] {
        if let Some(name) = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return Some(Step::Name(name.to_owned()));
        }
    }
    text.parse().ok().map(Step::Index)
}
