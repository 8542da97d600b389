//! A node's config: its place in the document, the checks against its type, and the task it names.

use std::borrow::Cow;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{Diagnostic, excerpt};
use rhythm_syntax::did_you_mean::closest;
use rhythm_syntax::schema::{Schema, TOLD};
use rhythm_syntax::spanned_value::{Entry, Node as Tree, NodeKind as TreeKind};
use serde_json::Value;

use super::node::takes_config;
use super::report::given;
use super::{Compiler, Language, is_path, keys};
use crate::codes;
use crate::ir::{Config, NodeKind};
use crate::machine::{impossible_delay, impossible_figures};
use crate::node_type::NodeType;

/// A config as the document gives it.
pub enum Found<'d> {
    /// The config. Content from a reference has one span for all of its parts.
    Here(Cow<'d, Tree>),
    Unresolved(String),
    Nowhere,
}

impl Found<'_> {
    pub fn tree(&self) -> Option<&Tree> {
        match self {
            Self::Here(tree) => Some(tree),
            Self::Unresolved(_) | Self::Nowhere => None,
        }
    }

    pub fn value(&self) -> Config {
        match self {
            Self::Here(tree) => Config::Inline(tree.to_json()),
            Self::Unresolved(reference) => Config::Unresolved(reference.clone()),
            Self::Nowhere => Config::default(),
        }
    }
}

impl<'d> Compiler<'d, '_> {
    /// Finds the config. An inline config takes precedence over a referenced one.
    pub(super) fn config(&mut self, node: &'d Tree) -> Found<'d> {
        if let Some(config) = given(node, "config") {
            return Found::Here(Cow::Borrowed(config));
        }
        let Some(holder) = given(node, "config_ref") else { return Found::Nowhere };
        let (reference, place) = match &holder.kind {
            TreeKind::Mapping(_) => {
                self.report.keys(holder, keys::CONFIG_REF, "`config_ref`");
                (self.report.text(holder, "cas_ref"), given(holder, "cas_ref").unwrap_or(holder).span)
            }
            _ => (self.report.text(node, "config_ref"), holder.span),
        };
        if let Some(path) = reference.filter(|reference| is_path(reference)) {
            self.files.insert((place, path.to_owned()));
        }
        match reference.map(|reference| (reference, self.content(reference, "config_ref", holder.span))) {
            None => Found::Nowhere,
            Some((_, Some(content))) => Found::Here(Cow::Owned(Tree::of(content, holder.span))),
            Some((reference, None)) => Found::Unresolved(full(reference)),
        }
    }

    /// Returns content by its reference. Reports a diagnostic when it is missing.
    pub(super) fn content(&mut self, reference: &str, key: &str, span: Span) -> Option<Value> {
        let reference = full(reference);
        let content = (self.context.content)(&reference);
        if let Some(content) = &content {
            self.contents.insert(reference, content.clone());
        } else if is_path(&reference) {
            let title = format!("the file `{}` is not there", excerpt(&reference));
            let help = "`rhythm workflows register` stores files within the folder of the graph's own file; a world opens no path";
            self.report.wrong(codes::FILE, span, format!("`{key}`"), title, help);
        } else {
            self.report.say(
                Diagnostic::new(codes::UNRESOLVED, span, format!("`{key}`"))
                    .titled(format!("`{}` is not there", excerpt(&reference)))
                    .helped("store it before a run needs it: a node without its config fails, a condition without its content is not met"),
            );
        }
        content
    }

    /// Returns the task's name: `config.task`, else `config.action`, else the `type_url` up to its `/`, else
    /// the id.
    pub(super) fn task_name(&mut self, node: &'d Tree, config: Option<&Tree>, id: &str) -> String {
        let named = |key: &str| {
            config.and_then(|config| config.get(key)).and_then(Tree::as_str).filter(|text| !text.is_empty())
        };
        if let Some(name) = named("task").or_else(|| named("action")) {
            return name.to_owned();
        }
        let url =
            node.get("config_ref").and_then(|holder| holder.get("type_url")).or_else(|| node.get("type_url"));
        let service = url.and_then(Tree::as_str).and_then(|url| url.split('/').next());
        service.filter(|name| !name.is_empty()).unwrap_or(id).to_owned()
    }

    /// Checks the config against the schema of the type. Unresolved content cannot be checked.
    pub(super) fn check_config(&mut self, kind: &NodeType, found: &Found<'_>, node: &Tree) {
        if matches!(found, Found::Unresolved(_))
            || given(node, "config").is_none() && kind.kind() == NodeKind::Human
        {
            return;
        }
        let schema = self
            .schemas
            .entry(kind.name.clone())
            .or_insert_with(|| kind.config_schema.as_ref().and_then(|schema| Schema::compile(schema).ok()));
        let Some(schema) = schema else { return };
        let empty = Tree { kind: TreeKind::Mapping(Vec::new()), span: start_of(node.span) };
        let tree = found.tree().unwrap_or(&empty);
        let is_read = matches!(kind.kind(), NodeKind::Human | NodeKind::Conditional | NodeKind::Loop);
        let config = if is_read { without_nulls(tree.to_json()) } else { tree.to_json() };
        for misfit in schema.misfits_but(&config, refers).into_iter().take(TOLD) {
            let place = tree.follow(misfit.path.iter().map(String::as_str));
            if is_read && self.report.refuses(place.span) {
                continue;
            }
            let span = if misfit.missing && place.span.range().len() > 60 {
                start_of(place.span)
            } else {
                place.span
            };
            let path = excerpt(&misfit.path.join("."));
            let title = match misfit.path.is_empty() {
                true => format!("the config does not fit the type `{}`", kind.name),
                false if misfit.missing => format!("the type `{}` needs `config.{path}`", kind.name),
                false => format!("`config.{path}` does not fit the type `{}`", kind.name),
            };
            let help = "`rhythm node-types show TYPE` has the schema of its config";
            self.report.wrong(codes::CONFIG, span, misfit.reason, title, help);
        }
    }

    /// Reports keys that are never read, for types whose schema lists all keys.
    pub(super) fn check_config_keys(&mut self, kind: &NodeType, found: &Found<'_>) {
        let further: &[&str] = match kind.kind() {
            NodeKind::Http => &["json"],
            NodeKind::Child => &["input"],
            NodeKind::Transform
            | NodeKind::Filter
            | NodeKind::Aggregate
            | NodeKind::Parallel
            | NodeKind::Delay
            | NodeKind::Signal => &[],
            // Handlers may read any key, and the configs of the other types are read key by key elsewhere.
            _ => return,
        };
        let hands_over = found.tree().is_some_and(|tree| takes_config(&kind.kind(), Some(tree), None));
        if hands_over {
            return;
        }
        let properties = kind.config_schema.as_ref().and_then(|schema| schema.get("properties"));
        let (Some(tree), Some(properties)) = (found.tree(), properties.and_then(Value::as_object)) else {
            return;
        };
        let known: Vec<&str> = properties.keys().map(String::as_str).chain(further.iter().copied()).collect();
        for Entry { key, key_span, .. } in tree.entries() {
            if known.contains(&key.as_str()) || key.starts_with("x-") || key.starts_with(['_', '$']) {
                continue;
            }
            let help = match closest(key, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("a `{}` has {}", kind.name, known.join(", ")),
            };
            let title = format!("the config of type `{}` has no key `{}`", kind.name, excerpt(key));
            self.report.wrong(codes::UNKNOWN_KEY, *key_span, "nobody reads this", title, &help);
        }
    }

    /// Checks values that a schema cannot check: delays, aggregations and jq programs.
    pub(super) fn check_words(&mut self, kind: &NodeType, found: &Found<'_>) {
        let Some(tree) = found.tree() else { return };
        let config = tree.to_json();
        let (wrong, help) = match kind.kind() {
            NodeKind::Delay => {
                (impossible_delay(&config), "write `for: 30s` or `until: \"2030-01-31T09:00:00Z\"`")
            }
            NodeKind::Aggregate => {
                (impossible_figures(&config), "write for example `compute: {total: \"sum:amount\"}`")
            }
            NodeKind::Transform => {
                let filter = config.get("jq").and_then(Value::as_str).filter(|text| !refers_in(text));
                let read = filter.map(|filter| (self.context.programs)(Language::Jq, filter));
                (
                    read.and_then(Result::err).map(|reason| ("jq", reason)),
                    "write for example `jq: \".items | length\"`",
                )
            }
            _ => return,
        };
        if let Some((key, reason)) = wrong {
            let title = format!("`config.{key}` does not fit the type `{}`", kind.name);
            self.report.wrong(codes::CONFIG, tree.follow([key]).span, reason, title, help);
        }
    }

    /// Reports each `$nodes.<id>` that names no node.
    pub(super) fn check_references(&mut self, tree: &Tree) {
        match &tree.kind {
            TreeKind::List(items) => items.iter().for_each(|item| self.check_references(item)),
            TreeKind::Mapping(entries) => {
                entries.iter().for_each(|entry| self.check_references(&entry.value))
            }
            TreeKind::Scalar(Value::String(text)) => {
                for (at, start) in text.match_indices("$nodes.") {
                    let rest = &text[at + start.len()..];
                    let end = rest
                        .find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
                        .unwrap_or(rest.len());
                    let name = &rest[..end];
                    if !name.is_empty() && self.names.find(name).is_none() {
                        let help = self.names.advice(name);
                        let title = format!("there is no node `{}`", excerpt(name));
                        self.report.wrong(codes::UNKNOWN_REFERENCE, tree.span, "refers to it", title, &help);
                    }
                }
            }
            TreeKind::Scalar(_) => {}
        }
    }
}

/// Removes null values. For types whose config is read key by key, null means absent.
fn without_nulls(mut config: Value) -> Value {
    if let Some(fields) = config.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    config
}

/// Returns whether a value contains a reference, which only a run can resolve.
fn refers(value: &Value) -> bool {
    value.as_str().is_some_and(refers_in)
}

fn refers_in(text: &str) -> bool {
    ["$nodes.", "$inputs", "$item"].iter().any(|start| text.starts_with(start)) || text.contains("${")
}

fn full(reference: &str) -> String {
    match reference.starts_with("sha256:") {
        true => format!("cas://{reference}"),
        false => reference.to_owned(),
    }
}

fn start_of(span: Span) -> Span {
    Span::new(span.range().start, span.range().start)
}
