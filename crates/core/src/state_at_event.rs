//! Folding a history once more, up to any event: what the run was then, and what it had under way. With the facts of
//! another run it becomes that run's past.

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

/// A run after some of its history.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub state: RunState,
    /// How it had ended, if it had.
    pub end: Option<End>,
    /// The rows, as these facts have them.
    pub events: Vec<Event>,
    pub open: Open,
    /// Contents that left their inline place.
    pub blobs: Vec<(BlobRef, Arc<[u8]>)>,
    /// The version it went by at the end.
    pub version: Option<Version>,
}

/// What a run has started and got no answer from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Open {
    pub tasks: BTreeMap<CommandId, TaskSpec>,
    pub timers: BTreeMap<CommandId, TimerSpec>,
    pub children: BTreeMap<CommandId, ChildSpec>,
    /// Asked to stop, with the answer still to come.
    pub cancelled_tasks: BTreeSet<CommandId>,
    pub cancelled_children: BTreeSet<CommandId>,
}

/// The rows up to the end of the transition a row belongs to: a transition is written whole. Nothing when there is no
/// such row.
pub fn up_to(history: &[Event], seq: u64) -> Option<&[Event]> {
    let place = history.iter().position(|row| row.seq == seq)?;
    let message = history[place].cause.unwrap_or(seq);
    let more = history[place + 1..].iter().take_while(|row| row.cause == Some(message)).count();
    history.get(..=place + more)
}

/// Folds whole transitions. `load` is asked for blobs the steps look into.
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
            // What an operator wrote.
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
        // A run that failed stays failed with another version, until it is opened.
        let still = past.end.take_if(|_| matches!(message.body, MessageBody::VersionChanged(_)));
        // A run that failed is as it was before, and what failed it comes again when it is opened.
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
    /// What a message answered, and what it asked for.
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
                // It was sent, and is not sent again.
                Command::SendSignal(_) => {}
            }
        }
    }

    /// Numbers are unique within a run, whatever they are of.
    fn answered(&mut self, number: CommandId) {
        self.tasks.remove(&number);
        self.timers.remove(&number);
        self.children.remove(&number);
        self.cancelled_tasks.remove(&number);
        self.cancelled_children.remove(&number);
    }
}
