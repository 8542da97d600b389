//! A commit under construction: begins as the plain fold of the given messages; tests add to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rhythm_core::event::{Completed, Event, EventData, Failed, Marker};
use rhythm_core::fold::{End, RunState, Settled};
use rhythm_core::message::{Cancel, MessageBody, TimerFired};
use rhythm_core::{
    Actor, CommandId, CommitId, Message, MessageId, Payload, RunId, Snapshot, TimerSpec, Timestamp,
};
use rhythm_engine::world::*;

use super::forms::*;

/// Every draft has its own commit id; sending the same draft twice repeats a commit.
static DRAFTS: AtomicU64 = AtomicU64::new(1);

#[derive(Clone, Debug)]
pub struct Draft {
    pub item: CommitItem,
}

impl Draft {
    /// Consumes every message of the claim, and waits.
    pub fn of(claimed: &ClaimedRun) -> Draft {
        let fence = Fence::Claim(claimed.claim);
        Self::begin(&claimed.run, fence).consuming(&claimed.messages)
    }

    /// Consumes the result of a task that its worker just completed, and waits.
    pub fn fused(run: &RunRow, task: &ClaimedTask) -> Draft {
        Self::begin(run, Fence::Fused).finishing(task)
    }

    /// Consumes messages that were never delivered, for a run without a holder.
    pub fn to_begin(run: &RunRow, messages: &[Message]) -> Draft {
        Self::begin(run, Fence::Fused).consuming(messages)
    }

    /// Consumes a timer that fires with this commit, and waits.
    pub fn waking(due: &DueRun) -> Draft {
        let body = MessageBody::TimerFired(TimerFired { timer: due.timer });
        let fired = Message { id: MessageId::timer(due.timer), ..message("", body) };
        Self::begin(&due.run, Fence::Fused).consuming(&[fired]).with(|item| item.fired.push(due.timer))
    }

    fn begin(run: &RunRow, fence: Fence) -> Draft {
        let snapshot = Snapshot { format: 7, bytes: Arc::from(format!("after {}", run.revision).as_bytes()) };
        let state = RunState { snapshot: Some(snapshot), ..run.state.clone() };
        let commit = CommitId(format!("commit-{}", DRAFTS.fetch_add(1, Ordering::Relaxed)));
        let item = CommitItem {
            revision: run.revision,
            arrived: run.arrived,
            ..CommitItem::new(run.id.clone(), commit, fence, state)
        };
        Draft { item }
    }

    pub fn with(mut self, change: impl FnOnce(&mut CommitItem)) -> Draft {
        change(&mut self.item);
        self
    }

    pub fn consuming(mut self, messages: &[Message]) -> Draft {
        for message in messages {
            self.item.consumed.push(message.id.clone());
            self.write(EventData::of_message(&message.body), Some(message));
        }
        self
    }

    /// Consumes only these of the messages the claim listed.
    pub fn only(mut self, messages: &[Message]) -> Draft {
        self.item.state.seq -= self.item.events.len() as u64;
        self.item.events.clear();
        self.item.consumed.clear();
        self.consuming(messages)
    }

    /// Ends one more task with this commit.
    pub fn finishing(mut self, task: &ClaimedTask) -> Draft {
        self.item.finished.push(FinishedTask { message: None, ..completed(task) });
        self.consuming(&[result_of(task)])
    }

    pub fn marker(mut self, name: &str) -> Draft {
        self.write(EventData::Marker(Marker { name: name.to_owned(), data: Payload::null() }), None);
        self
    }

    /// Adds a row without a message as its cause.
    pub fn operator(mut self, data: EventData) -> Draft {
        self.write(data, None);
        if let Some(row) = self.item.events.last_mut() {
            row.cause = None;
        }
        self
    }

    pub fn awaiting(self, names: &[&str]) -> Draft {
        self.with(|item| item.state.awaiting = names.iter().map(|&name| name.to_owned()).collect())
    }

    /// Creates task `number`.
    pub fn task(self, number: u64) -> Draft {
        self.task_as(number, |task| task)
    }

    pub fn task_as(self, number: u64, change: impl FnOnce(NewTask) -> NewTask) -> Draft {
        self.with(|item| item.tasks.push(change(task_of(&item.run, number))))
    }

    /// Creates task `number` and claims it at once.
    pub fn own_task(self, number: u64) -> Draft {
        self.task_as(number, |task| NewTask { claim: true, ..task })
    }

    pub fn timer(self, number: u64, fire_at: Timestamp) -> Draft {
        self.with(|item| item.timers.push(TimerSpec { timer: CommandId(number), fire_at, label: None }))
    }

    pub fn child(self, number: u64) -> Draft {
        self.with(|item| {
            let child = CommandId(number);
            let parent = Some(Parent { run: item.run.clone(), child });
            item.children.push(NewRun { parent, ..new_run(item.run.child(child).as_str()) });
        })
    }

    /// Sends a message with the commit.
    pub fn tell(self, to: &RunId, message: Message) -> Draft {
        self.with(|item| item.deliveries.push(Delivery { to: to.clone(), message }))
    }

    /// Adds the run's verdict on the failure of task `number`.
    pub fn settles(self, number: u64, handled: bool) -> Draft {
        self.with(|item| item.settled.push(Settled { task: CommandId(number), handled }))
    }

    pub fn completed(mut self) -> Draft {
        let output = json("\"the end\"");
        self.write(EventData::WorkflowCompleted(Completed { output: output.clone() }), None);
        self.awaiting(&[]).with(|item| item.end = Some(End::Completed(output)))
    }

    /// Fails the run; the last message consumed is stored as the cause.
    pub fn failed(mut self) -> Draft {
        let by = self.item.events.iter().rev().find_map(Event::to_message);
        self.write(EventData::WorkflowFailed(Failed { failure: failure("BROKEN") }), None);
        self.with(|item| {
            item.end = Some(End::Failed(failure("BROKEN")));
            item.failed_by = by;
        })
    }

    pub fn cancelled(mut self) -> Draft {
        let reason = "enough".to_owned();
        self.write(EventData::WorkflowCancelled(Cancel::because(reason.clone())), None);
        self.awaiting(&[]).with(|item| item.end = Some(End::Cancelled(reason)))
    }

    fn write(&mut self, data: EventData, message: Option<&Message>) {
        let state = &mut self.item.state;
        state.seq += 1;
        state.at = message.map_or(state.at, |message| message.at.max(state.at));
        let cause =
            self.item.events.iter().rev().find(|event| event.message.is_some()).map(|event| event.seq);
        self.item.events.push(Event {
            seq: state.seq,
            at: state.at,
            cause: if message.is_some() { None } else { cause },
            message: message.map(|message| message.id.clone()),
            actor: message.map_or_else(Actor::system, |message| message.actor.clone()),
            trace: message.and_then(|message| message.trace.clone()),
            data,
        });
    }
}
