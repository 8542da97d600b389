//! When a join has waited long enough: all who can send to it have. Who still can is asked of the graph: whoever can be
//! reached from where something is under way, not counting what would have to pass the join itself first.

use std::collections::BTreeSet;

use super::Machine;
use crate::graph::ir::NodeIndex;

impl Machine<'_> {
    /// The dependencies of a join that have no token waiting there.
    pub fn missing(&self, join: NodeIndex) -> Vec<NodeIndex> {
        let waiting = self.memory.parked.get(self.plan.id(join)).map(Vec::as_slice).unwrap_or_default();
        let has_sent =
            |sender: NodeIndex| waiting.iter().any(|token| token.from.as_ref() == Some(self.plan.id(sender)));
        let dependencies = self.plan.node(join).dependencies.iter().copied();
        dependencies.filter(|sender| !has_sent(*sender)).collect()
    }

    /// The first join, in topological order, that gets nothing more. While anything is under way that is one whose
    /// missing senders cannot be reached; when nothing is, none can, and the first of all goes on.
    pub fn ready_join(&self) -> Option<NodeIndex> {
        let mut joins: Vec<NodeIndex> =
            self.memory.parked.keys().filter_map(|node| self.plan.place(node)).collect();
        joins.sort_by_key(|join| self.plan.node(*join).rank);
        let active = self.active();
        joins.into_iter().find(|join| {
            let missing = self.missing(*join);
            // The common case first: a sender is at work.
            if missing.is_empty() || missing.iter().any(|sender| active.contains(sender)) {
                return missing.is_empty();
            }
            let reached = self.plan.reach(&active, *join);
            missing.iter().all(|sender| !reached.contains(sender))
        })
    }

    /// Where something is under way. Tokens at joins are not.
    pub fn active(&self) -> BTreeSet<NodeIndex> {
        let visited = self.memory.open.values().map(|visit| &visit.node);
        let queued = self.memory.queued.iter().map(|token| &token.to);
        visited.chain(queued).filter_map(|node| self.plan.place(node)).collect()
    }
}
