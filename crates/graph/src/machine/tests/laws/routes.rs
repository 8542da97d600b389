//! Checks the targets of results and the waits of joins, from the history and the graph alone.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::event::{ConditionEvaluated, EventData, NodeToken};
use rhythm_core::fold::Advanced;

use super::{Laws, VisitId};
use crate::ir::{Branch, ExitKind, Graph, Node, NodeIndex, OnConditionError};
use crate::machine::memory::Memory;

/// A join that went on without some of its dependencies.
#[derive(Clone, Debug)]
pub struct GoneOn {
    join: NodeIndex,
    without: BTreeSet<String>,
    /// Visits that were under way at the time.
    meanwhile: BTreeSet<VisitId>,
}

/// One result: the tokens it emitted, in order, with the node and the visit.
pub struct Routed<'a> {
    pub from: &'a str,
    pub emitted: Vec<&'a NodeToken>,
    pub visit: Option<VisitId>,
}

impl Laws {
    /// Splits the rows into results: the emitted tokens come first, then the consumed ones. A node that asked
    /// a person consumed long before; its visit is the one that has gone.
    pub fn results<'a>(&self, done: &'a Advanced, before: &BTreeMap<VisitId, String>) -> Vec<Routed<'a>> {
        let mut results: Vec<Routed<'a>> = Vec::new();
        let mut emitted: Vec<&NodeToken> = Vec::new();
        let mut last: Option<VisitId> = None;
        let gone = |node: &str| {
            let left = before.iter().filter(|(visit, _)| !self.open.contains_key(visit));
            left.filter(|(_, at)| *at == node).map(|(visit, _)| *visit).next()
        };
        let mut tell = |emitted: &mut Vec<&'a NodeToken>, visit: Option<VisitId>| {
            let from = emitted.first().and_then(|token| token.from.as_deref());
            let emitted = std::mem::take(emitted);
            if let Some(from) = from {
                results.push(Routed { from, emitted, visit: visit.or_else(|| gone(from)) });
            }
        };
        let mut ends: Vec<Routed<'a>> = Vec::new();
        for event in &done.events {
            match &event.data {
                EventData::NodeEmitted(token) => {
                    if emitted.first().is_some_and(|first| first.from != token.from) {
                        tell(&mut emitted, None);
                    }
                    emitted.push(token);
                    last = None;
                }
                EventData::NodeConsumed(token) if last != token.visit => {
                    let own = emitted.first().is_some_and(|first| first.from.as_ref() == Some(&token.to));
                    let is_new = emitted.iter().any(|emitted| emitted.token == token.token);
                    let asks = token.visit.is_some_and(|visit| self.open.contains_key(&visit));
                    tell(&mut emitted, token.visit.filter(|_| own && !is_new));
                    if !own && !asks {
                        ends.push(Routed { from: &token.to, emitted: Vec::new(), visit: token.visit });
                    }
                    last = token.visit;
                }
                _ => {}
            }
        }
        tell(&mut emitted, None);
        results.extend(ends);
        results
    }

    /// Checks that a result goes to one of the node's exits, and after a condition to the exit it selected.
    pub fn held_to_routes(&self, graph: &Graph, result: &Routed<'_>, done: &Advanced) {
        let node = &graph.nodes[graph.find(result.from).unwrap()];
        let asks_people = node.human.is_some() && result.emitted.is_empty();
        if asks_people {
            return;
        }
        let to: Vec<NodeIndex> = result.emitted.iter().map(|token| graph.find(&token.to).unwrap()).collect();
        let decided = done.events.iter().filter_map(|event| match &event.data {
            EventData::ConditionEvaluated(told) if told.node == node.id => Some(told),
            _ => None,
        });
        let decided: Vec<_> = decided.collect();
        let alone = done
            .events
            .iter()
            .filter(|event| matches!(&event.data, EventData::NodeConsumed(token) if token.to == node.id))
            .count()
            <= 1;
        let fails = |told: &&ConditionEvaluated| {
            node.on_condition_error == OnConditionError::Fail && !told.result && !told.reason.is_empty()
        };
        let errors = || node.exits().into_iter().filter(|exit| exit.kind == ExitKind::Error);
        let expected: Vec<&[NodeIndex]> = match (decided.last(), &node.branch) {
            (Some(told), _) if fails(told) => errors().map(|exit| exit.to).collect(),
            (Some(told), Some(Branch::Conditional { rules, default }))
                if alone && told.condition.starts_with("rule ") =>
            {
                let nth: usize = told.condition["rule ".len()..].parse().unwrap();
                vec![if told.result { &rules[nth - 1].next_nodes } else { default }]
            }
            _ => node.exits().iter().map(|exit| exit.to).collect(),
        };
        let chosen = |exit: &Node| match &exit.branch {
            Some(Branch::AgentDriven { available_next_nodes, .. }) => {
                !to.is_empty() && to.iter().all(|target| available_next_nodes.contains(target))
            }
            _ => false,
        };
        let plain = node.branch.is_none() && node.looping.is_none();
        let fits = expected.contains(&to.as_slice()) || chosen(node);
        assert!(fits, "{} emitted to {to:?}, its exits are {:?}", node.id, node.exits());
        let may_end = node.exits().iter().any(|exit| {
            exit.to.is_empty()
                && match exit.kind {
                    ExitKind::Rejection => node.human.is_some(),
                    ExitKind::Error => node.error_path.is_some(),
                    _ => true,
                }
        });
        assert!(!to.is_empty() || may_end, "{} emitted nothing", node.id);
        if plain && node.error_path.is_none() && node.human.is_none() {
            assert_eq!(to, node.dependents, "{}", node.id);
        }
    }

    /// Checks that a join takes one token of each sender, and that a sender it did not wait for does not send
    /// from work that was under way at that time.
    pub fn held_to_joins(
        &mut self,
        graph: &Graph,
        memory: &Memory,
        before: &BTreeMap<VisitId, String>,
        results: &[Routed<'_>],
    ) {
        for token in results.iter().flat_map(|result| &result.emitted) {
            let (from, to) = (token.from.as_deref().unwrap_or_default(), graph.find(&token.to).unwrap());
            for gone_on in self.gone_on.iter().filter(|gone_on| gone_on.join == to) {
                let early = gone_on.without.contains(from)
                    && self.descends(token.token, &gone_on.meanwhile, &graph.nodes[to].id);
                assert!(!early, "{} had not waited for {from}: {token:?} {gone_on:?}", token.to);
            }
        }
        let began = memory.open.iter().filter(|(visit, _)| !before.contains_key(visit));
        let began = began.map(|(visit, at)| {
            (
                *visit,
                at.node.to_string(),
                at.tokens.iter().map(|token| token.from.clone()).collect::<Vec<_>>(),
            )
        });
        for (visit, node, senders) in began.collect::<Vec<_>>() {
            let place = graph.find(&node).unwrap();
            let join = &graph.nodes[place];
            let senders: Vec<String> =
                senders.into_iter().flatten().map(|sender| sender.to_string()).collect();
            let names = join.dependencies.iter().map(|sender| graph.nodes[*sender].id.clone());
            let dependencies: BTreeSet<String> = names.collect();
            let distinct: BTreeSet<&String> = senders.iter().collect();
            assert_eq!(distinct.len(), senders.len(), "{node} took two tokens of one sender");
            if !join.wait_for_all || !senders.iter().any(|sender| dependencies.contains(sender)) {
                continue;
            }
            let without = dependencies.into_iter().filter(|sender| !senders.contains(sender)).collect();
            let meanwhile = before
                .iter()
                .filter(|(other, at)| **other != visit && **at != node && self.open.contains_key(other));
            let meanwhile = meanwhile.map(|(other, _)| *other).collect();
            self.gone_on.push(GoneOn { join: place, without, meanwhile });
        }
    }

    /// Returns whether the token comes from one of these visits without passing the join.
    fn descends(&self, token: u64, from: &BTreeSet<VisitId>, join: &str) -> bool {
        let (mut next, mut seen) = (vec![token], BTreeSet::new());
        while let Some(token) = next.pop() {
            let Some(visit) = self.parents.get(&token) else { continue };
            if from.contains(visit) {
                return true;
            }
            let Some((node, tokens)) = self.taken.get(visit) else { continue };
            if node != join && seen.insert(*visit) {
                next.extend(tokens);
            }
        }
        false
    }
}
