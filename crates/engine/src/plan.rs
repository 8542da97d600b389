//! Builds a commit from messages: folds all that wait for a run and collects the commands of the transitions
//! into one [`CommitItem`]. Pure: the caller loads blobs and pins the versions of children.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rhythm_core::failure::codes;
use rhythm_core::fold::{Advance, Advanced, End, Fold, RunState, Settled, end_at_once};
use rhythm_core::message::{
    Cancel, ChildCompleted, ChildFailed, Message, MessageBody, SignalReceived, TaskFailed, TimerFired,
};
use rhythm_core::refers::{self, Refs};
use rhythm_core::{
    Actor, BlobRef, Blobs, ChildSpec, Command, CommandId, CommitId, Failure, Grace, MessageId, Millis,
    Program, ProgramError, RunId, TaskSpec, Timestamp,
};

use crate::world::*;

/// Deepest nesting of children; deeper ones are refused.
pub const MAX_DEPTH: usize = 20;

/// Limit for stepping one run in one commit. Remaining messages go into the next commit.
pub const FOLD_AT_MOST: Millis = Millis(20);

/// Result of folding.
pub enum Built {
    /// No waiting message can be consumed now.
    Idle,
    Commit(Box<Plan>),
    NeedBlobs(Vec<BlobRef>),
    /// The program cannot step this run; it must be quarantined.
    Unsteppable(String),
}

/// A commit, except for the parts that need the world.
pub struct Plan {
    pub item: CommitItem,
    /// Children whose versions are pinned before the commit.
    pub children: Vec<ChildSpec>,
    /// Blobs to be stored before the commit.
    pub blobs: Vec<(BlobRef, Arc<[u8]>)>,
}

/// One run about to be stepped.
pub struct CommitBuilder<'a> {
    pub program: &'a dyn Program,
    pub row: &'a RunRow,
    pub fence: Fence,
    pub commit: CommitId,
    pub messages: &'a [Message],
    /// Whether more messages wait than are listed.
    pub more: bool,
    pub now: Timestamp,
    pub blobs: &'a Blobs,
    /// Returns whether folding has taken so long that the remaining messages go into the next commit.
    pub is_long: &'a (dyn Fn() -> bool + Sync),
}

impl CommitBuilder<'_> {
    /// Folds as many messages as one commit may carry. `claim` decides which new tasks to claim at once.
    pub fn plan(&self, claim: &mut dyn FnMut(&TaskSpec) -> bool) -> Built {
        let mut sheet = Sheet::new(self.row, self.fence, self.commit.clone());
        let mut waiting: VecDeque<Message> = order_for_start(self.messages.to_vec()).into();
        let mut fold = Fold::new(self.program, self.row.facts());
        while let Some(place) = next_consumable(&waiting, &sheet.state) {
            // A message that cancels open work begins its own commit: it applies to everything committed
            // before.
            if cancels_open(&waiting[place].body, &sheet.state) && !sheet.item.consumed.is_empty() {
                break;
            }
            if !sheet.item.consumed.is_empty() && (self.is_long)() {
                break;
            }
            let Some(message) = waiting.remove(place) else { break };
            let step = catch_unwind(AssertUnwindSafe(|| {
                fold.advance(&mut sheet.state, &message, (self.now, self.blobs), waiting.len())
            }));
            match step {
                Ok(Ok(Advance::Advanced(advanced))) => sheet.add(self.row, message, *advanced, claim),
                Ok(Ok(Advance::NeedBlobs(wanted))) => return Built::NeedBlobs(wanted),
                Ok(Err(error)) => return self.give_up(error.to_string()),
                Err(panic) => {
                    let detail = format!("the step panicked: {}", panic_text(&*panic));
                    return self.give_up(detail);
                }
            }
            if sheet.item.end.is_some() {
                break;
            }
        }
        if sheet.item.consumed.is_empty() {
            return Built::Idle;
        }
        let settled = fold.settle(&mut sheet.state);
        sheet.blobs.extend(settled);
        let (before, after) = (self.row.state.snapshot.as_ref(), sheet.state.snapshot.as_ref());
        if let Err(error) = refers::new_in_snapshot(self.program, before, after, &mut sheet.refs) {
            return Built::Unsteppable(error.to_string());
        }
        let fused = self.fence == Fence::Fused;
        let more = self.more || next_consumable(&waiting, &sheet.state).is_some();
        sheet.finish(self.row, fused, more)
    }
}

impl CommitBuilder<'_> {
    /// The program cannot step this run. A message that ends the run is still applied, without the program.
    fn give_up(&self, detail: String) -> Built {
        self.end_at_once(&detail).map_or(Built::Unsteppable(detail), Built::Commit)
    }

    /// The run ends because somebody asked for it, and nothing else that waits for it is consumed.
    pub fn end_at_once(&self, why: &str) -> Option<Box<Plan>> {
        let end = self.messages.iter().find(|message| message.body.ends_a_pending_run())?;
        let mut sheet = Sheet::new(self.row, self.fence, self.commit.clone());
        let ended = end_at_once(&sheet.state, end, self.now, why);
        let Advance::Advanced(advanced) = ended else { return None };
        sheet.add(self.row, end.clone(), *advanced, &mut |_| false);
        match sheet.finish(self.row, false, false) {
            Built::Commit(plan) if plan.item.end.is_some() => Some(plan),
            _ => None,
        }
    }
}

/// Returns whether a message may cancel all open work of the run.
fn cancels_open(body: &MessageBody, state: &RunState) -> bool {
    let ends_grace =
        |fired: &TimerFired| Grace::of(&state.awaiting).is_some_and(|grace| grace.timer == fired.timer);
    body.ends_a_pending_run() || matches!(body, MessageBody::TimerFired(fired) if ends_grace(fired))
}

/// Moves a message that ends the run before its start: a run cancelled or past its deadline before its start
/// never starts.
fn order_for_start(mut messages: Vec<Message>) -> Vec<Message> {
    let starts = matches!(messages.first().map(|m| &m.body), Some(MessageBody::Start(_)));
    let end = messages.iter().position(|message| message.body.ends_a_pending_run());
    if let (true, Some(place)) = (starts, end) {
        let end = messages.remove(place);
        messages.insert(0, end);
    }
    messages
}

/// Returns the position of the first message that can be consumed. A signal waits until its name is awaited.
fn next_consumable(waiting: &VecDeque<Message>, state: &RunState) -> Option<usize> {
    waiting.iter().position(|m| m.body.signal_name().is_none_or(|name| state.awaiting.contains(name)))
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

/// The commit under construction.
struct Sheet {
    state: RunState,
    item: CommitItem,
    children: Vec<ChildSpec>,
    blobs: Vec<(BlobRef, Arc<[u8]>)>,
    /// Blobs the new snapshot refers to.
    refs: Refs,
    /// Trace context of the message being applied.
    trace: Option<String>,
    /// Verdicts on task failures; the last one for a task counts.
    settled: BTreeMap<CommandId, bool>,
}

impl Sheet {
    fn new(row: &RunRow, fence: Fence, commit: CommitId) -> Self {
        let item = CommitItem {
            created_at: Some(row.created_at),
            revision: row.revision,
            arrived: row.arrived,
            ..CommitItem::new(row.id.clone(), commit, fence, RunState::default())
        };
        let (children, blobs, settled) = (Vec::new(), Vec::new(), BTreeMap::new());
        let state = row.state.clone();
        Self { state, item, children, blobs, refs: Refs::new(), trace: None, settled }
    }

    fn add(
        &mut self,
        row: &RunRow,
        message: Message,
        advanced: Advanced,
        claim: &mut dyn FnMut(&TaskSpec) -> bool,
    ) {
        self.item.consumed.push(message.id.clone());
        if advanced.cancel_open {
            self.item.cancel_open = Some(self.cancel_message(row, &advanced));
        }
        self.trace = message.trace.clone();
        for command in advanced.commands {
            self.lower(row, command, claim);
        }
        if matches!(advanced.end, Some(End::Failed(_))) {
            self.item.failed_by = Some(message);
        }
        self.item.events.extend(advanced.events);
        self.item.end = advanced.end;
        self.state = advanced.state;
        self.blobs.extend(advanced.blobs);
        self.settled.extend(advanced.settled.iter().map(|settled| (settled.task, settled.handled)));
    }

    /// Cancels all children. If the run did not wait for its own clean-up, theirs is not waited for either.
    fn cancel_message(&self, row: &RunRow, advanced: &Advanced) -> Message {
        let at_once = self.state.cancelling && matches!(advanced.end, Some(End::Cancelled(_)));
        Message {
            id: MessageId::new(format!("cancel:{}:{}", row.id, advanced.state.seq)),
            at: row.state.at,
            actor: Actor::run(&row.id),
            trace: None,
            body: MessageBody::Cancel(Cancel { at_once, ..Cancel::because("its parent was cancelled") }),
        }
    }

    /// Translates a command into writes of the commit.
    fn lower(&mut self, row: &RunRow, command: Command, claim: &mut dyn FnMut(&TaskSpec) -> bool) {
        match command {
            Command::RunTask(spec) => {
                let claim = claim(&spec);
                self.item.tasks.push(NewTask {
                    id: row.id.task(spec.task),
                    run: Some((row.id.clone(), spec.task)),
                    name: spec.name,
                    input: spec.input,
                    options: spec.options,
                    actor: Actor::run(&row.id),
                    trace: self.trace.clone(),
                    claim,
                });
            }
            Command::CancelTask(task) => {
                let id = row.id.task(task);
                let before = self.item.tasks.len();
                self.item.tasks.retain(|new| new.id != id);
                if self.item.tasks.len() == before {
                    self.item.cancel_tasks.push(id);
                } else {
                    // The task was requested in this same commit: it is not created, but its answer is
                    // delivered.
                    let failure = Failure::cancelled("the task was cancelled before it ran");
                    let body = MessageBody::TaskFailed(TaskFailed { task, failure });
                    self.tell(&row.id, MessageId::task(task), Actor::system(), body);
                }
            }
            Command::StartTimer(timer) => self.item.timers.push(timer),
            Command::CancelTimer(timer) => {
                self.item.timers.retain(|new| new.timer != timer);
                self.item.cancel_timers.push(timer);
            }
            Command::StartChild(child) => self.children.push(child),
            Command::CancelChild(child) => {
                // The id holds the event number, because a reopened run may cancel the child again.
                let id = MessageId::new(format!("cancel:{}:{child}:{}", row.id, self.state.seq));
                let body = MessageBody::Cancel(Cancel::because("cancelled by its parent"));
                self.tell(&row.id.child(child), id, Actor::run(&row.id), body);
            }
            Command::SendSignal(signal) => {
                let id = MessageId::from_run(&row.id, signal.signal);
                let body = SignalReceived { name: signal.name, payload: signal.payload };
                self.tell(&signal.to, id, Actor::run(&row.id), MessageBody::Signal(body));
            }
        }
    }

    fn tell(&mut self, to: &RunId, id: MessageId, actor: Actor, body: MessageBody) {
        let message = Message { id, at: self.state.at, actor, trace: self.trace.clone(), body };
        self.item.deliveries.push(Delivery { to: to.clone(), message });
    }

    fn finish(mut self, row: &RunRow, fused: bool, more: bool) -> Built {
        self.item.more = more || (fused && asks_anew(&row.state.awaiting, &self.state.awaiting));
        if let (Some(parent), Some(end)) = (&row.parent, &self.item.end) {
            let body = answer_to_parent(parent.child, end.clone());
            self.tell(&parent.run.clone(), MessageId::child(parent.child), Actor::run(&row.id), body);
        }
        self.item.state = self.state;
        self.item.blobs = referred(&self.item, self.refs);
        let settled = self.settled.into_iter().map(|(task, handled)| Settled { task, handled });
        self.item.settled = settled.collect();
        let depth = row.id.as_str().matches('.').count();
        if depth >= MAX_DEPTH {
            for child in std::mem::take(&mut self.children) {
                let message = format!("runs may nest {MAX_DEPTH} deep");
                let failure = Failure::permanent(codes::LIMIT_EXCEEDED, message);
                refuse_child(&mut self.item, &child, failure);
            }
        }
        Built::Commit(Box::new(Plan { item: self.item, children: self.children, blobs: self.blobs }))
    }
}

/// Returns every blob an item refers to, including those of its snapshot (`refs`). The events and deliveries
/// cover the inputs of tasks and children, and the run's output.
pub fn referred(item: &CommitItem, mut refs: Refs) -> Vec<String> {
    item.events.iter().for_each(|event| refers::of_event(&event.data, &mut refs));
    item.deliveries.iter().for_each(|delivery| refers::of_message(&delivery.message.body, &mut refs));
    refs.into_iter().collect()
}

/// Builds the commit that moves a run to another version. The world takes over the run's claim when it writes
/// it.
pub fn plan_change(
    after: &dyn Program,
    row: &RunRow,
    commit: CommitId,
    message: Message,
    advanced: Advanced,
) -> Result<Plan, ProgramError> {
    let mut sheet = Sheet::new(row, Fence::Fused, commit);
    sheet.add(row, message, advanced, &mut |_| false);
    let (old, new) = (row.state.snapshot.as_ref(), sheet.state.snapshot.as_ref());
    refers::new_in_snapshot(after, old, new, &mut sheet.refs)?;
    match sheet.finish(row, false, true) {
        Built::Commit(plan) => Ok(*plan),
        Built::Idle | Built::NeedBlobs(_) | Built::Unsteppable(_) => {
            unreachable!("a finished sheet is a commit")
        }
    }
}

/// Returns whether the run newly awaits a name. A fused commit has not read the inbox, where that signal may
/// already wait.
fn asks_anew(before: &BTreeSet<String>, after: &BTreeSet<String>) -> bool {
    after.difference(before).next().is_some()
}

/// Adds the failure answer for a child that cannot be started.
pub fn refuse_child(item: &mut CommitItem, child: &ChildSpec, failure: Failure) {
    let body = MessageBody::ChildFailed(ChildFailed { child: child.child, failure });
    let (id, actor) = (MessageId::child(child.child), Actor::system());
    let message = Message { id, at: item.state.at, actor, trace: None, body };
    item.deliveries.push(Delivery { to: item.run.clone(), message });
}

fn answer_to_parent(child: CommandId, end: End) -> MessageBody {
    match end {
        End::Completed(output) => MessageBody::ChildCompleted(ChildCompleted { child, output }),
        End::Failed(failure) => MessageBody::ChildFailed(ChildFailed { child, failure }),
        End::Cancelled(reason) => {
            MessageBody::ChildFailed(ChildFailed { child, failure: Failure::cancelled(reason) })
        }
    }
}
