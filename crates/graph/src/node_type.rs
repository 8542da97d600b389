//! The types a node can have: built in, or registered by workers. A type names its queue and the schemas of
//! its config, input and output. The machine implements the built-in types.

mod abilities;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rhythm_core::task::DEFAULT_QUEUE;
use rhythm_syntax::did_you_mean::closest;
use rhythm_syntax::schema::Schema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::ir::NodeKind;

/// A node type, in the form of `GET /api/v1/node-types` and of registration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeType {
    #[serde(alias = "type_name")]
    pub name: String,
    #[serde(default = "first_version")]
    pub version: String,
    /// Queue of its tasks.
    #[serde(default = "default_queue", alias = "worker_queue")]
    pub queue: String,
    #[serde(default)]
    pub display_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, alias = "icon_url", skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// Container image of its workers. This crate does not read it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worker_image: String,
    #[serde(default)]
    pub capabilities: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// References to schemas stored elsewhere. The caller that registers the type replaces them with the
    /// schemas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema_ref: Option<String>,
}

fn first_version() -> String {
    "v1".to_owned()
}

fn default_queue() -> String {
    DEFAULT_QUEUE.to_owned()
}

/// Reasons a type cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadType {
    #[error(
        "{0:?} is no name for a node type: use letters, digits, `_`, `-`, `.` and `/`, at most 128 of them"
    )]
    Name(String),
    #[error("`{0}` is built in: register the type under another name")]
    BuiltIn(String),
    #[error("the {which} of `{name}` is no JSON Schema: {reason}")]
    Schema { name: String, which: &'static str, reason: String },
    #[error(
        "the {which} of `{name}` is to be at {reference:?}, and that is not here: store it with `rhythm artifacts put`, or write the schema into the type"
    )]
    Unresolved { name: String, which: &'static str, reference: String },
    #[error("the capability `{key}` of `{name}` {reason}")]
    Capability { name: String, key: String, reason: String },
    #[error("the version of `{0}` is empty: write for example \"v1\"")]
    Version(String),
}

/// A schema slot of a type: its name, the schema, and the reference to a schema stored elsewhere.
pub type SchemaSlot<'a> = (&'static str, &'a mut Option<Value>, &'a mut Option<String>);

/// The types a graph may use. Built-in types are in every registry and cannot be replaced.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registry {
    further: BTreeMap<String, NodeType>,
}

static BUILT_IN: LazyLock<Vec<NodeType>> =
    LazyLock::new(|| serde_json::from_str(include_str!("node_type/built_in.json")).unwrap_or_default());

/// Synonyms of built-in types.
const SYNONYMS: [(&str, &str); 2] = [("function", "task"), ("hitl", "human")];

impl Registry {
    /// Returns the registry with the built-in types only.
    pub fn built_in() -> &'static Self {
        static EMPTY: Registry = Registry { further: BTreeMap::new() };
        &EMPTY
    }

    /// Adds a type, or replaces one added before. Fails when its name, version, schemas or capabilities are
    /// not valid.
    pub fn add(&mut self, kind: NodeType) -> Result<(), BadType> {
        let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        if kind.name.is_empty() || kind.name.chars().count() > 128 || !kind.name.chars().all(letter) {
            return Err(BadType::Name(kind.name));
        }
        if built_in(&kind.name).is_some() {
            return Err(BadType::BuiltIn(kind.name));
        }
        if kind.version.trim().is_empty() {
            return Err(BadType::Version(kind.name));
        }
        let (mut kind, name) = (kind.clone(), kind.name);
        for (which, schema, reference) in kind.schema_slots() {
            let name = name.clone();
            if let (None, Some(reference)) = (&schema, &reference) {
                return Err(BadType::Unresolved { name, which, reference: reference.clone() });
            }
            if let Some(Err(reason)) = schema.as_ref().map(Schema::compile) {
                return Err(BadType::Schema { name, which, reason: reason.to_string() });
            }
        }
        kind.check_capabilities()?;
        self.further.insert(kind.name.clone(), kind);
        Ok(())
    }

    pub fn find(&self, name: &str) -> Option<&NodeType> {
        built_in(name).or_else(|| self.further.get(name))
    }

    /// Returns the registered types by name, without the built-in ones.
    pub fn registered(&self) -> impl Iterator<Item = &NodeType> {
        self.further.values()
    }

    /// Returns the built-in types, then the registered ones by name.
    pub fn all(&self) -> impl Iterator<Item = &NodeType> {
        BUILT_IN.iter().chain(self.further.values())
    }

    /// Returns the known name closest to an unknown one.
    pub fn closest(&self, name: &str) -> Option<&str> {
        let synonyms = SYNONYMS.iter().map(|(synonym, _)| *synonym);
        closest(name, self.all().map(|kind| kind.name.as_str()).chain(synonyms))
    }
}

fn built_in(name: &str) -> Option<&'static NodeType> {
    let name = SYNONYMS.iter().find(|(synonym, _)| *synonym == name).map_or(name, |(_, name)| name);
    BUILT_IN.iter().find(|kind| kind.name == name)
}

impl NodeType {
    pub fn schema_slots(&mut self) -> [SchemaSlot<'_>; 3] {
        [
            ("config schema", &mut self.config_schema, &mut self.config_schema_ref),
            ("input schema", &mut self.input_schema, &mut self.input_schema_ref),
            ("output schema", &mut self.output_schema, &mut self.output_schema_ref),
        ]
    }

    /// Returns the node kind of the intermediate form.
    pub fn kind(&self) -> NodeKind {
        match self.name.as_str() {
            "task" => NodeKind::Task,
            "http" => NodeKind::Http,
            "agent" => NodeKind::Agent,
            "human" => NodeKind::Human,
            "transform" => NodeKind::Transform,
            "filter" => NodeKind::Filter,
            "aggregate" => NodeKind::Aggregate,
            "conditional" => NodeKind::Conditional,
            "loop" => NodeKind::Loop,
            "parallel" => NodeKind::Parallel,
            "child" => NodeKind::Child,
            "delay" => NodeKind::Delay,
            "signal" => NodeKind::Signal,
            _ => NodeKind::Registered(self.name.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scorer(schema: Value) -> NodeType {
        serde_json::from_value(json!({"name": "scorer", "queue": "models", "config_schema": schema})).unwrap()
    }

    #[test]
    fn every_built_in_type_can_be_found_shown_and_checked() {
        let names: Vec<&str> = Registry::built_in().all().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names.len(), 13);
        for kind in Registry::built_in().all() {
            assert!(!matches!(kind.kind(), NodeKind::Registered(_)), "{}", kind.name);
            let config = kind.config_schema.as_ref().unwrap();
            assert!(config.get("properties").is_some(), "{} says what its config may hold", kind.name);
            for schema in [Some(config), kind.input_schema.as_ref(), kind.output_schema.as_ref()] {
                assert!(Schema::compile(schema.unwrap()).is_ok(), "{}", kind.name);
            }
            assert!(!kind.display_name.is_empty() && !kind.description.is_empty() && !kind.icon.is_empty());
            assert_eq!(kind.queue, DEFAULT_QUEUE);
        }
        assert_eq!(Registry::built_in().find("function").unwrap().kind(), NodeKind::Task);
        assert_eq!(Registry::built_in().find("hitl").unwrap().kind(), NodeKind::Human);
    }

    #[test]
    fn a_registered_type_keeps_its_name_and_queue() {
        let mut registry = Registry::default();
        registry.add(scorer(json!({"type": "object"}))).unwrap();
        let found = registry.find("scorer").unwrap();
        assert_eq!((found.kind(), found.queue.as_str()), (NodeKind::Registered("scorer".into()), "models"));
        assert_eq!(registry.closest("scorrer"), Some("scorer"));
        assert_eq!(registry.closest("functoin"), Some("function"));
        assert_eq!(Registry::built_in().find("scorer"), None);
    }

    #[test]
    fn a_type_may_be_written_as_the_registry_has_it() {
        let kind: NodeType = serde_json::from_value(json!({
            "type_name": "scorer", "version": "v2", "worker_queue": "wf.scorer.stream", "worker_image": "scorer:2",
            "icon_url": "scorer.svg", "display_name": "Scorer", "input_schema_ref": "cas://sha256:aa",
        }))
        .unwrap();
        let read = (kind.name.as_str(), kind.version.as_str(), kind.queue.as_str(), kind.icon.as_str());
        assert_eq!(read, ("scorer", "v2", "wf.scorer.stream", "scorer.svg"));
        assert_eq!(kind.worker_image, "scorer:2");
        assert_eq!(scorer(json!({})).version, "v1");
        let refused = Registry::default().add(kind.clone()).unwrap_err().to_string();
        assert!(
            refused.contains("the input schema of `scorer` is to be at \"cas://sha256:aa\""),
            "{refused}"
        );
        let found = NodeType { input_schema: Some(json!({"type": "object"})), ..kind };
        Registry::default().add(found).unwrap();
        let refused = Registry::default().add(NodeType { version: " ".into(), ..scorer(json!({})) });
        assert_eq!(refused, Err(BadType::Version("scorer".into())));
    }

    #[test]
    fn what_is_no_type_is_not_registered() {
        let mut registry = Registry::default();
        let refused = registry.add(NodeType { name: "a b".into(), ..scorer(json!({})) }).unwrap_err();
        assert!(refused.to_string().starts_with("\"a b\" is no name"), "{refused}");
        let refused = registry.add(NodeType { name: "hitl".into(), ..scorer(json!({})) }).unwrap_err();
        assert_eq!(refused, BadType::BuiltIn("hitl".into()));
        let refused = registry.add(scorer(json!({"type": 7}))).unwrap_err();
        assert!(refused.to_string().contains("the config schema of `scorer` is no JSON Schema"), "{refused}");
        assert_eq!(registry, Registry::default());
    }
}
