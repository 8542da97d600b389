//! Node ids: checks their form, finds duplicates, resolves names, and suggests the id that an unknown name
//! may mean.

use std::collections::BTreeMap;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{Diagnostic, excerpt};
use rhythm_syntax::did_you_mean::closest;
use rhythm_syntax::spanned_value::{Node as Tree, NodeKind as TreeKind};

use super::Compiler;
use super::report::{Report, given};
use crate::codes;
use crate::ir::NodeIndex;

/// Maximum length of an id in characters.
const LONGEST: usize = 128;
/// Suggestions cost time: only the first 1,000 ids are candidates, and only the first 50 unknown names get
/// one.
const CANDIDATES: usize = 1000;
const SUGGESTIONS: usize = 50;

#[derive(Default)]
pub struct Names<'d> {
    /// The id of each node, or `None` for a node without a valid one.
    ids: Vec<Option<&'d str>>,
    indices: BTreeMap<&'d str, NodeIndex>,
    suggested: usize,
}

impl<'d> Names<'d> {
    pub fn of(trees: &'d [Tree], report: &mut Report) -> Self {
        let mut names = Self::default();
        for (index, tree) in trees.iter().enumerate() {
            let id = id(tree, report);
            if let Some((id, span)) = id {
                if names.indices.contains_key(id) {
                    report.say(
                        Diagnostic::new(codes::DUPLICATE_ID, span, "the second one")
                            .titled(format!("two nodes have the id `{}`", excerpt(id)))
                            .helped(
                                "give one of them another id; edges and conditions tell nodes apart by it",
                            ),
                    );
                } else {
                    names.indices.insert(id, index);
                }
            }
            names.ids.push(id.map(|(id, _)| id));
        }
        names
    }

    pub fn id(&self, index: NodeIndex) -> Option<&'d str> {
        self.ids.get(index).copied().flatten()
    }

    pub fn find(&self, id: &str) -> Option<NodeIndex> {
        self.indices.get(id).copied()
    }

    /// Returns the help text for an unknown name.
    pub fn advice(&mut self, name: &str) -> String {
        self.suggested += 1;
        let candidates = self.ids.iter().flatten().copied().take(CANDIDATES);
        match closest(name, candidates).filter(|_| self.suggested <= SUGGESTIONS) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("add a node with the id `{}`, or name another one", excerpt(name)),
        }
    }
}

/// Returns the id of a node and its span. Reports a missing or invalid id.
fn id<'d>(tree: &'d Tree, report: &mut Report) -> Option<(&'d str, Span)> {
    if !matches!(tree.kind, TreeKind::Mapping(_)) {
        report.misfit(tree, "a node is a mapping", "write for example `{id: fetch, type: task}`");
        return None;
    }
    let help = "write an id of letters, digits, `_` and `-`, at most 128 of them, such as `id: fetch_order`";
    let Some(node) = given(tree, "id").or_else(|| given(tree, "node_id")) else {
        let start = Span::new(tree.span.range().start, tree.span.range().start);
        report.wrong(codes::BAD_ID, start, "`id` is missing", "a node has no id", help);
        return None;
    };
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    match node.as_str() {
        Some(id) if !id.is_empty() && id.chars().all(letter) && id.chars().count() <= LONGEST => {
            Some((id, node.span))
        }
        Some(id) => {
            let title = match id {
                "" => "the id of a node cannot be empty".to_owned(),
                id => format!("`{}` cannot be the id of a node", excerpt(id)),
            };
            let label = match id.chars().find(|c| !letter(*c)) {
                Some(c) => format!("{c:?} cannot be in it"),
                None if id.is_empty() => "empty".to_owned(),
                None => format!("{} characters", id.chars().count()),
            };
            report.wrong(codes::BAD_ID, node.span, label, title, help);
            None
        }
        None => {
            report.wrong(codes::BAD_ID, node.span, node.describe(), "the id of a node is a string", help);
            None
        }
    }
}

impl Compiler<'_, '_> {
    /// Returns the node that a value names. Reports an unknown name.
    pub(super) fn target(&mut self, tree: &Tree, key: &str) -> Option<NodeIndex> {
        let Some(name) = tree.as_str() else {
            self.report.misfit(tree, format!("`{key}` names nodes"), "write the id of a node");
            return None;
        };
        let found = self.names.find(name);
        if found.is_none() {
            let help = self.names.advice(name);
            let title = format!("there is no node `{}`", excerpt(name));
            self.report.wrong(codes::UNKNOWN_NODE, tree.span, format!("in `{key}`"), title, &help);
        }
        found
    }

    /// Returns the nodes that a list or a single name refers to, each once, or `None` when the key is absent.
    pub(super) fn targets(&mut self, of: &Tree, key: &str) -> Option<Vec<NodeIndex>> {
        let tree = given(of, key)?;
        let items = match &tree.kind {
            TreeKind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(tree),
        };
        let mut found: Vec<NodeIndex> = Vec::new();
        for index in items.iter().filter_map(|item| self.target(item, key)) {
            if !found.contains(&index) {
                found.push(index);
            }
        }
        Some(found)
    }
}
