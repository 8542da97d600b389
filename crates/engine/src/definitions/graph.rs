//! Graphs: compiled once, with the content they refer to, and loaded from the compiled form.

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

/// What references lead to, by their full names: `cas://sha256:..`.
pub type Content = BTreeMap<String, Value>;

/// Says why a program inside of a graph cannot be read.
pub type ReadProgram = fn(Language, &str) -> Result<(), String>;

/// What a graph is compiled with besides its text.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub content: Content,
    pub registry: Registry,
    pub programs: ReadProgram,
    /// Takes flows with calls that are sure to throw, as scenarios do.
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

/// Whoever does not know the languages leaves programs to those who run them.
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

/// The same text is another version once content it lacked is there, or a type it uses has become another: a version
/// never changes.
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

/// The program of a stored definition.
pub fn load(definition: &Definition) -> Result<GraphProgram, ProgramError> {
    GraphProgram::load(&definition.compiled, &definition.source, Registry::built_in())
}

fn compiled(source: &str, around: &Surroundings) -> Compiled {
    let look = |reference: &str| around.content.get(reference).cloned();
    compile(source, &Context { registry: &around.registry, content: &look, programs: &around.programs })
}
