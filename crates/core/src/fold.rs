//! The fold: applies messages to a run, in the same way for every kind of program. Turns one message into
//! history rows, commands and the next state. Programs decide what a run does. This file decides how
//! cancellation, deadlines and failures end it, by message and state of the run:
//!
//! | message | no snapshot | running | cancelling | deadline clean-up | compensating |
//! |---|---|---|---|---|---|
//! | `Cancel` | cancelled | cancel, step | cancelled if it insists, else record | see 1 | step |
//! | `DeadlineReached` | give up | cancel, step if it catches it, else give up | see 2 | record | record |
//! | grace timer fires | - | - | cancel, step | cancel, step | - |
//! | any other | step | step | step | step | step |
//!
//! - cancelled: the run ends cancelled at once. record: only the history row is written.
//! - cancel: everything the run had started is cancelled. it insists: `at_once`, or its sender is not a run.
//! - give up: [`Program::give_up`] may compensate; then the run fails with `DEADLINE_EXCEEDED`.
//! - it catches it: see [`Program::catches_deadline`].
//! - 1: fails with `DEADLINE_EXCEEDED` if `at_once`, or if it insists and is the second request; else record
//!   and count it as the first.
//! - 2: record in a grace period. Else step if it catches it, or fail at once; open work is kept for a step.
//!
//! A step that completes or fails ends a cancelling run as cancelled, unless its deadline passed first. A
//! step whose snapshot is above [`SNAPSHOT_MAX_BYTES`] gives up with `LIMIT_EXCEEDED`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::command::{Command, TimerSpec};
use crate::event::{
    ChildStarted, Completed, Event, EventData, Failed, SignalRequested, SignalSent, StepScheduled,
    TimerScheduled, Warning,
};
use crate::failure::{Failure, codes};
use crate::id::CommandId;
use crate::lineage::Lineage;
use crate::message::{Cancel, Message, MessageBody, VersionChanged};
use crate::payload::{BlobRef, Blobs, Contents, INLINE_MAX_BYTES, Payload};
use crate::program::{
    Program, ProgramError, Progress, RunFacts, Session, Snapshot, Step, StepInput, Transition,
};
use crate::run::{Compensation, Grace};
use crate::time::Timestamp;

/// A snapshot above this size leaves a warning in the history.
pub const SNAPSHOT_WARN_BYTES: usize = 256 * 1024;
/// A snapshot above this size fails the run.
pub const SNAPSHOT_MAX_BYTES: usize = 1024 * 1024;

/// The state of a run between two messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunState {
    pub snapshot: Option<Snapshot>,
    /// Number of history rows so far.
    pub seq: u64,
    /// The run's own time, which never decreases.
    pub at: Timestamp,
    pub awaiting: BTreeSet<String>,
    /// A cancellation was requested. The run ends cancelled however its program ends, unless its deadline
    /// passed first.
    pub cancelling: bool,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Completed(Payload),
    Failed(Failure),
    Cancelled(String),
}

/// The effect of one message on a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Advanced {
    pub state: RunState,
    pub events: Vec<Event>,
    pub commands: Vec<Command>,
    /// Cancel everything the run started before this message.
    pub cancel_open: bool,
    pub end: Option<End>,
    /// Large values moved out of rows and commands. Store them before the commit.
    pub blobs: Contents,
    /// Task failures that this message handled or that failed the run.
    pub settled: Vec<Settled>,
}

/// The run's verdict on the failure of one of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    pub task: CommandId,
    /// The program handled the failure and went on, so no operator has to act. False when the failure failed
    /// the run, or started its compensation.
    pub handled: bool,
}

/// Result of applying a message: the effect, or the blobs that the caller must load before it calls again.
#[derive(Clone, Debug, PartialEq)]
pub enum Advance {
    Advanced(Box<Advanced>),
    NeedBlobs(Vec<BlobRef>),
}

/// Applies one message. `now` is the world's time; the run's own time is the later of `now` and the time of
/// its last message. Returns [`Advance::NeedBlobs`] when the program looks into a blob that is not in
/// `blobs`: call again with them. Fails when the program cannot step the message, for example because its
/// snapshot is damaged.
pub fn advance(
    program: &dyn Program,
    facts: &RunFacts,
    state: &RunState,
    message: &Message,
    now: Timestamp,
    blobs: &Blobs,
) -> Result<Advance, ProgramError> {
    let at = now.max(state.at);
    let mut page = Page::open(state, message, at);
    let grace = Grace::of(&state.awaiting);
    page.late = grace.is_some_and(|grace| !grace.cancelled);
    match &message.body {
        // The deadline was already handled.
        MessageBody::DeadlineReached if grace.is_some() => return Ok(page.unchanged(state)),
        MessageBody::DeadlineReached if state.snapshot.is_some() && program.catches_deadline() => {
            // An earlier cancellation has already cancelled the open work. Work that is open now belongs to
            // the clean-up.
            page.cancel_open = !state.cancelling;
            page.late = !state.cancelling;
        }
        MessageBody::DeadlineReached => {
            // The run has failed or was cancelled before, and is compensating.
            if state.awaiting.contains(Compensation::UNDER_WAY) {
                return Ok(page.unchanged(state));
            }
            let failure = past_deadline();
            let input = StepInput { facts, snapshot: state.snapshot.as_ref(), message, at, blobs };
            return give_up(program, input, (page, state), failure);
        }
        // The run cleans up because of its deadline and fails in the end. A first cancel does not change
        // that; a second one ends it at once.
        MessageBody::Cancel(cancel) if page.late => {
            if state.cancelling && insists(message, cancel) || cancel.at_once {
                page.cancel_open = true;
                return Ok(page.fail(state, past_deadline()));
            }
            page.cancelling = true;
            return Ok(page.unchanged(state));
        }
        // A second request, or one for a run that never started, ends the run at once.
        MessageBody::Cancel(cancel)
            if state.snapshot.is_none() || state.cancelling && insists(message, cancel) =>
        {
            page.cancel_open = true;
            return Ok(page.cancelled(state, cancel.reason.clone()));
        }
        // A reopened parent that failed again cancels its child a second time while the child still cleans
        // up.
        MessageBody::Cancel(_) if state.cancelling => return Ok(page.unchanged(state)),
        MessageBody::Cancel(_) => {
            // Compensation goes on, because a cancel would start it too.
            page.cancel_open = !state.awaiting.contains(Compensation::UNDER_WAY);
            page.cancelling = true;
        }
        // The clean-up took longer than its grace period.
        MessageBody::TimerFired(fired) if grace.is_some_and(|grace| grace.timer == fired.timer) => {
            page.cancel_open = true;
        }
        _ => {}
    }
    let input = StepInput { facts, snapshot: state.snapshot.as_ref(), message, at, blobs };
    match program.step(input)? {
        Step::NeedBlobs(wanted) => Ok(Advance::NeedBlobs(wanted)),
        Step::Transition(transition) => match oversize(&transition.snapshot) {
            Some(failure) => give_up(program, input, (page, state), failure),
            None => Ok(page.transition(facts, state, transition)),
        },
    }
}

/// Returns the failure of a run whose deadline has passed.
pub fn past_deadline() -> Failure {
    Failure::permanent(codes::DEADLINE_EXCEEDED, "the run's deadline has passed")
}

/// Returns the failure of a run whose deadline has passed and whose clean-up failed as well.
pub fn late_failure(of_clean_up: &Failure) -> Failure {
    let late = past_deadline();
    Failure { message: format!("{}; its clean-up failed: {of_clean_up}", late.message), ..late }
}

/// Ends a run whose program cannot be stepped, without calling it. A `Cancel` ends it as cancelled unless its
/// deadline passed first; otherwise it fails with `DEADLINE_EXCEEDED`. A warning row records `why`, so that
/// replaying the history leaves the program out too.
pub fn end_at_once(state: &RunState, message: &Message, now: Timestamp, why: &str) -> Advance {
    let mut page = Page::open(state, message, now.max(state.at));
    page.cancel_open = true;
    let warning = Warning { code: codes::ENDED_WITHOUT_PROGRAM.into(), message: why.to_owned() };
    page.write(EventData::Warning(warning));
    match &message.body {
        MessageBody::Cancel(cancel) if Grace::of(&state.awaiting).is_none_or(|grace| grace.cancelled) => {
            page.cancelled(state, cancel.reason.clone())
        }
        _ => page.fail(state, past_deadline()),
    }
}

/// Moves a run to another version of its workflow. `before` has stepped it so far; `after` steps every later
/// message. `facts` carry the new version. Fails with `Misfit` when `after` cannot continue from the run's
/// position, or when the new snapshot is too large.
pub fn change_version(
    (before, after): (&dyn Program, &dyn Program),
    facts: &RunFacts,
    state: &RunState,
    (message, changed): (&Message, &VersionChanged),
    now: Timestamp,
    blobs: &Blobs,
) -> Result<Advance, ProgramError> {
    let at = now.max(state.at);
    let page = Page::open(state, message, at);
    let Some(snapshot) = &state.snapshot else {
        return Ok(page.close(None, state.awaiting.clone(), Vec::new(), None));
    };
    let input = StepInput { facts, snapshot: Some(snapshot), message, at, blobs };
    match after.take_over(before, input, changed)? {
        Step::NeedBlobs(wanted) => Ok(Advance::NeedBlobs(wanted)),
        Step::Transition(transition) => match oversize(&transition.snapshot) {
            Some(failure) => {
                Err(ProgramError::Misfit { code: failure.code.clone(), message: failure.to_string() })
            }
            None => Ok(page.transition(facts, state, transition)),
        },
    }
}

/// Works like [`advance`], and also takes blobs from `made`. Requests only blobs that are in neither set.
pub fn advance_with(
    program: &dyn Program,
    facts: &RunFacts,
    state: &RunState,
    message: &Message,
    (now, blobs): (Timestamp, &Blobs),
    made: &Blobs,
) -> Result<Advance, ProgramError> {
    let mut all: Option<Blobs> = None;
    loop {
        let known = all.as_ref().unwrap_or(blobs);
        let wanted = match advance(program, facts, state, message, now, known)? {
            Advance::NeedBlobs(wanted) => wanted,
            advanced => return Ok(advanced),
        };
        let found: Blobs = wanted
            .iter()
            .filter_map(|blob| Some((blob.hash.clone(), made.get(&blob.hash)?.clone())))
            .collect();
        let is_missing = |blob: &BlobRef| !found.contains_key(&blob.hash);
        if wanted.iter().any(is_missing) {
            return Ok(Advance::NeedBlobs(wanted.into_iter().filter(is_missing).collect()));
        }
        all.get_or_insert_with(|| blobs.clone()).extend(found);
    }
}

/// Returns the contents keyed by hash, the form in which steps look them up.
pub fn by_hash(blobs: &[(BlobRef, Arc<[u8]>)]) -> impl Iterator<Item = (String, Arc<[u8]>)> {
    blobs.iter().map(|(blob, content)| (blob.hash.clone(), content.clone()))
}

/// Fails the run for a reason outside its program. The program may compensate first: then the run waits
/// instead.
fn give_up(
    program: &dyn Program,
    input: StepInput<'_>,
    (mut page, state): (Page, &RunState),
    failure: Failure,
) -> Result<Advance, ProgramError> {
    // The deadline passed first, so the run fails because of it. The message names the later failure too.
    let failure =
        if page.late && failure.code != codes::DEADLINE_EXCEEDED { late_failure(&failure) } else { failure };
    // A cancelled run has compensated already, or is doing so.
    let asked = if page.cancelling { None } else { program.give_up(input, &failure)? };
    match asked {
        Some(Step::NeedBlobs(wanted)) => Ok(Advance::NeedBlobs(wanted)),
        Some(Step::Transition(last))
            if last.progress == Progress::Waiting && oversize(&last.snapshot).is_none() =>
        {
            Ok(page.transition(input.facts, state, last))
        }
        _ => {
            page.cancel_open |= matches!(input.message.body, MessageBody::DeadlineReached);
            Ok(page.fail(state, failure))
        }
    }
}

/// Returns whether a repeated cancel ends the run without waiting for its clean-up.
fn insists(message: &Message, cancel: &Cancel) -> bool {
    cancel.at_once || !message.actor.is_run()
}

/// Applies the messages of one commit in order, each as [`advance`] does. Decodes and encodes the snapshot as
/// rarely as the program allows.
pub struct Fold<'a> {
    program: &'a dyn Program,
    facts: RunFacts,
    session: Option<Box<dyn Session + 'a>>,
    /// Contents that left the snapshot during this commit. No world stores them yet.
    made: Blobs,
}

/// With fewer messages left, keeping the snapshot decoded costs more than it saves.
const WORTH_A_SESSION: usize = 2;

impl<'a> Fold<'a> {
    /// Returns a fold for one commit of a run.
    pub fn new(program: &'a dyn Program, facts: RunFacts) -> Self {
        Self { program, facts, session: None, made: Blobs::new() }
    }

    /// Applies one message; `more` messages may follow. The snapshot in `state` is current only after
    /// [`Self::settle`]. Fails as [`advance`] does.
    pub fn advance(
        &mut self,
        state: &mut RunState,
        message: &Message,
        (now, blobs): (Timestamp, &Blobs),
        more: usize,
    ) -> Result<Advance, ProgramError> {
        if self.session.is_none() && more >= WORTH_A_SESSION {
            self.session = state.snapshot.as_ref().and_then(|snapshot| self.program.session(snapshot));
        }
        if let Some(session) = &mut self.session {
            let (facts, at) = (&self.facts, now.max(state.at));
            let input = StepInput { facts, snapshot: state.snapshot.as_ref(), message, at, blobs };
            if let Some(mut noted) = session.note(input) {
                let mut page = Page::open(state, message, at);
                noted.commands.iter_mut().for_each(|command| page.spill_command(command));
                page.blobs.append(&mut noted.blobs);
                page.settled.extend(noted.read.iter().map(|task| Settled { task: *task, handled: true }));
                self.made.extend(by_hash(&page.blobs));
                noted.events.into_iter().for_each(|event| page.tell(event));
                page.tell_commands(&self.facts, &noted.commands);
                return Ok(page.close(state.snapshot.clone(), state.awaiting.clone(), noted.commands, None));
            }
        }
        let settled = self.settle(state);
        let step = advance_with(self.program, &self.facts, state, message, (now, blobs), &self.made)?;
        Ok(match step {
            Advance::Advanced(mut advanced) => {
                self.made.extend(by_hash(&advanced.blobs));
                advanced.blobs.splice(0..0, settled);
                Advance::Advanced(advanced)
            }
            wanted => wanted,
        })
    }

    /// Updates the snapshot in `state`. Returns the contents that left it, which the caller must store before
    /// the commit.
    #[must_use]
    pub fn settle(&mut self, state: &mut RunState) -> Contents {
        let Some((snapshot, blobs)) = self.session.take().and_then(|mut session| session.snapshot()) else {
            return Vec::new();
        };
        state.snapshot = Some(snapshot);
        self.made.extend(by_hash(&blobs));
        blobs
    }
}

/// The history rows that one message produces, in the order they are written.
struct Page {
    message_seq: u64,
    events: Vec<Event>,
    at: Timestamp,
    cancel_open: bool,
    cancelling: bool,
    /// The deadline passed before the run was cancelled, so the run fails however its clean-up ends.
    late: bool,
    blobs: Contents,
    settled: Vec<Settled>,
}

impl Page {
    fn open(state: &RunState, message: &Message, at: Timestamp) -> Self {
        let first = Event {
            seq: state.seq + 1,
            at,
            cause: None,
            message: Some(message.id.clone()),
            actor: message.actor.clone(),
            trace: message.trace.clone(),
            data: EventData::of_message(&message.body),
        };
        Self {
            message_seq: first.seq,
            events: vec![first],
            at,
            cancel_open: false,
            cancelling: state.cancelling,
            late: false,
            blobs: Vec::new(),
            settled: Vec::new(),
        }
    }

    fn write(&mut self, data: EventData) {
        let first = &self.events[0];
        let event = Event {
            seq: self.message_seq + self.events.len() as u64,
            at: self.at,
            cause: Some(self.message_seq),
            message: None,
            actor: first.actor.clone(),
            trace: first.trace.clone(),
            data,
        };
        self.events.push(event);
    }

    fn transition(mut self, facts: &RunFacts, state: &RunState, mut transition: Transition) -> Advance {
        for command in &mut transition.commands {
            self.spill_command(command);
        }
        self.blobs.append(&mut transition.blobs);
        self.settle(&transition);
        let size = transition.snapshot.bytes.len();
        let was_large = state.snapshot.as_ref().is_some_and(|last| last.bytes.len() > SNAPSHOT_WARN_BYTES);
        match transition.progress {
            Progress::Completed(_) | Progress::Failed(_) if self.cancelling && !self.late => {
                self.describe(facts, state, &transition);
                let reason = why_cancelled(&transition);
                self.finish(transition, Some(End::Cancelled(reason)))
            }
            Progress::Failed(ref failure) => {
                let failure = failure.clone();
                self.fail_after(facts, state, transition, failure)
            }
            Progress::Completed(ref output) => {
                let mut output = output.clone();
                self.spill(&mut output);
                self.describe(facts, state, &transition);
                self.finish(transition, Some(End::Completed(output)))
            }
            Progress::Waiting => {
                self.describe(facts, state, &transition);
                if size > SNAPSHOT_WARN_BYTES && !was_large && !transition.warned {
                    self.write(EventData::Warning(Warning {
                        code: codes::LARGE_SNAPSHOT.into(),
                        message: format!("the snapshot has {size} bytes; keep large values in blobs"),
                    }));
                }
                self.finish(transition, None)
            }
        }
    }

    /// Records which task failures were handled. None were when the transition failed, because its effects
    /// are dropped, or when the run compensates, because it will fail.
    fn settle(&mut self, transition: &Transition) {
        let failed = matches!(transition.progress, Progress::Failed(_))
            || transition.awaiting.contains(Compensation::UNDER_WAY);
        let settled = transition.read.iter().map(|task| Settled { task: *task, handled: !failed });
        self.settled.extend(settled);
    }

    /// Writes the program's own events and the rows that follow from its commands.
    fn describe(&mut self, facts: &RunFacts, state: &RunState, transition: &Transition) {
        for event in &transition.events {
            self.tell(event.clone());
        }
        self.tell_commands(facts, &transition.commands);
        for name in transition.awaiting.difference(&state.awaiting).filter(|name| !name.starts_with('@')) {
            let label = transition.labels.get(name).cloned();
            self.write(EventData::SignalRequested(SignalRequested { name: name.clone(), label }));
        }
    }

    fn tell_commands(&mut self, facts: &RunFacts, commands: &[Command]) {
        for event in commands.iter().filter_map(|command| describe_command(facts, command)) {
            self.write(event);
        }
    }

    /// Writes an event that only the program can produce, with its large values moved to blobs.
    fn tell(&mut self, mut event: EventData) {
        match &mut event {
            EventData::Marker(marker) => self.spill(&mut marker.data),
            EventData::Log(log) => self.spill(&mut log.data),
            EventData::ApprovalCreated(approval) => self.spill(&mut approval.payload),
            EventData::PatchRefused(patch) => self.spill(&mut patch.operations),
            EventData::PatchAdopted(patch) => {
                self.spill(&mut patch.operations);
                self.spill(&mut patch.inverse);
            }
            _ => {}
        }
        self.write(event);
    }

    /// Ends the run after a failure of its program. Events and commands from before the failure are kept, as
    /// with any other end. Waits and timers stay as they were before the failing message, so that the run can
    /// be reopened.
    fn fail_after(
        mut self,
        facts: &RunFacts,
        state: &RunState,
        mut transition: Transition,
        failure: Failure,
    ) -> Advance {
        // The work that is left to compensate stays in the snapshot for a later request.
        let is_left = transition.awaiting.contains(Compensation::FAILED);
        let quiet = !is_left && transition.commands.is_empty() && transition.events.is_empty();
        let snapshot = if quiet { state.snapshot.clone() } else { Some(transition.snapshot.clone()) };
        let is_timer =
            |command: &Command| matches!(command, Command::StartTimer(_) | Command::CancelTimer(_));
        transition.commands.retain(|command| !is_timer(command));
        let marks = marks(&transition.awaiting);
        transition.awaiting.clone_from(&state.awaiting);
        if !marks.is_empty() {
            transition.awaiting.retain(|name| !Compensation::is_mark(name));
            transition.awaiting.extend(marks);
        }
        self.describe(facts, state, &transition);
        self.write(EventData::WorkflowFailed(Failed { failure: failure.clone() }));
        self.close(snapshot, transition.awaiting, transition.commands, Some(End::Failed(failure)))
    }

    /// Records the message without any other change to the run.
    fn unchanged(self, state: &RunState) -> Advance {
        self.close(state.snapshot.clone(), state.awaiting.clone(), Vec::new(), None)
    }

    /// Fails the run by decision of the fold, not of the program.
    fn fail(mut self, state: &RunState, failure: Failure) -> Advance {
        self.write(EventData::WorkflowFailed(Failed { failure: failure.clone() }));
        self.close(state.snapshot.clone(), state.awaiting.clone(), Vec::new(), Some(End::Failed(failure)))
    }

    fn cancelled(mut self, state: &RunState, reason: String) -> Advance {
        self.write(EventData::WorkflowCancelled(Cancel::because(reason.clone())));
        self.cancelling = true;
        let awaiting = marks(&state.awaiting);
        self.close(state.snapshot.clone(), awaiting, Vec::new(), Some(End::Cancelled(reason)))
    }

    fn finish(mut self, transition: Transition, end: Option<End>) -> Advance {
        match &end {
            Some(End::Completed(output)) => {
                self.write(EventData::WorkflowCompleted(Completed { output: output.clone() }));
            }
            Some(End::Cancelled(reason)) => {
                self.write(EventData::WorkflowCancelled(Cancel::because(reason.clone())));
            }
            Some(End::Failed(_)) | None => {}
        }
        let awaiting = if end.is_some() { marks(&transition.awaiting) } else { transition.awaiting };
        self.close(Some(transition.snapshot), awaiting, transition.commands, end)
    }

    fn close(
        self,
        snapshot: Option<Snapshot>,
        awaiting: BTreeSet<String>,
        commands: Vec<Command>,
        end: Option<End>,
    ) -> Advance {
        let seq = self.message_seq + self.events.len() as u64 - 1;
        let state = RunState { snapshot, seq, at: self.at, awaiting, cancelling: self.cancelling };
        Advance::Advanced(Box::new(Advanced {
            state,
            events: self.events,
            commands,
            cancel_open: self.cancel_open,
            end,
            blobs: self.blobs,
            settled: self.settled,
        }))
    }

    fn spill_command(&mut self, command: &mut Command) {
        match command {
            Command::RunTask(task) => self.spill(&mut task.input),
            Command::StartChild(child) => self.spill(&mut child.input),
            Command::SendSignal(signal) => self.spill(&mut signal.payload),
            _ => {}
        }
    }

    /// Moves a value above [`INLINE_MAX_BYTES`] to a blob.
    fn spill(&mut self, payload: &mut Payload) {
        if let Some((reference, content)) = spill(payload) {
            *payload = Payload::Blob(reference.clone());
            self.blobs.push((reference, content));
        }
    }
}

/// Returns the compensation marks among the awaited names. An ended run keeps only these.
fn marks(awaiting: &BTreeSet<String>) -> BTreeSet<String> {
    awaiting.iter().filter(|name| Compensation::is_mark(name)).cloned().collect()
}

/// Returns the reason of a cancelled run. After a compensation that failed, it names the failure.
fn why_cancelled(transition: &Transition) -> String {
    match &transition.progress {
        Progress::Failed(failure) if !marks(&transition.awaiting).is_empty() => {
            format!("cancelled; {failure}")
        }
        _ => "cancelled".to_owned(),
    }
}

/// Returns the failure of a run whose snapshot is above [`SNAPSHOT_MAX_BYTES`], or `None`.
pub fn oversize(snapshot: &Snapshot) -> Option<Failure> {
    let size = snapshot.bytes.len();
    let message = || format!("the snapshot has {size} bytes, the limit is {SNAPSHOT_MAX_BYTES}");
    (size > SNAPSHOT_MAX_BYTES).then(|| Failure::permanent(codes::LIMIT_EXCEEDED, message()))
}

/// Returns the blob that an inline value above [`INLINE_MAX_BYTES`] should become, or `None`.
pub fn spill(payload: &Payload) -> Option<(BlobRef, Arc<[u8]>)> {
    let text = payload.text().filter(|text| text.len() > INLINE_MAX_BYTES)?;
    Some((BlobRef::of(text.as_bytes()), Arc::from(text.as_bytes())))
}

fn describe_command(facts: &RunFacts, command: &Command) -> Option<EventData> {
    Some(match command {
        Command::RunTask(task) => EventData::StepScheduled(StepScheduled {
            task: task.task,
            name: task.name.clone(),
            queue: task.options.queue.clone(),
            input: task.input.clone(),
            label: task.options.label.clone(),
            item: task.options.item,
        }),
        Command::StartTimer(timer) => {
            let TimerSpec { timer, fire_at, label } = timer.clone();
            EventData::TimerScheduled(TimerScheduled { timer, fire_at, label })
        }
        Command::StartChild(child) => EventData::ChildStarted(ChildStarted {
            child: child.child,
            run: facts.run.child(child.child),
            workflow: child.workflow.clone(),
            version: child.version.clone(),
            input: child.input.clone(),
            label: child.label.clone(),
            item: child.item,
        }),
        Command::SendSignal(signal) => EventData::SignalSent(SignalSent {
            signal: signal.signal,
            to: signal.to.clone(),
            name: signal.name.clone(),
        }),
        Command::CancelTask(_) | Command::CancelTimer(_) | Command::CancelChild(_) => return None,
    })
}

/// A difference between a history and the result of its program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Divergence {
    #[error("history has a gap: row {found} follows row {after}")]
    Gap { after: u64, found: u64 },
    #[error("row {seq}: history says {recorded}, the program says {computed}")]
    Different { seq: u64, recorded: String, computed: String },
    #[error("row {seq} cannot be stepped: {error}")]
    Unsteppable { seq: u64, error: ProgramError },
}

/// Folds a whole history again, compares every row with the program's current result, and returns the final
/// state. Fails at the first gap, difference, or message that cannot be stepped.
///
/// `load` fetches the blobs that steps look into; its error is returned.
pub fn replay<E: From<Divergence>>(
    mut lineage: Lineage<'_>,
    history: &[Event],
    mut load: impl FnMut(&[BlobRef]) -> Result<Blobs, E>,
) -> Result<RunState, E> {
    let mut state = RunState::default();
    let mut made = Blobs::new();
    let mut expected: std::collections::VecDeque<Event> = std::collections::VecDeque::new();
    let mut rows = history.iter().peekable();
    while let Some(row) = rows.next() {
        if row.seq != state_seq(&state, &expected) + 1 {
            return Err(Divergence::Gap { after: state_seq(&state, &expected), found: row.seq }.into());
        }
        if let Some(computed) = expected.pop_front() {
            let computed = Event { data: computed.data.as_old_as(&row.data), ..computed };
            if computed != *row {
                return Err(different(row, &computed).into());
            }
            continue;
        }
        let Some(message) = row.to_message() else {
            // An operator wrote this row between transitions; no message caused it.
            state.seq = row.seq;
            state.at = state.at.max(row.at);
            continue;
        };
        let mut blobs = Blobs::new();
        let advanced = loop {
            match lineage.advance(&state, (&message, rows.peek().copied()), (row.at, &blobs), &made) {
                Ok(Advance::Advanced(advanced)) => break advanced,
                Ok(Advance::NeedBlobs(wanted)) => blobs.extend(load(&wanted)?),
                Err(error) => return Err(Divergence::Unsteppable { seq: row.seq, error }.into()),
            }
        };
        state = advanced.state;
        // A blob that one step made and a later one released may exist nowhere else.
        made.extend(by_hash(&advanced.blobs));
        expected.extend(advanced.events.into_iter().skip(1));
    }
    match expected.front() {
        Some(missing) => Err(Divergence::Different {
            seq: missing.seq,
            recorded: "nothing".into(),
            computed: missing.data.kind().into(),
        }
        .into()),
        None => Ok(state),
    }
}

/// Returns the number of the last row compared so far.
fn state_seq(state: &RunState, expected: &std::collections::VecDeque<Event>) -> u64 {
    state.seq - expected.len() as u64
}

fn different(recorded: &Event, computed: &Event) -> Divergence {
    let show = |event: &Event| format!("{} {}", event.data.kind(), event.data.to_json());
    Divergence::Different { seq: recorded.seq, recorded: show(recorded), computed: show(computed) }
}
