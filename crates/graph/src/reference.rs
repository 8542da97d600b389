//! References in a config. A text that is a reference (`$nodes.fetch.items`, `$inputs.id`) becomes the value
//! it leads to. A reference inside a text (`order ${$inputs.id}`) becomes part of the text. The config of a
//! `parallel` node may also refer to `$item`.
//!
//! A path begins in the node's output. It may start with `output` when the node's output has no such key.

mod url;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use url::resolve_request;

/// Start of a reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Inputs,
    Node(String),
    /// The list item that a `parallel` node works on.
    Item,
}

/// Returns the entries of a config that refer to the item of a `parallel` node, and the other entries.
pub fn apart(config: &Value) -> (Map<String, Value>, Map<String, Value>) {
    let entries = config.as_object().cloned().unwrap_or_default();
    entries.into_iter().partition(|(key, value)| key != "items" && sources(value).contains(&Source::Item))
}

/// A reference without a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{reference}` leads to nothing: {reason}")]
pub struct Unresolvable {
    pub reference: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq)]
struct Reference<'a> {
    text: &'a str,
    source: Source,
    /// `None` when the text after the source is not a path: the reference then has no value.
    path: Option<Vec<&'a str>>,
}

/// Returns whether a config contains a reference.
pub fn refers(config: &Value) -> bool {
    !sources(config).is_empty()
}

/// Returns the sources of all references in a config.
pub fn sources(config: &Value) -> BTreeSet<Source> {
    let mut found = BTreeSet::new();
    each_text(config, &mut |text| {
        found.extend(Reference::read(text).map(|reference| reference.source));
        found.extend(Parts(text).filter_map(|(_, part)| part).map(|reference| reference.source));
    });
    found
}

/// Returns the config with every reference replaced. `look` returns the value of a source if there is one
/// yet. Fails at the first reference without a value.
pub fn resolve<'v>(
    config: &Value,
    look: &mut dyn FnMut(&Source) -> Option<&'v Value>,
) -> Result<Value, Unresolvable> {
    Ok(match config {
        Value::String(text) => resolve_text(text, look)?,
        Value::Array(items) => {
            let items: Result<Vec<Value>, _> = items.iter().map(|item| resolve(item, look)).collect();
            Value::Array(items?)
        }
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| Ok((key.clone(), resolve(value, look)?)));
            Value::Object(entries.collect::<Result<_, Unresolvable>>()?)
        }
        other => other.clone(),
    })
}

fn resolve_text<'v>(
    text: &str,
    look: &mut dyn FnMut(&Source) -> Option<&'v Value>,
) -> Result<Value, Unresolvable> {
    if let Some(reference) = Reference::read(text) {
        return reference.follow(look).cloned();
    }
    let mut whole = String::new();
    for (before, reference) in Parts(text) {
        whole.push_str(before);
        match reference.map(|reference| reference.follow(look)).transpose()? {
            Some(Value::String(part)) => whole.push_str(part),
            Some(other) => whole.push_str(&other.to_string()),
            None => {}
        }
    }
    Ok(Value::String(whole))
}

impl<'a> Reference<'a> {
    /// Parses a whole text as a reference. A text that only begins like one is plain text.
    fn read(text: &'a str) -> Option<Self> {
        let (source, rest) = if let Some(rest) = text.strip_prefix("$inputs") {
            (Source::Inputs, rest)
        } else if let Some(rest) = text.strip_prefix("$item") {
            (Source::Item, rest)
        } else {
            let rest = text.strip_prefix("$nodes.")?;
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (id, rest) = rest.split_at(end);
            if id.is_empty() || !is_name(id) {
                return None;
            }
            (Source::Node(id.to_owned()), rest)
        };
        let path = path_of(rest);
        let is_meant = rest.starts_with(['.', '[']) && !rest.contains(char::is_whitespace);
        (path.is_some() || is_meant).then_some(Self { text, source, path })
    }

    fn follow<'v>(
        &self,
        look: &mut dyn FnMut(&Source) -> Option<&'v Value>,
    ) -> Result<&'v Value, Unresolvable> {
        let nothing = |reason: String| Unresolvable { reference: self.text.to_owned(), reason };
        let Some(root) = look(&self.source) else {
            return Err(nothing(match &self.source {
                Source::Inputs => "the run has no inputs".to_owned(),
                Source::Node(id) => format!("node {id} has not run"),
                Source::Item => "only the config of a parallel node has items".to_owned(),
            }));
        };
        let Some(path) = &self.path else {
            return Err(nothing("write names and places, such as `.items[0].price`".to_owned()));
        };
        let (is_node, first) = (matches!(self.source, Source::Node(_)), path.first());
        let plain = walk(root, path);
        let found = match plain {
            Err(_) if is_node && first == Some(&"output") => walk(root, &path[1..]),
            plain => plain,
        };
        found.map_err(|missing| nothing(format!("there is no `{missing}`")))
    }
}

fn walk<'v, 'p>(root: &'v Value, path: &[&'p str]) -> Result<&'v Value, &'p str> {
    path.iter().try_fold(root, |value, step| {
        let next = match value {
            Value::Object(entries) => entries.get(*step),
            Value::Array(items) => step.parse::<usize>().ok().and_then(|place| items.get(place)),
            _ => None,
        };
        next.ok_or(*step)
    })
}

/// Parses a whole path such as `.a.b[0]["c d"]`.
fn path_of(mut rest: &str) -> Option<Vec<&str>> {
    let mut path = Vec::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(inner) = rest.strip_prefix("[\"") {
            inner.split_once("\"]")?
        } else if let Some(inner) = rest.strip_prefix('[') {
            inner.split_once(']').filter(|(step, _)| step.bytes().all(|byte| byte.is_ascii_digit()))?
        } else {
            let inner = rest.strip_prefix('.')?;
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            let (step, after) = inner.split_at(end);
            (Some(step).filter(|step| is_name(step))?, after)
        };
        if step.is_empty() {
            return None;
        }
        path.push(step);
        rest = after;
    }
    Some(path)
}

/// Returns whether a text can be a name between dots, so that a reference does not extend into the
/// surrounding text.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| !c.is_whitespace() && !matches!(c, '$' | '{' | '}' | '"' | '\'' | '(' | ')' | ','))
}

/// A text in pieces: the text before each `${reference}` with the reference, and last the text after them
/// all.
struct Parts<'a>(&'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = (&'a str, Option<Reference<'a>>);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        let mut from = 0;
        while let Some(begin) = text[from..].find("${").map(|place| from + place) {
            let inner = &text[begin + 2..];
            let end = inner.find('}');
            let read = |end: usize| Some((end, Reference::read(inner[..end].trim())?));
            if let Some((end, reference)) = end.and_then(read) {
                self.0 = &inner[end + 1..];
                return Some((&text[..begin], Some(reference)));
            }
            from = begin + 2;
        }
        self.0 = "";
        Some((text, None))
    }
}

fn each_text<'a>(value: &'a Value, see: &mut dyn FnMut(&'a str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Object(entries) => entries.values().for_each(|value| each_text(value, see)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolved(config: Value) -> Result<Value, String> {
        let inputs = json!({"id": 7, "names": ["ann", "bob"], "odd key": true});
        let fetch = json!({"items": [{"price": 1.5}], "none": null, "text": "so"});
        let wrapped = json!({"output": {"x": 1}});
        let mut look = |source: &Source| match source {
            Source::Inputs => Some(&inputs),
            Source::Node(id) if id == "fetch" => Some(&fetch),
            Source::Node(id) if id == "wrap-1" => Some(&wrapped),
            Source::Node(_) | Source::Item => None,
        };
        resolve(&config, &mut look).map_err(|error| error.to_string())
    }

    #[test]
    fn a_whole_text_becomes_the_value_with_its_type() {
        for (text, value) in [
            ("$inputs.id", json!(7)),
            ("$inputs", json!({"id": 7, "names": ["ann", "bob"], "odd key": true})),
            ("$inputs.names[1]", json!("bob")),
            ("$inputs.names.0", json!("ann")),
            ("$inputs[\"odd key\"]", json!(true)),
            ("$nodes.fetch.items[0].price", json!(1.5)),
            ("$nodes.fetch.output.items[0].price", json!(1.5)),
            ("$nodes.wrap-1.output.x", json!(1)),
            ("$nodes.wrap-1.output", json!({"x": 1})),
            ("$nodes.fetch.none", json!(null)),
        ] {
            assert_eq!(resolved(json!({"a": [text]})), Ok(json!({"a": [value]})), "{text}");
        }
    }

    #[test]
    fn inside_a_text_it_becomes_part_of_the_text() {
        let text = "order ${$inputs.id} for ${$inputs.names[0]}: ${$nodes.fetch.items} ${$nodes.fetch.none}!";
        assert_eq!(resolved(json!(text)), Ok(json!("order 7 for ann: [{\"price\":1.5}] null!")));
        assert_eq!(resolved(json!("${$inputs.id}")), Ok(json!("7")));
    }

    #[test]
    fn what_is_no_reference_stays_as_it_is() {
        for text in [
            "",
            "$",
            "$node.x",
            "$nodes",
            "$nodes.",
            "$inputs.a b",
            "cost: $5",
            "${x}",
            "${$x}",
            "${$inputs.id",
            "$inputsx",
        ] {
            assert_eq!(resolved(json!(text)), Ok(json!(text)), "{text}");
            assert!(!refers(&json!([text])), "{text}");
        }
    }

    #[test]
    fn one_that_leads_to_nothing_is_named() {
        for (text, message) in [
            ("$nodes.ghost.x", "`$nodes.ghost.x` leads to nothing: node ghost has not run"),
            ("$inputs.idd", "`$inputs.idd` leads to nothing: there is no `idd`"),
            (
                "see ${$nodes.fetch.items[3].price}",
                "`$nodes.fetch.items[3].price` leads to nothing: there is no `3`",
            ),
            ("$inputs.id.x", "`$inputs.id.x` leads to nothing: there is no `x`"),
        ] {
            assert_eq!(resolved(json!(text)), Err(message.to_owned()));
        }
    }

    #[test]
    fn what_begins_like_a_reference_and_is_no_path_leads_to_nothing() {
        for text in ["$nodes.fetch.items[-1]", "see ${$nodes.fetch.items[*]}", "$inputs.names[x]", "$inputs."]
        {
            let message = resolved(json!(text)).unwrap_err();
            assert!(message.contains("leads to nothing: write names and places"), "{message}");
        }
        assert_eq!(resolved(json!("for ${ $inputs.id }")), Ok(json!("for 7")));
    }

    #[test]
    fn sources_are_those_of_all_texts() {
        let config = json!({"a": "$nodes.x.y", "b": ["${$inputs.z} ${$nodes.w}", 5], "c": "plain"});
        let expected = [Source::Inputs, Source::Node("w".into()), Source::Node("x".into())];
        assert_eq!(sources(&config), BTreeSet::from(expected));
    }
}
