//! Checks the graph as a whole: its entries and terminals, cycles, loops, the number of tokens each node
//! emits, and reachability.

use std::collections::BTreeSet;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;

use super::Draft;
use super::cycle::cycles;
use super::report::Report;
use crate::codes;
use crate::ir::{Exit, ExitKind, Graph, NodeIndex};

/// Maximum number of nodes that the message about a cycle lists.
const TOLD: usize = 8;

pub fn settle(graph: &mut Graph, drafts: Vec<Draft<'_>>, report: &mut Report) {
    let mut places = Vec::new();
    for draft in drafts {
        places.push(Place {
            id: draft.id,
            tree: draft.tree,
            declared: draft.declared,
            declares: draft.declares,
        });
        graph.nodes.push(draft.node);
    }
    let shape = Shape { targets: graph.nodes.iter().map(|node| node.targets().collect()).collect(), places };
    shape.ends(graph, report);
    shape.order(graph, report);
    shape.check_loops(graph, report);
    shape.check_fanout(graph, report);
    shape.check_permission(graph, report);
    shape.check_reach(graph, report);
}

/// The parts of a node's source that diagnostics point at.
struct Place<'d> {
    id: Span,
    tree: &'d rhythm_syntax::spanned_value::Node,
    declared: Vec<(NodeIndex, Span)>,
    declares: bool,
}

struct Shape<'d> {
    /// Targets of each node, without the ways back of loops.
    targets: Vec<BTreeSet<NodeIndex>>,
    places: Vec<Place<'d>>,
}

impl Shape<'_> {
    fn ends(&self, graph: &mut Graph, report: &mut Report) {
        // A node in a list that has no effect, such as dependents beside a branch, is still not an entry.
        let reached: BTreeSet<NodeIndex> = graph.nodes.iter().flat_map(|node| node.mentions()).collect();
        for (index, node) in graph.nodes.iter_mut().enumerate() {
            node.is_entry = !self.places[index].declares && !reached.contains(&index);
            // An error path does not count: a node with no other exit is terminal.
            let goes_on = |exit: &Exit<'_>| {
                !matches!(exit.kind, ExitKind::LoopBack | ExitKind::Error) && !exit.to.is_empty()
            };
            node.is_terminal = !node.exits().iter().any(goes_on);
        }
        let first = self.places.first().map_or(Span::default(), |place| place.id);
        if !graph.nodes.iter().any(|node| node.is_entry) {
            report.say(
                Diagnostic::new(codes::NO_ENTRY, first, "every node waits for another").helped(
                    "a run begins at nodes that declare no dependencies and that nothing but a loop leads to: leave one such node",
                ),
            );
        }
        if !graph.endless && !graph.nodes.iter().any(|node| node.is_terminal) {
            report.say(
                Diagnostic::new(codes::NO_TERMINAL, first, "every node leads to another")
                    .helped("leave one node without a way on, or write `endless: true` into `metadata`"),
            );
        }
    }

    /// Ranks every node in topological order. Nodes in a cycle, and nodes behind one, get no rank. Reports
    /// the cycles.
    fn order(&self, graph: &mut Graph, report: &mut Report) {
        let count = graph.nodes.len();
        let mut before = vec![0_usize; count];
        self.targets.iter().flatten().for_each(|to| before[*to] += 1);
        let mut ready: BTreeSet<NodeIndex> = (0..count).filter(|index| before[*index] == 0).collect();
        let mut rank = 0;
        while let Some(index) = ready.pop_first() {
            graph.nodes[index].rank = rank;
            rank += 1;
            for to in &self.targets[index] {
                before[*to] -= 1;
                if before[*to] == 0 {
                    ready.insert(*to);
                }
            }
        }
        for cycle in cycles(&self.targets) {
            self.tell_cycle(graph, &cycle, report);
        }
    }

    fn tell_cycle(&self, graph: &Graph, cycle: &[NodeIndex], report: &mut Report) {
        let (first, last) = (cycle[0], cycle[cycle.len() - 1]);
        let id = |index: &NodeIndex| graph.nodes[*index].id.as_str();
        let mut way: Vec<&str> = cycle.iter().take(TOLD).map(id).collect();
        if cycle.len() > TOLD {
            way.push("..");
        }
        way.push(id(&first));
        let (first, last) = (id(&first), id(&last));
        let title = format!("nodes form a cycle that no loop closes: {}", way.join(" -> "));
        let help = format!(
            "let `{last}` go back with `loop: {{loop_back_to: {first}, max_iterations: 5}}` instead, or remove one of these ways"
        );
        report.wrong(codes::CYCLE, self.places[cycle[0]].id, "begins here", title, &help);
    }

    fn check_loops(&self, graph: &Graph, report: &mut Report) {
        for (index, node) in graph.nodes.iter().enumerate() {
            let Some(looping) = &node.looping else { continue };
            if looping.loop_back_to == index || self.leads(looping.loop_back_to, index) {
                continue;
            }
            let block = self.places[index].tree.follow(["loop", "loop_back_to"]);
            let back = &graph.nodes[looping.loop_back_to].id;
            let title = format!("`{}` loops back to `{back}`, which does not lead to it", node.id);
            let help = "go back to the node itself or to an earlier one; to go forward, use `break_path`";
            report.wrong(codes::LOOP_BACK, block.span, "not an earlier node", title, help);
        }
    }

    fn leads(&self, from: NodeIndex, to: NodeIndex) -> bool {
        let mut seen = vec![false; self.targets.len()];
        let mut next = vec![from];
        while let Some(index) = next.pop() {
            if index == to {
                return true;
            }
            if !std::mem::replace(&mut seen[index], true) {
                next.extend(self.targets[index].iter().filter(|target| !seen[**target]));
            }
        }
        false
    }

    /// Reports nodes that emit too many tokens at once. The list an agent chooses from does not count,
    /// because it may choose fewer.
    fn check_fanout(&self, graph: &Graph, report: &mut Report) {
        for (index, node) in graph.nodes.iter().enumerate() {
            let (limit, name) = match node.max_fanout {
                Some(own) if own < graph.limits.max_fanout => (own, "its own `max_fanout`"),
                _ => (graph.limits.max_fanout, "`limits.max_fanout`"),
            };
            let exits = node.exits();
            let sent =
                exits.iter().filter(|exit| exit.kind != ExitKind::Choice).map(|exit| exit.to.len()).max();
            let Some(sent) = sent.filter(|sent| *sent > limit as usize) else { continue };
            let title = format!("`{}` emits {sent} tokens at once, {name} is {limit}", node.id);
            let help = "raise the limit, or put a node between that passes the tokens on in groups";
            report.wrong(codes::FANOUT, self.places[index].id, "too many", title, help);
        }
    }

    fn check_permission(&self, graph: &Graph, report: &mut Report) {
        for (index, node) in graph.nodes.iter().enumerate() {
            let Some(allowed) = &node.can_emit_to else { continue };
            let place = self.places[index].tree.follow(["can_emit_to"]).span;
            for target in self.targets[index].iter().filter(|target| !allowed.contains(target)) {
                let target = &graph.nodes[*target].id;
                let title =
                    format!("`{}` leads to `{target}`, which its `can_emit_to` does not list", node.id);
                let help =
                    format!("add `{target}` to the list, or do not lead there: a run that tries fails");
                report.wrong(codes::NOT_ALLOWED, place, "does not allow it", title, &help);
            }
        }
    }

    fn check_reach(&self, graph: &Graph, report: &mut Report) {
        let back = |index: NodeIndex| graph.nodes[index].looping.as_ref().map(|looping| looping.loop_back_to);
        for (index, place) in self.places.iter().enumerate() {
            for (from, span) in &place.declared {
                if self.targets[*from].contains(&index) || back(*from) == Some(index) {
                    continue;
                }
                let (from, to) = (&graph.nodes[*from].id, &graph.nodes[index].id);
                let title = format!("`{to}` depends on `{from}`, which never sends anything to it");
                let help = format!(
                    "add `{to}` to the `dependents` of `{from}` or an edge, or remove the dependency"
                );
                report.wrong(codes::NEVER_SENDS, *span, "never comes", title, &help);
            }
        }
        let mut seen = vec![false; graph.nodes.len()];
        let mut next: Vec<NodeIndex> = graph.entries().collect();
        if next.is_empty() {
            return;
        }
        while let Some(index) = next.pop() {
            if !std::mem::replace(&mut seen[index], true) {
                next.extend(
                    self.targets[index].iter().copied().chain(back(index)).filter(|target| !seen[*target]),
                );
            }
        }
        for (index, _) in seen.iter().enumerate().filter(|(_, seen)| !**seen) {
            let title = format!("`{}` is never reached", graph.nodes[index].id);
            let help = "lead to it from another node, or remove it; only a patch or an agent's choice could bring a token here";
            report.wrong(codes::UNREACHABLE, self.places[index].id, "no way leads here", title, help);
        }
    }
}
