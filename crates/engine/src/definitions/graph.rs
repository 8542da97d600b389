//! Compiles graphs once, with the content they refer to, and loads them from the compiled form.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::{ProgramError, Version};
use rhythm_flow::Settings;
use rhythm_flow::check::Mention;
use rhythm_graph::ir::{Graph, NodeKind};
use rhythm_graph::{Compiled, Context, GraphProgram, Language, Registry, compile};
use rhythm_syntax::Span;
use serde_json::Value;

use super::{Defined, Refused};
use crate::world::Definition;

/// Referenced content by full name: `cas://sha256:..`.
pub type Content = BTreeMap<String, Value>;

/// Returns why a program inside a graph cannot be parsed.
pub type ReadProgram = fn(Language, &str) -> Result<(), String>;

/// Inputs of a graph's compilation besides its text.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub content: Content,
    pub registry: Registry,
    pub programs: ReadProgram,
    /// Accepts flows with calls that are sure to throw, as scenarios do.
    pub sure_to_throw: bool,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            content: Content::new(),
            registry: Registry::default(),
            programs: unread,
            sure_to_throw: false,
        }
    }
}

/// Accepts every program: without the languages, parsing is left to the processes that run them.
pub(crate) fn unread(_: Language, _: &str) -> Result<(), String> {
    Ok(())
}

/// `sha256:x` is `cas://sha256:x`.
pub fn full_reference(reference: &str) -> String {
    match reference.starts_with("sha256:") {
        true => format!("cas://{reference}"),
        false => reference.to_owned(),
    }
}

/// Everything a text refers to, whether it is there or not.
pub fn references(source: &str) -> BTreeSet<String> {
    let asked = RefCell::new(BTreeSet::new());
    let note = |reference: &str| {
        asked.borrow_mut().insert(reference.to_owned());
        None
    };
    compile(source, &Context { content: &note, ..Context::default() });
    asked.into_inner()
}

pub(super) fn define(plain: Definition, around: &Surroundings) -> Result<Defined, Refused> {
    let Compiled { graph, diagnostics } = compiled(&plain.source, around);
    let Some(graph) = graph else { return Err(Refused { diagnostics }) };
    let tasks =
        graph.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Task | NodeKind::Registered(_)));
    let mention = |name: String| Mention { name, span: Span::new(0, 0) };
    let tasks = tasks.filter_map(|node| node.task.clone()).map(mention).collect();
    let definition = Definition {
        workflow: graph.metadata.name.clone().unwrap_or(plain.workflow),
        version: version(&plain.source, &graph, around),
        compiled: serde_json::to_vec(&graph).unwrap_or_default(),
        format: graph.format,
        ..Definition { workflow: String::new(), ..plain }
    };
    let (settings, files) = (Settings::default(), Vec::new());
    Ok(Defined { definition, settings, remarks: diagnostics, tasks, files })
}

/// Returns the version of a graph. It covers missing content and the node types in use, because a version
/// never changes: the same text gets another version when content appears or a type changes.
fn version(source: &str, graph: &Graph, around: &Surroundings) -> Version {
    let mut text = source.to_owned();
    let missing = references(source).into_iter().filter(|reference| !around.content.contains_key(reference));
    for reference in missing {
        text.push_str(&format!("\nwithout {reference}"));
    }
    let mut types = BTreeSet::new();
    for node in &graph.nodes {
        let NodeKind::Registered(name) = &node.kind else { continue };
        if let Some(kind) = around.registry.find(name).filter(|_| types.insert(name)) {
            text.push_str(&format!("\nwith {}", serde_json::to_string(kind).unwrap_or_default()));
        }
    }
    Version::of(text.as_bytes())
}

/// Loads the program of a stored definition. Fails if this build cannot read it.
pub fn load(definition: &Definition) -> Result<GraphProgram, ProgramError> {
    GraphProgram::load(&definition.compiled, &definition.source, Registry::built_in())
}

fn compiled(source: &str, around: &Surroundings) -> Compiled {
    let look = |reference: &str| around.content.get(reference).cloned();
    compile(source, &Context { registry: &around.registry, content: &look, programs: &around.programs })
}
