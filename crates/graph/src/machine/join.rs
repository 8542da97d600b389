//! Decides when a join has waited long enough: when every node that can still send to it has sent. A node can
//! still send if it is reachable in the graph from a node with work under way, without passing through the
//! join itself.

use std::collections::BTreeSet;

use super::Machine;
use super::memory::Token;
use crate::ir::NodeIndex;

impl Machine<'_> {
    /// Returns whether every dependency of a join has a token waiting there.
    pub fn is_complete(&self, join: NodeIndex) -> bool {
        let needed = &self.plan.node(join).dependencies;
        // A wide fan-out calls this for every answer. Comparing the number first decides most calls.
        self.parked_at(join).len() >= needed.len() && needed.iter().all(|sender| self.has_sent(*sender, join))
    }

    /// Returns the dependencies of a join that have no token waiting there.
    pub fn missing(&self, join: NodeIndex) -> Vec<NodeIndex> {
        let dependencies = self.plan.node(join).dependencies.iter().copied();
        dependencies.filter(|sender| !self.has_sent(*sender, join)).collect()
    }

    /// Returns the first join in topological order that can get no more tokens: its missing senders are not
    /// reachable from active nodes. When no node is active, the first join of all goes on.
    pub fn ready_join(&self) -> Option<NodeIndex> {
        let mut joins: Vec<NodeIndex> =
            self.memory.parked.keys().filter_map(|node| self.plan.place(node)).collect();
        joins.sort_by_key(|join| self.plan.node(*join).rank);
        joins.into_iter().find(|join| {
            // The common cases first: all have sent, or a sender is active.
            if self.is_complete(*join) {
                return true;
            }
            if self.waits_for_active(*join) {
                return false;
            }
            let missing = self.missing(*join);
            let reached = self.plan.reach(&self.active(), *join);
            missing.iter().all(|sender| !reached.contains(sender))
        })
    }

    /// Returns whether a dependency that has not sent yet is active.
    fn waits_for_active(&self, join: NodeIndex) -> bool {
        let dependencies = &self.plan.node(join).dependencies;
        self.active_places().any(|place| dependencies.contains(&place) && !self.has_sent(place, join))
    }

    fn has_sent(&self, sender: NodeIndex, join: NodeIndex) -> bool {
        let sender = self.plan.id(sender);
        self.parked_at(join).iter().any(|token| token.from.as_ref() == Some(sender))
    }

    fn parked_at(&self, join: NodeIndex) -> &[Token] {
        self.memory.parked.get(self.plan.id(join)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the nodes with work under way. A join with waiting tokens is not active.
    pub fn active(&self) -> BTreeSet<NodeIndex> {
        self.active_places().collect()
    }

    fn active_places(&self) -> impl Iterator<Item = NodeIndex> {
        let visited = self.memory.open.values().map(|visit| &visit.node);
        let queued = self.memory.queued.iter().map(|token| &token.to);
        visited.chain(queued).filter_map(|node| self.plan.place(node))
    }
}
