//! Compiles a text to a [`Graph`] and reports all errors in one pass. This file holds the order of the
//! passes; each file beneath it owns one part of the document or one kind of rule.

mod capabilities;
mod condition;
mod config;
mod cycle;
mod edges;
mod guards;
mod human;
mod keys;
mod mistaken;
mod names;
mod node;
mod policy;
mod report;
mod routing;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ir::{FORMAT, Graph, Metadata, Node, NodeIndex, OnConditionError};
use super::node_type::{NodeType, Registry};
use super::{codes, document};
pub use human::read_question;
use names::Names;
pub use node::HTTP_TASK;
use report::Report;
use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{Diagnostic, Severity};
use rhythm_syntax::line_index::Lines;
use rhythm_syntax::schema::Schema;
use rhythm_syntax::spanned_value::{Node as Tree, NodeKind as TreeKind};

/// Maximum number of nodes in a graph.
pub const NODE_LIMIT: usize = 10_000;

/// A language embedded in graphs that this crate cannot read itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `evaluate(output, context)` of a condition.
    Python,
    Jq,
}

/// Lookups that a compilation needs from its caller.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub registry: &'a Registry,
    /// Returns content by its reference, `cas://sha256:..`, or `None` when it is missing.
    pub content: &'a dyn Fn(&str) -> Option<Value>,
    /// Checks a program with a reader of its language. Fails with the reason the program cannot be read.
    pub programs: &'a dyn Fn(Language, &str) -> Result<(), String>,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Self { registry: Registry::built_in(), content: &|_| None, programs: &|_, _| Ok(()) }
    }
}

/// Result of compiling a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The graph, or `None` when any diagnostic is an error.
    pub graph: Option<Graph>,
    /// Diagnostics in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

impl Compiled {
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Compiles a graph. Returns the graph with its warnings, or no graph and every error found.
pub fn compile(source: &str, context: &Context<'_>) -> Compiled {
    let root = match document::read(source) {
        Ok(root) => root,
        Err(diagnostic) => return Compiled { graph: None, diagnostics: vec![diagnostic] },
    };
    let mut compiler = Compiler::new(source, context);
    let graph = compiler.graph(&root);
    let diagnostics = compiler.report.finish();
    let refused = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    Compiled { graph: graph.filter(|_| !refused), diagnostics }
}

/// Returns the paths of other files that a graph refers to, such as `./order.schema.json`, in the order of
/// the source.
pub fn file_references(source: &str) -> Vec<(String, Span)> {
    // Most graphs refer to no file.
    if !source.contains("_ref") {
        return Vec::new();
    }
    let context = Context::default();
    let Ok(root) = document::read(source) else { return Vec::new() };
    let mut compiler = Compiler::new(source, &context);
    compiler.graph(&root);
    compiler.files.into_iter().map(|(span, path)| (path, span)).collect()
}

/// Returns whether a reference is a path in a file system.
pub fn is_path(reference: &str) -> bool {
    reference.starts_with(['.', '/', '~']) || reference.starts_with("file:")
}

struct Compiler<'d, 'c> {
    context: &'c Context<'c>,
    lines: Lines<'d>,
    report: Report,
    names: Names<'d>,
    /// Config schemas of the types this graph uses; `None` for a type without a schema.
    schemas: BTreeMap<String, Option<Schema>>,
    /// Content that references were resolved to.
    contents: BTreeMap<String, Value>,
    /// Registered types that nodes use.
    types: BTreeMap<String, NodeType>,
    /// Paths of referenced files, with their place in the source.
    files: BTreeSet<(Span, String)>,
    /// Default for nodes that do not set `on_condition_error`.
    on_condition_error: OnConditionError,
    /// Nodes that have outgoing edges with conditions.
    routed_by_edges: BTreeSet<&'d str>,
    /// The node whose text is being read.
    owner: Option<NodeIndex>,
    suspects: Vec<guards::Suspects>,
}

/// A node under construction, with the parts of its source that later passes need.
struct Draft<'d> {
    node: Node,
    /// Span of its id.
    id: Span,
    tree: &'d Tree,
    /// The declared dependencies that exist.
    declared: Vec<(NodeIndex, Span)>,
    /// It declares dependencies, whether they exist or not.
    declares: bool,
    /// It has a list of dependents, which may be empty.
    lists_dependents: bool,
    wait_for_all: Option<bool>,
}

impl<'d, 'c> Compiler<'d, 'c> {
    fn new(source: &'d str, context: &'c Context<'c>) -> Self {
        Self {
            context,
            lines: Lines::of(source),
            report: Report::default(),
            names: Names::default(),
            schemas: BTreeMap::new(),
            contents: BTreeMap::new(),
            types: BTreeMap::new(),
            files: BTreeSet::new(),
            on_condition_error: OnConditionError::default(),
            routed_by_edges: BTreeSet::new(),
            owner: None,
            suspects: Vec::new(),
        }
    }

    fn graph(&mut self, root: &'d Tree) -> Option<Graph> {
        self.report.keys(root, keys::ROOT, "a graph");
        let trees = self.nodes(root)?;
        self.names = Names::of(trees, &mut self.report);
        let metadata = root.get("metadata").filter(|tree| !tree.is_null());
        let limits = self.limits(root);
        let inputs = self.inputs(root);
        let of_all = metadata.and_then(|metadata| self.on_condition_error(metadata));
        self.on_condition_error = of_all.unwrap_or_default();
        self.routed_by_edges = edges::with_conditions(root);
        let mut drafts: Vec<Draft<'d>> =
            trees.iter().enumerate().map(|(index, tree)| self.draft(index, tree)).collect();
        let edges = self.edges(root);
        let endless = metadata.and_then(|metadata| self.report.flag(metadata, "endless")).unwrap_or(false);
        edges::connect(&mut drafts, edges, endless, &mut self.report);
        let mut graph = Graph {
            format: FORMAT,
            metadata: self.metadata(metadata, root),
            limits,
            inputs,
            endless,
            nodes: Vec::new(),
            contents: std::mem::take(&mut self.contents),
            types: std::mem::take(&mut self.types),
        };
        shape::settle(&mut graph, drafts, &mut self.report);
        self.check_guards(&graph);
        Some(graph)
    }

    /// Returns the list of nodes. Without one there is nothing to check.
    fn nodes(&mut self, root: &'d Tree) -> Option<&'d [Tree]> {
        let nodes = root.get("nodes").filter(|nodes| !nodes.is_null());
        let trouble = match nodes.map(|nodes| (&nodes.kind, nodes.span)) {
            Some((TreeKind::List(trees), _)) if (1..=NODE_LIMIT).contains(&trees.len()) => {
                return Some(trees);
            }
            Some((TreeKind::List(trees), span)) if trees.len() > NODE_LIMIT => {
                let label = format!("{} nodes", trees.len());
                let start = Span::new(span.range().start, span.range().start);
                Diagnostic::new(codes::TOO_LARGE, start, label)
                    .helped(format!("at most {NODE_LIMIT} nodes: put some of them into workflows of their own, as `child` nodes"))
            }
            Some((TreeKind::List(_), span)) => Diagnostic::new(codes::EMPTY, span, "empty")
                .helped("write at least one, such as `{id: fetch, type: task}`"),
            Some((_, span)) => {
                let found = nodes.map_or("nothing", Tree::describe);
                Diagnostic::new(codes::FORM, span, found)
                    .titled("`nodes` is a list of nodes")
                    .helped("write for example `nodes: [{id: fetch, type: task}]`")
            }
            None => Diagnostic::new(codes::EMPTY, Span::new(0, 0), "`nodes` is missing")
                .helped("write for example `nodes: [{id: fetch, type: task}]`"),
        };
        self.report.say(trouble);
        None
    }

    /// Reads the metadata. A key in `metadata` takes precedence over the same key at the root.
    fn metadata(&mut self, metadata: Option<&'d Tree>, root: &'d Tree) -> Metadata {
        if let Some(metadata) = metadata {
            self.report.mapping(metadata, "metadata");
            self.report.keys(metadata, keys::METADATA, report::METADATA);
        }
        let holder = |key: &str| metadata.filter(|metadata| metadata.get(key).is_some()).unwrap_or(root);
        Metadata {
            name: self.report.text(holder("name"), "name").map(str::to_owned),
            description: self.report.text(holder("description"), "description").map(str::to_owned),
            version: self.report.version(holder("version")),
            tags: self.report.texts(holder("tags"), "tags"),
        }
    }

    fn inputs(&mut self, root: &'d Tree) -> Option<Value> {
        let tree = root.get("inputs").filter(|tree| !tree.is_null())?;
        let schema = tree.to_json();
        match Schema::compile(&schema) {
            Ok(_) => Some(schema),
            Err(misfit) => {
                let place = tree.follow(misfit.path.iter().map(String::as_str));
                self.report.say(
                    Diagnostic::new(codes::INPUTS, place.span, misfit.reason).helped(
                        "write for example `inputs: {type: object, required: [order_id]}`; it may only refer to its own parts",
                    ),
                );
                None
            }
        }
    }
}
