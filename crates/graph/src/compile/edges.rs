//! Connects the nodes. Combines edges, dependents and dependencies, turns conditional edges into rules, and
//! gives every node the set of dependencies that its join waits for.

use std::collections::BTreeSet;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;
use rhythm_syntax::spanned_value::{Node as Tree, NodeKind as TreeKind};
use serde_json::Value;

use super::report::{Report, given};
use super::{Compiler, Draft, keys};
use crate::codes;
use crate::ir::{Branch, NodeIndex, NodeKind, Rule};

/// One entry of the list of edges.
pub struct Edge {
    from: NodeIndex,
    to: NodeIndex,
    condition: Option<Value>,
    span: Span,
}

/// Returns the ids of the nodes that edges with conditions leave.
pub fn with_conditions(root: &Tree) -> BTreeSet<&str> {
    let Some(TreeKind::List(edges)) = given(root, "edges").map(|edges| &edges.kind) else {
        return BTreeSet::new();
    };
    let routed = edges.iter().filter(|edge| given(edge, "condition").is_some());
    routed.filter_map(|edge| given(edge, "from").and_then(Tree::as_str)).collect()
}

impl<'d> Compiler<'d, '_> {
    pub(super) fn edges(&mut self, root: &'d Tree) -> Vec<Edge> {
        let help = "write for example `{from: fetch, to: store}`";
        let mut edges = Vec::new();
        for tree in self.report.list(root, "edges").unwrap_or_default() {
            if !matches!(tree.kind, TreeKind::Mapping(_)) {
                self.report.misfit(tree, "an edge is a mapping", help);
                continue;
            }
            self.report.keys(tree, keys::EDGE, "an edge");
            let mut end = |key: &str| match given(tree, key) {
                Some(name) => self.target(name, key),
                None => {
                    let label = format!("`{key}` is missing");
                    self.report.wrong(
                        codes::VALUE,
                        tree.span,
                        label,
                        "an edge leads from one node to another",
                        help,
                    );
                    None
                }
            };
            let ends = (end("from"), end("to"));
            self.owner = ends.0;
            let condition = given(tree, "condition").map(|tree| self.condition(tree));
            if let (Some(from), Some(to)) = ends {
                edges.push(Edge { from, to, condition, span: tree.span });
            }
        }
        edges
    }
}

/// Adds the edges to the nodes they leave, and computes the dependencies of every node.
pub fn connect(drafts: &mut [Draft<'_>], edges: Vec<Edge>, endless: bool, report: &mut Report) {
    let mut outgoing: Vec<Vec<Edge>> = drafts.iter().map(|_| Vec::new()).collect();
    for edge in edges {
        outgoing[edge.from].push(edge);
    }
    let silent: Vec<bool> = drafts
        .iter()
        .zip(&outgoing)
        .map(|(draft, edges)| !draft.lists_dependents && edges.is_empty())
        .collect();
    // Every edge in the document, whether it can be used or not.
    let mut written: Vec<(NodeIndex, NodeIndex)> = Vec::new();
    for (from, mut edges) in outgoing.into_iter().enumerate() {
        let draft = &mut drafts[from];
        if let (Some(looping), false) = (&draft.node.looping, endless) {
            // An edge that repeats a loop's way back belongs to that loop.
            let back = looping.loop_back_to;
            edges.retain(|edge| edge.condition.is_some() || edge.to != back);
            draft.node.dependents.retain(|to| *to != back);
        }
        let written_down = draft.node.dependents.iter().copied().chain(edges.iter().map(|edge| edge.to));
        written.extend(written_down.map(|to| (from, to)));
        send(draft, edges, report);
    }
    for to in 0..drafts.len() {
        for (from, _) in drafts[to].declared.clone() {
            // A node that reaches the dependent in another way, by a rejection for example, does not also
            // send all its tokens there.
            if silent[from]
                && !drafts[from].node.targets().any(|target| target == to)
                && !loops_back(&drafts[from], to)
            {
                drafts[from].node.dependents.push(to);
            }
        }
    }
    for draft in drafts.iter() {
        let node = &draft.node;
        if node.kind == NodeKind::Conditional && node.branch.is_none() && node.dependents.is_empty() {
            report.say(
                Diagnostic::new(codes::EMPTY_BRANCH, draft.id, "it can never decide")
                    .titled(format!("`{}` only routes, and has nowhere to route to", node.id))
                    .helped("give it a `branch`, or edges with conditions"),
            );
        }
    }
    join(drafts, &written);
}

fn loops_back(draft: &Draft<'_>, to: NodeIndex) -> bool {
    draft.node.looping.as_ref().is_some_and(|looping| looping.loop_back_to == to)
}

/// Adds the edges that leave a node to its dependents, or to the rules of its branch.
fn send(draft: &mut Draft<'_>, edges: Vec<Edge>, report: &mut Report) {
    let (conditional, plain): (Vec<Edge>, Vec<Edge>) =
        edges.into_iter().partition(|edge| edge.condition.is_some());
    let mut dependents = std::mem::take(&mut draft.node.dependents);
    // An entry of the edge list replaces the same target in `dependents`, because it is more precise.
    dependents.retain(|to| conditional.iter().all(|edge| edge.to != *to));
    for edge in &plain {
        if !dependents.contains(&edge.to) {
            dependents.push(edge.to);
        }
    }
    let spans: Vec<Span> = conditional.iter().map(|edge| edge.span).collect();
    let further = conditional.into_iter().filter_map(|edge| {
        let next_nodes = vec![edge.to];
        edge.condition.map(|condition| Rule { condition, next_nodes })
    });
    match &mut draft.node.branch {
        Some(Branch::Conditional { rules, default }) => {
            rules.extend(further);
            // An edge without a condition beside conditional edges is the default, as for a node without a
            // branch.
            if !spans.is_empty() && !says_default(draft.tree) {
                *default = std::mem::take(&mut dependents);
            }
        }
        Some(Branch::AgentDriven { .. }) => {
            for span in spans {
                report.say(
                    Diagnostic::new(codes::TWO_BRANCHES, span, "a conditional edge")
                        .titled(format!(
                            "`{}` lets its agent choose, and has conditional edges",
                            draft.node.id
                        ))
                        .helped("leave the condition out, or make the branch `conditional`"),
                );
            }
        }
        None if spans.is_empty() => {}
        None => {
            let default = std::mem::take(&mut dependents);
            draft.node.branch = Some(Branch::Conditional { rules: further.collect(), default });
        }
    }
    draft.node.dependents = dependents;
}

/// Returns whether a node's branch has a default, even an empty one. The default of a `conditional` may be in
/// its config.
fn says_default(node: &Tree) -> bool {
    let holder = given(node, "branch").or_else(|| given(node, "config"));
    holder.is_some_and(|holder| given(holder, "default").is_some())
}

/// Sets the dependencies that each join waits for: first the declared ones, then the senders of other edges.
/// A join does not wait for nodes that loop back to it.
fn join(drafts: &mut [Draft<'_>], written: &[(NodeIndex, NodeIndex)]) {
    let mut incoming: Vec<Vec<NodeIndex>> = vec![Vec::new(); drafts.len()];
    let sent: Vec<BTreeSet<NodeIndex>> = drafts.iter().map(|draft| draft.node.targets().collect()).collect();
    for (from, to) in written {
        if !loops_back(&drafts[*from], *to) && sent[*from].contains(to) {
            incoming[*to].push(*from);
        }
    }
    for (index, senders) in incoming.into_iter().enumerate() {
        let declared = drafts[index].declared.iter().map(|(from, _)| *from);
        let mut dependencies: Vec<NodeIndex> =
            declared.filter(|from| *from != index && !loops_back(&drafts[*from], index)).collect();
        for from in senders {
            if from != index && !dependencies.contains(&from) {
                dependencies.push(from);
            }
        }
        let draft = &mut drafts[index];
        draft.node.wait_for_all = draft.wait_for_all.unwrap_or(dependencies.len() > 1);
        draft.node.dependencies = dependencies;
    }
}
