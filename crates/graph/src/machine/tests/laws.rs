//! Laws for every run of a graph, checked after every message from its history and its state alone: tokens
//! are conserved, results go where the graph says, joins wait while any node could still send, and everything
//! a run waits for exists.

mod routes;

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::command::Command;
use rhythm_core::event::EventData;
use rhythm_core::fold::{Advanced, End};
use rhythm_core::id::CommandId;
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::program::Snapshot;
use rhythm_core::run::Blocked;

use crate::machine::memory::{Memory, Stage};
use crate::machine::{GraphProgram, WaitingFor};
use routes::GoneOn;

/// First command of a graph with a time limit: the timer for that limit. It may remain when the run ends.
const WALL: CommandId = CommandId(1);

/// Number of a visit, which is the number of its first token.
type VisitId = u64;

#[derive(Clone, Debug, Default)]
pub struct Laws {
    /// Tasks, children and timers that were requested and neither answered nor cancelled.
    outstanding: BTreeSet<CommandId>,
    /// Approvals without a decision.
    asked: BTreeSet<CommandId>,
    /// Tokens emitted and not consumed.
    live: BTreeSet<u64>,
    /// The visit each token came from, and the visit that consumed it.
    parents: BTreeMap<u64, VisitId>,
    taken: BTreeMap<VisitId, (String, Vec<u64>)>,
    /// Visits under way after the last message.
    open: BTreeMap<VisitId, String>,
    gone_on: Vec<GoneOn>,
    /// The graph has been patched, so the rules of the first graph no longer apply.
    patched: bool,
}

impl Laws {
    /// Checks the laws after a message that had an effect.
    pub fn hold(&mut self, program: &GraphProgram, message: &Message, done: &Advanced) {
        let memory = done.state.snapshot.as_ref().map(|snapshot| Memory::load(snapshot).unwrap());
        let Some(memory) = memory else { return };
        self.keep_books(&memory, message, done);
        let before = std::mem::replace(&mut self.open, open_visits(&memory));
        self.patched |= memory.patched.is_some();
        let results = self.results(done, &before);
        for result in &results {
            if let Some(visit) = result.visit {
                self.parents.extend(result.emitted.iter().map(|token| (token.token, visit)));
            }
            if !self.patched {
                self.held_to_routes(program.graph(), result, done);
            }
        }
        if !self.patched {
            self.held_to_joins(program.graph(), &memory, &before, &results);
        }
        match &done.end {
            None => self.held_to_waits(program, &memory, done),
            Some(End::Completed(_)) => {
                assert!(self.live.is_empty(), "it completed with tokens {:?}", self.live);
                if program.graph().limits.wall_time.is_some() {
                    self.outstanding.remove(&WALL);
                }
                assert!(self.outstanding.is_empty(), "it completed while {:?} were open", self.outstanding);
                assert!(self.asked.is_empty(), "it completed without an answer to {:?}", self.asked);
            }
            Some(End::Failed(_) | End::Cancelled(_)) => {}
        }
    }

    /// Records the reopening of a failed run: everything it waits for is tried again.
    pub fn reopen(&mut self, program: &GraphProgram, snapshot: &Snapshot) {
        for waiting in program.waiting(snapshot).unwrap() {
            self.outstanding.extend(waiting.command.into_iter().chain(waiting.timers));
        }
    }

    fn keep_books(&mut self, memory: &Memory, message: &Message, done: &Advanced) {
        match &message.body {
            MessageBody::TaskCompleted(told) => drop(self.outstanding.remove(&told.task)),
            MessageBody::TaskFailed(told) => drop(self.outstanding.remove(&told.task)),
            MessageBody::ChildCompleted(told) => drop(self.outstanding.remove(&told.child)),
            MessageBody::ChildFailed(told) => drop(self.outstanding.remove(&told.child)),
            MessageBody::TimerFired(told) => drop(self.outstanding.remove(&told.timer)),
            // The run had ended, so no answer is expected any more.
            MessageBody::Compensate(_) => self.outstanding.clear(),
            _ => {}
        }
        let has_ended = done.cancel_open || matches!(message.body, MessageBody::Compensate(_));
        if done.cancel_open {
            // A running compensator is cancelled as well. Its answer is still expected.
            self.outstanding.retain(
                |command| matches!(&memory.stage, Stage::Undoing(undoing) if undoing.task == *command),
            );
        }
        for command in &done.commands {
            match command {
                Command::RunTask(task) => assert!(self.outstanding.insert(task.task), "asked twice"),
                Command::StartChild(child) => assert!(self.outstanding.insert(child.child), "asked twice"),
                Command::StartTimer(timer) => assert!(self.outstanding.insert(timer.timer), "asked twice"),
                Command::CancelTask(gone) | Command::CancelTimer(gone) | Command::CancelChild(gone) => {
                    // The fold cancels all open work of a cancelled run anyway.
                    let was_open = self.outstanding.remove(gone) || has_ended;
                    assert!(was_open, "{gone:?} was called off and is not open");
                }
                Command::SendSignal(_) => {}
            }
        }
        for event in &done.events {
            match &event.data {
                EventData::ApprovalCreated(created) => drop(self.asked.insert(created.approval)),
                EventData::ApprovalDecided(decided) => drop(self.asked.remove(&decided.approval)),
                EventData::NodeEmitted(token) => assert!(self.live.insert(token.token), "{token:?} twice"),
                EventData::NodeConsumed(token) => {
                    assert!(self.live.remove(&token.token), "{token:?} is consumed and was not there");
                    let visit = token.visit.expect("a consumed token has a visit");
                    let taken = self.taken.entry(visit).or_insert_with(|| (token.to.clone(), Vec::new()));
                    taken.1.push(token.token);
                }
                _ => {}
            }
        }
    }

    fn held_to_waits(&self, program: &GraphProgram, memory: &Memory, done: &Advanced) {
        assert_eq!(memory.counter, self.live.len() as u64, "the counter is not what the rows say");
        let waits = program.waiting(done.state.snapshot.as_ref().unwrap()).unwrap();
        let mut known: BTreeSet<CommandId> = memory.wall.into_iter().chain(memory.more).collect();
        let mut real = memory.more.is_some();
        for waiting in &waits {
            let command = waiting.command;
            let exists = match &waiting.what {
                WaitingFor::Join(_) | WaitingFor::Turn(_) => continue,
                WaitingFor::Approval => command.is_some_and(|number| self.asked.contains(&number)),
                WaitingFor::Signal(name) => done.state.awaiting.contains(name),
                // The hold is visible from outside.
                WaitingFor::Held(_) => {
                    let names = &done.state.awaiting;
                    names
                        .iter()
                        .any(|name| Blocked::marked(name).is_some_and(|(node, _)| node == waiting.node))
                }
                _ => command.is_some_and(|number| self.outstanding.contains(&number)),
            };
            assert!(exists, "it waits for what is not there: {waiting:?}");
            assert!(waiting.timers.iter().all(|timer| self.outstanding.contains(timer)), "{waiting:?}");
            known.extend(command.into_iter().chain(waiting.timers.iter().copied()));
            real = true;
        }
        assert!(real, "it waits for nothing that could come: {waits:?}");
        let forgotten: Vec<&CommandId> = self.outstanding.difference(&known).collect();
        assert!(forgotten.is_empty(), "{forgotten:?} is under way and nobody waits for it: {waits:?}");
        if !matches!(memory.stage, Stage::Running) {
            return;
        }
        let visited = memory.open.values().filter(|visit| !visit.consumed).flat_map(|visit| &visit.tokens);
        let held = memory.queued.iter().chain(memory.parked.values().flatten()).chain(visited);
        let held: Vec<u64> = held.map(|token| token.id).collect();
        assert_eq!(held.len(), self.live.len(), "tokens are held twice: {held:?}");
        assert_eq!(held.into_iter().collect::<BTreeSet<_>>(), self.live);
        if memory.counter == 0 {
            // A node that asks a person has consumed its token, and continues without one after the answer.
            assert!(memory.open.values().all(|visit| visit.consumed), "{memory:?}");
        }
    }
}

fn open_visits(memory: &Memory) -> BTreeMap<VisitId, String> {
    memory.open.iter().map(|(visit, at)| (*visit, at.node.to_string())).collect()
}
