//! A graph prepared for stepping: nodes by id, the targets of every node, compiled conditions, and the nodes
//! whose config has references.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use rhythm_core::program::ProgramError;

use super::decide::Rules;
use super::memory::NodeId;
use super::typed::Schemas;
use crate::condition::Conditions;
use crate::ir::{Config, Graph, Node, NodeIndex};
use crate::reference;

#[derive(Debug)]
pub struct Plan {
    pub graph: Graph,
    ids: Vec<NodeId>,
    places: BTreeMap<NodeId, NodeIndex>,
    /// Targets of each node through any exit.
    leads_to: Vec<BTreeSet<NodeIndex>>,
    /// For each node with a loop: every node on a path from the loop's target to a node that loops back
    /// there. Computed on first use.
    stretches: Vec<OnceLock<BTreeSet<NodeIndex>>>,
    pub rules: Vec<Rules>,
    pub schemas: Schemas,
    /// One flag for each node: its config contains a reference.
    refers: Vec<bool>,
}

impl Plan {
    pub fn new(graph: Graph, known: &mut Conditions) -> Result<Self, ProgramError> {
        let bad = |what: String| ProgramError::BadDefinition(what);
        if graph.format != crate::ir::FORMAT {
            return Err(ProgramError::UnknownFormat { found: graph.format, known: crate::ir::FORMAT });
        }
        let ids: Vec<NodeId> = graph.nodes.iter().map(|node| Arc::from(node.id.as_str())).collect();
        let places: BTreeMap<NodeId, NodeIndex> = ids.iter().cloned().zip(0..).collect();
        if places.len() != ids.len() {
            return Err(bad("two nodes have one id".to_owned()));
        }
        let leads_to: Vec<BTreeSet<NodeIndex>> = graph.nodes.iter().map(exits_of).collect();
        let named = graph.nodes.iter().flat_map(|node| node.dependencies.iter());
        if leads_to.iter().flatten().chain(named).any(|place| *place >= ids.len()) {
            return Err(bad("an edge leads to a node that is not there".to_owned()));
        }
        let refers = graph.nodes.iter().map(|node| match &node.config {
            Config::Inline(config) => reference::refers(config),
            Config::Unresolved(_) => false,
        });
        let refers = refers.collect();
        let rules = graph.nodes.iter().map(|node| Rules::of(node, &ids, known)).collect();
        let stretches = graph.nodes.iter().map(|_| OnceLock::new()).collect();
        let schemas = Schemas::of(&graph);
        Ok(Self { ids, places, leads_to, stretches, rules, schemas, refers, graph })
    }

    pub fn place(&self, id: &str) -> Option<NodeIndex> {
        self.places.get(id).copied()
    }

    pub fn id(&self, place: NodeIndex) -> &NodeId {
        &self.ids[place]
    }

    pub fn ids(&self) -> &[NodeId] {
        &self.ids
    }

    pub fn node(&self, place: NodeIndex) -> &Node {
        &self.graph.nodes[place]
    }

    pub fn refers(&self, place: NodeIndex) -> bool {
        self.refers[place]
    }

    /// Returns whether a token of this sender waits at this node for tokens of others.
    pub fn joins(&self, to: NodeIndex, from: Option<&str>) -> bool {
        let node = self.node(to);
        let sender = from.and_then(|from| self.place(from));
        node.wait_for_all && sender.is_some_and(|sender| node.dependencies.contains(&sender))
    }

    /// Returns the nodes that belong to this node's loop, or `None` when it has no loop. Loops that go back
    /// to the same node count as one loop, so a token on another path through it has not left the loop.
    pub fn stretch(&self, place: NodeIndex) -> Option<&BTreeSet<NodeIndex>> {
        let back = self.node(place).looping.as_ref()?.loop_back_to;
        Some(self.stretches[place].get_or_init(|| {
            let mut senders: Vec<Vec<NodeIndex>> = vec![Vec::new(); self.ids.len()];
            for (from, node) in self.graph.nodes.iter().enumerate() {
                node.targets().for_each(|to| senders[to].push(from));
            }
            let goes_back = |node: &Node| node.looping.as_ref().is_some_and(|own| own.loop_back_to == back);
            let ends = (0..self.ids.len()).filter(|end| goes_back(self.node(*end)));
            let behind = spread([back], |place| self.node(place).targets().collect());
            let before = spread(ends.clone(), |place| senders[place].clone());
            behind.intersection(&before).copied().chain(ends).chain([back]).collect()
        }))
    }

    /// Returns every node that tokens at `active` nodes can reach. No path continues through `join`, unless
    /// `join` itself is active.
    pub fn reach(&self, active: &BTreeSet<NodeIndex>, join: NodeIndex) -> BTreeSet<NodeIndex> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<NodeIndex> = active.iter().copied().collect();
        while let Some(place) = next.pop() {
            for to in &self.leads_to[place] {
                if reached.insert(*to) && *to != join && !active.contains(to) {
                    next.push(*to);
                }
            }
        }
        reached
    }
}

/// Returns the nodes and everything reachable from them.
fn spread(
    from: impl IntoIterator<Item = NodeIndex>,
    next: impl Fn(NodeIndex) -> Vec<NodeIndex>,
) -> BTreeSet<NodeIndex> {
    let mut reached = BTreeSet::from_iter(from);
    let mut open: Vec<NodeIndex> = reached.iter().copied().collect();
    while let Some(place) = open.pop() {
        open.extend(next(place).into_iter().filter(|place| reached.insert(*place)));
    }
    reached
}

fn exits_of(node: &Node) -> BTreeSet<NodeIndex> {
    node.exits().into_iter().flat_map(|exit| exit.to.iter().copied()).collect()
}
