//! Tokens: emitting, waiting and consuming. Every token writes a row when it is emitted and one when it is
//! consumed, with the run's counter before and after.

use std::sync::Arc;

use rhythm_core::event::{EventData, NodeToken};
use rhythm_core::id::CommandId;
use rhythm_core::payload::{BlobRef, Payload};
use rhythm_core::program::Progress;

use super::memory::{Token, Visit, Wait};
use super::values::ValueId;
use super::{Machine, Stop, Stopped, codes};
use crate::ir::{Node, NodeIndex, NodeKind};

/// Maximum number of nodes begun in one step. A graph that can continue without answers does so in another
/// step.
const MOST_BEGUN: usize = 500;
/// Maximum bytes of a value in the row of a token.
const MOST_SHOWN: usize = 1024;

impl Machine<'_> {
    /// Moves tokens until every node with tokens waits for something from outside.
    pub fn settle(&mut self) -> Stopped<Progress> {
        loop {
            while let Some(token) = self.memory.queued.pop_front() {
                if self.begun >= MOST_BEGUN {
                    self.memory.queued.push_front(token);
                    if self.memory.more.is_none() {
                        self.memory.more = Some(self.timer(self.input.at));
                    }
                    return Ok(Progress::Waiting);
                }
                self.arrive(token)?;
            }
            match self.ready_join() {
                Some(join) => self.fire(join)?,
                None => match self.next_turn() {
                    Some(visit) => self.execute(visit)?,
                    None => break,
                },
            }
        }
        if self.memory.is_idle() { self.output().map(Progress::Completed) } else { Ok(Progress::Waiting) }
    }

    fn arrive(&mut self, token: Token) -> Stopped {
        let place = self.place(&token.to);
        if self.plan.joins(place, token.from.as_deref()) {
            let node = self.plan.id(place).clone();
            self.memory.parked.entry(node).or_default().push(token);
            return if self.is_complete(place) { self.fire(place) } else { Ok(()) };
        }
        self.begin(vec![token], false)
    }

    /// Begins a join with the first waiting token of each sender.
    fn fire(&mut self, join: NodeIndex) -> Stopped {
        let plan = self.plan.clone();
        let id = plan.id(join);
        let mut waiting = self.memory.parked.remove(id).unwrap_or_default();
        let mut taken = Vec::new();
        for sender in &plan.node(join).dependencies {
            let from = Some(plan.id(*sender));
            if let Some(first) = waiting.iter().position(|token| token.from.as_ref() == from) {
                taken.push(waiting.remove(first));
            }
        }
        if !waiting.is_empty() {
            self.memory.parked.insert(id.clone(), waiting);
        }
        self.begin(taken, true)
    }

    fn begin(&mut self, tokens: Vec<Token>, joined: bool) -> Stopped {
        let Some(first) = tokens.first() else { return Ok(()) };
        self.begun += 1;
        let (node, since) = (first.to.clone(), self.input.at);
        self.execute(Visit {
            node,
            tokens,
            joined,
            consumed: false,
            since,
            config: None,
            wait: Wait::Nothing,
        })
    }

    /// Ends a visit: emits one token to each target and consumes the visit's tokens.
    pub fn emit(
        &mut self,
        visit: Visit,
        command: Option<CommandId>,
        value: ValueId,
        targets: &[NodeIndex],
    ) -> Stopped {
        let is_made = self.makes_its_result(&visit);
        self.emit_as(visit, command, (value, is_made), targets)
    }

    /// Works like `emit`. `is_made` says whether no other row of the history holds the value.
    pub fn emit_as(
        &mut self,
        visit: Visit,
        command: Option<CommandId>,
        (value, is_made): (ValueId, bool),
        targets: &[NodeIndex],
    ) -> Stopped {
        let plan = self.plan.clone();
        let from = self.place(&visit.node);
        let hop = visit.tokens.iter().map(|token| token.hop).max().unwrap_or_default() + 1;
        if let Err(stop) = self.check_route(plan.node(from), hop, targets) {
            self.unrouted = Some(visit);
            return Err(stop);
        }
        let first = self.events.len();
        // Emits first, so that the counter does not reach zero in between.
        for target in targets {
            self.send(Some(from), *target, hop, value);
        }
        if is_made {
            let payload = self.for_history(value);
            if let Some(EventData::NodeEmitted(moved)) = self.events.get_mut(first) {
                moved.payload = payload;
            }
        }
        self.consume_tokens(&visit, command);
        if targets.is_empty() {
            self.memory.ends.insert(visit.node);
        }
        self.forget_loops();
        Ok(())
    }

    /// Returns whether the run computed the visit's result itself, so that it is neither an answer nor a
    /// token's value.
    fn makes_its_result(&self, visit: &Visit) -> bool {
        match self.plan.node(self.place(&visit.node)).kind {
            NodeKind::Filter | NodeKind::Aggregate | NodeKind::Parallel | NodeKind::Human => true,
            // These return their input. After a join the run composes it from several tokens.
            NodeKind::Conditional | NodeKind::Loop | NodeKind::Delay => visit.joined,
            // The result contains the decision of a person.
            NodeKind::Registered(_) => visit.consumed,
            _ => false,
        }
    }

    /// Returns a value for a history row. A value that is not small becomes a blob.
    fn for_history(&mut self, value: ValueId) -> Option<Payload> {
        let payload = self.memory.values.get(value)?.clone();
        let Some(text) = payload.text().filter(|text| text.len() > MOST_SHOWN) else { return Some(payload) };
        let reference = BlobRef::of(text.as_bytes());
        self.blobs.push((reference.clone(), Arc::from(text.as_bytes())));
        Some(Payload::Blob(reference))
    }

    /// Forgets the passes of every loop without tokens or visits in it, because it has been left.
    fn forget_loops(&mut self) {
        if self.memory.passes.is_empty() {
            return;
        }
        let plan = self.plan.clone();
        let mut occupied = self.active();
        occupied.extend(self.memory.parked.keys().filter_map(|node| plan.place(node)));
        self.memory.passes.retain(|node, _| {
            let stretch = plan.place(node).and_then(|place| plan.stretch(place));
            stretch.is_some_and(|stretch| stretch.iter().any(|place| occupied.contains(place)))
        });
    }

    fn check_route(&self, node: &Node, hop: u32, targets: &[NodeIndex]) -> Stopped {
        let limits = &self.plan.graph.limits;
        let most = node.max_fanout.map_or(limits.max_fanout, |own| own.min(limits.max_fanout));
        if targets.len() > most as usize {
            let message = format!("{} emits {} tokens at once, the limit is {most}", node.id, targets.len());
            return Stop::failed(codes::MAX_FANOUT, message);
        }
        for target in targets {
            let to = self.plan.node(*target);
            if node.can_emit_to.as_ref().is_some_and(|allowed| !allowed.contains(target)) {
                let message = format!("{} may not emit to {}", node.id, to.id);
                return Stop::failed(codes::UNAUTHORIZED_ROUTE, message);
            }
            let most = to.limits.max_hops.map_or(limits.max_hops, |own| own.min(limits.max_hops));
            if hop > most {
                let message =
                    format!("a token would come to {} after {hop} hops, the limit is {most}", to.id);
                return Stop::failed(codes::MAX_HOPS, message);
            }
        }
        Ok(())
    }

    pub fn send(&mut self, from: Option<NodeIndex>, to: NodeIndex, hop: u32, value: ValueId) {
        self.memory.tokens += 1;
        let (from, to) = (from.map(|from| self.plan.id(from).clone()), self.plan.id(to).clone());
        let token = Token { id: self.memory.tokens, from, to, hop, at: self.input.at, value };
        let before = self.memory.counter;
        self.memory.counter += 1;
        let moved = self.moved(&token, "emit", before);
        self.events.push(EventData::NodeEmitted(moved));
        self.memory.queued.push_back(token);
    }

    pub fn consume_tokens(&mut self, visit: &Visit, command: Option<CommandId>) {
        if visit.consumed {
            return;
        }
        for token in &visit.tokens {
            let before = self.memory.counter;
            self.memory.counter -= 1;
            let first = visit.tokens.first().map(|token| token.id);
            let moved = NodeToken { visit: first, command, ..self.moved(token, "consume", before) };
            self.events.push(EventData::NodeConsumed(moved));
        }
    }

    fn moved(&self, token: &Token, what: &str, before: u64) -> NodeToken {
        NodeToken {
            token: token.id,
            from: token.from.as_deref().map(str::to_owned),
            to: token.to.as_ref().to_owned(),
            hop: token.hop,
            op_key: format!("{what}:{}", token.id),
            counter_before: before,
            counter_after: self.memory.counter,
            visit: None,
            command: None,
            payload: None,
        }
    }

    /// Returns the run's output: that of the one terminal node that ran, or an object of several. `{}` when
    /// every path ended at an empty exit.
    pub fn output(&mut self) -> Stopped<Payload> {
        let plan = self.plan.clone();
        let is_terminal =
            |node: &Arc<str>| plan.place(node).is_some_and(|place| plan.node(place).is_terminal);
        let mut ended: Vec<Arc<str>> =
            self.memory.ends.iter().filter(|node| is_terminal(node)).cloned().collect();
        ended.sort_by_key(|node| plan.place(node));
        let values = ended.iter().filter_map(|node| Some((node.clone(), self.memory.done.get(node)?.value)));
        let values: Vec<(Arc<str>, ValueId)> = values.collect();
        match values.as_slice() {
            [(_, only)] => Ok(self.memory.values.get(*only).cloned().unwrap_or_default()),
            several => self.compose(several),
        }
    }
}
