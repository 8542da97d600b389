//! Folds a history again, up to any event: the state of the run at that point, and its open work. With the
//! facts of another run, the result becomes that run's past (a fork).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::command::{ChildSpec, Command, TimerSpec};
use crate::event::{Event, EventData};
use crate::fold::{Advance, Divergence, End, RunState, by_hash};
use crate::id::{CommandId, Version};
use crate::lineage::Lineage;
use crate::message::MessageBody;
use crate::payload::{BlobRef, Blobs};
use crate::task::TaskSpec;

/// State of a run after part of its history.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub state: RunState,
    /// The end of the run, if it had ended.
    pub end: Option<End>,
    /// The rows, recomputed with the given facts.
    pub events: Vec<Event>,
    pub open: Open,
    /// Contents moved out of inline values.
    pub blobs: Vec<(BlobRef, Arc<[u8]>)>,
    /// The run's version at the end of these rows.
    pub version: Option<Version>,
}

/// Work that a run has started and that has not been answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Open {
    pub tasks: BTreeMap<CommandId, TaskSpec>,
    pub timers: BTreeMap<CommandId, TimerSpec>,
    pub children: BTreeMap<CommandId, ChildSpec>,
    /// Tasks asked to stop whose answer is still to come.
    pub cancelled_tasks: BTreeSet<CommandId>,
    pub cancelled_children: BTreeSet<CommandId>,
}

/// Returns the rows up to the end of the transition that row `seq` belongs to, because a transition is
/// written whole. Returns `None` when there is no such row.
pub fn up_to(history: &[Event], seq: u64) -> Option<&[Event]> {
    let place = history.iter().position(|row| row.seq == seq)?;
    let message = history[place].cause.unwrap_or(seq);
    let more = history[place + 1..].iter().take_while(|row| row.cause == Some(message)).count();
    history.get(..=place + more)
}

/// Folds whole transitions and returns the state after them. `load` fetches the blobs that steps look into.
/// Fails when a recomputed row has another type than the recorded one, or when a message cannot be stepped.
pub fn refold<E: From<Divergence>>(
    mut lineage: Lineage<'_>,
    history: &[Event],
    mut load: impl FnMut(&[BlobRef]) -> Result<Blobs, E>,
) -> Result<Past, E> {
    let mut past = Past::default();
    let mut made = Blobs::new();
    let mut rows = history.iter().peekable();
    while let Some(row) = rows.next() {
        let Some(message) = row.to_message() else {
            // A row written by an operator.
            if matches!(row.data, EventData::Reopened(_)) {
                past.end = None;
            }
            past.state.seq = row.seq;
            past.state.at = past.state.at.max(row.at);
            past.events.push(row.clone());
            continue;
        };
        let mut blobs = Blobs::new();
        let advanced = loop {
            match lineage.advance(&past.state, (&message, rows.peek().copied()), (row.at, &blobs), &made) {
                Ok(Advance::Advanced(advanced)) => break advanced,
                Ok(Advance::NeedBlobs(wanted)) => blobs.extend(load(&wanted)?),
                Err(error) => return Err(Divergence::Unsteppable { seq: row.seq, error }.into()),
            }
        };
        for computed in &advanced.events[1..] {
            let recorded = rows.next_if(|row| row.cause == Some(message_seq(&advanced.events)));
            let kind = recorded.map_or("nothing", |row| row.data.kind());
            if kind != computed.data.kind() {
                let (seq, recorded, computed) =
                    (computed.seq, kind.to_owned(), computed.data.kind().to_owned());
                return Err(Divergence::Different { seq, recorded, computed }.into());
            }
        }
        // A failed run that changes its version stays failed until it is reopened.
        let still = past.end.take_if(|_| matches!(message.body, MessageBody::VersionChanged(_)));
        // A failed run keeps its open work from before the failing message, which is delivered again when the
        // run is reopened.
        if !matches!(advanced.end, Some(End::Failed(_))) {
            past.open.follow(&message.body, advanced.cancel_open, advanced.commands);
        }
        past.state = advanced.state;
        past.end = advanced.end.or(still);
        past.events.extend(advanced.events);
        made.extend(by_hash(&advanced.blobs));
        past.blobs.extend(advanced.blobs);
    }
    past.version = Some(lineage.facts().version.clone());
    Ok(past)
}

fn message_seq(events: &[Event]) -> u64 {
    events.first().map_or(0, |event| event.seq)
}

impl Open {
    /// Removes the work that a message answered and adds the work that its commands start.
    pub fn follow(&mut self, message: &MessageBody, cancel_open: bool, commands: Vec<Command>) {
        match message {
            MessageBody::TaskCompleted(done) => self.answered(done.task),
            MessageBody::TaskFailed(failed) => self.answered(failed.task),
            MessageBody::ChildCompleted(done) => self.answered(done.child),
            MessageBody::ChildFailed(failed) => self.answered(failed.child),
            MessageBody::TimerFired(fired) => self.answered(fired.timer),
            _ => {}
        }
        if cancel_open {
            self.cancelled_tasks.extend(std::mem::take(&mut self.tasks).into_keys());
            self.cancelled_children.extend(std::mem::take(&mut self.children).into_keys());
        }
        for command in commands {
            match command {
                Command::RunTask(task) => drop(self.tasks.insert(task.task, task)),
                Command::StartTimer(timer) => drop(self.timers.insert(timer.timer, timer)),
                Command::StartChild(child) => drop(self.children.insert(child.child, child)),
                Command::CancelTimer(timer) => drop(self.timers.remove(&timer)),
                Command::CancelTask(task) => {
                    if self.tasks.remove(&task).is_some() {
                        self.cancelled_tasks.insert(task);
                    }
                }
                Command::CancelChild(child) => {
                    if self.children.remove(&child).is_some() {
                        self.cancelled_children.insert(child);
                    }
                }
                // The signal was sent already and is not sent again.
                Command::SendSignal(_) => {}
            }
        }
    }

    /// Removes the work with this number. Numbers are unique within a run across all kinds of work.
    fn answered(&mut self, number: CommandId) {
        self.tasks.remove(&number);
        self.timers.remove(&number);
        self.children.remove(&number);
        self.cancelled_tasks.remove(&number);
        self.cancelled_children.remove(&number);
    }
}
