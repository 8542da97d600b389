//! Folding messages into a run: what is the same for every kind of program. Turns one message into history
//! rows, commands and the next state, and decides how cancellation, deadlines and failures end a run.

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

/// The fold's current value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunState {
    pub snapshot: Option<Snapshot>,
    /// History rows so far.
    pub seq: u64,
    /// The run's own time.
    pub at: Timestamp,
    pub awaiting: BTreeSet<String>,
    /// Cancellation was asked for; however the program ends, the run ends cancelled.
    pub cancelling: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Completed(Payload),
    Failed(Failure),
    Cancelled(String),
}

/// What one message did to a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Advanced {
    pub state: RunState,
    pub events: Vec<Event>,
    pub commands: Vec<Command>,
    /// Everything the run started before this message is to be cancelled.
    pub cancel_open: bool,
    pub end: Option<End>,
    /// Contents that left their inline place; they must be stored before the commit.
    pub blobs: Contents,
    /// What became of failures of tasks.
    pub settled: Vec<Settled>,
}

/// What the run has made of the failure of one of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    pub task: CommandId,
    /// The program went on, so nobody has to do anything about it. Otherwise the run failed of it, or takes back its work
    /// because of it.
    pub handled: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Advance {
    Advanced(Box<Advanced>),
    NeedBlobs(Vec<BlobRef>),
}

/// Applies one message. `now` is the world's time; the run's own time never goes back behind what it has seen.
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
        // Once is enough.
        MessageBody::DeadlineReached if grace.is_some() => return Ok(page.unchanged(state)),
        MessageBody::DeadlineReached if state.snapshot.is_some() && program.catches_deadline() => {
            // What was open before a cancel was asked to stop with it; the rest belongs to its clean-up.
            page.cancel_open = !state.cancelling;
            page.late = !state.cancelling;
        }
        MessageBody::DeadlineReached => {
            // It has failed already, or was cancelled, and takes back what it did.
            if state.awaiting.contains(Compensation::UNDER_WAY) {
                return Ok(page.unchanged(state));
            }
            let failure = past_deadline();
            let input = StepInput { facts, snapshot: state.snapshot.as_ref(), message, at, blobs };
            return give_up(program, input, (page, state), failure);
        }
        // Nobody asked for this end: it cleans up as before, and fails as before, but does not wait for the rest when it is
        // asked twice.
        MessageBody::Cancel(cancel) if page.late => {
            if state.cancelling && insists(message, cancel) || cancel.at_once {
                page.cancel_open = true;
                return Ok(page.fail(state, past_deadline()));
            }
            page.cancelling = true;
            return Ok(page.unchanged(state));
        }
        // A second request, or one for a run that never started, ends it at once.
        MessageBody::Cancel(cancel)
            if state.snapshot.is_none() || state.cancelling && insists(message, cancel) =>
        {
            page.cancel_open = true;
            return Ok(page.cancelled(state, cancel.reason.clone()));
        }
        // A parent that was opened again and failed again asks a child once more that is cleaning up already.
        MessageBody::Cancel(_) if state.cancelling => return Ok(page.unchanged(state)),
        MessageBody::Cancel(_) => {
            // What takes back the run's work goes on: that is what a cancel wants, too.
            page.cancel_open = !state.awaiting.contains(Compensation::UNDER_WAY);
            page.cancelling = true;
        }
        // Its clean-up has taken too long.
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

/// How a run fails whose deadline has passed.
pub fn past_deadline() -> Failure {
    Failure::permanent(codes::DEADLINE_EXCEEDED, "the run's deadline has passed")
}

/// The same for one whose clean-up has failed, too.
pub fn late_failure(of_clean_up: &Failure) -> Failure {
    let late = past_deadline();
    Failure { message: format!("{}; its clean-up failed: {of_clean_up}", late.message), ..late }
}

/// Ends a run that was asked to end and cannot be stepped: its program is not asked. The history says why, so that a fold of
/// it does not ask the program either.
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

/// Gives a run to another version of its workflow: the first program has stepped it so far, the second one steps every
/// later message. `facts` are those with the new version.
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

/// As [`advance`]; what the step looks into may also be among `made`, and only what is neither here nor there is asked for.
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

/// Contents as steps look for them.
pub fn by_hash(blobs: &[(BlobRef, Arc<[u8]>)]) -> impl Iterator<Item = (String, Arc<[u8]>)> {
    blobs.iter().map(|(blob, content)| (blob.hash.clone(), content.clone()))
}

/// The run fails, whatever its program thinks of it; what can be taken back first, is.
fn give_up(
    program: &dyn Program,
    input: StepInput<'_>,
    (mut page, state): (Page, &RunState),
    failure: Failure,
) -> Result<Advance, ProgramError> {
    // Its deadline came first; what went wrong after it is told with it.
    let failure =
        if page.late && failure.code != codes::DEADLINE_EXCEEDED { late_failure(&failure) } else { failure };
    // Whoever was cancelled has taken back what it could, or does so.
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

/// Whether somebody who asks again does not want to wait for clean-up.
fn insists(message: &Message, cancel: &Cancel) -> bool {
    cancel.at_once || !message.actor.is_run()
}

/// Folds the messages of one commit, one after the other, as [`advance`] does. The snapshot is read and written as rarely
/// as the program allows.
pub struct Fold<'a> {
    program: &'a dyn Program,
    facts: RunFacts,
    session: Option<Box<dyn Session + 'a>>,
    /// Contents that left the snapshot with a message of this commit: no world has them yet.
    made: Blobs,
}

/// With fewer messages to come it is not worth it to keep the snapshot read.
const WORTH_A_SESSION: usize = 2;

impl<'a> Fold<'a> {
    pub fn new(program: &'a dyn Program, facts: RunFacts) -> Self {
        Self { program, facts, session: None, made: Blobs::new() }
    }

    /// Applies one message; `more` may follow. The snapshot of `state` is right again only after [`Self::settle`].
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

    /// Brings the snapshot up to date. Gives the contents that left it: they must be stored before the commit.
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

/// The history rows of one message, as they are written.
struct Page {
    message_seq: u64,
    events: Vec<Event>,
    at: Timestamp,
    cancel_open: bool,
    cancelling: bool,
    /// Its deadline has passed before anybody cancelled it: it fails, however its clean-up ends.
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

    /// A transition that fails is undone, what it had caught too; and a run that takes back its work is as good as failed.
    fn settle(&mut self, transition: &Transition) {
        let failed = matches!(transition.progress, Progress::Failed(_))
            || transition.awaiting.contains(Compensation::UNDER_WAY);
        let settled = transition.read.iter().map(|task| Settled { task: *task, handled: !failed });
        self.settled.extend(settled);
    }

    /// Writes what the program told and what follows from its commands.
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

    /// Writes what only the program knows.
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

    /// The program failed. What it told and asked for before is as good as with any other end; its waits and
    /// timers stay as they were before the failing message, so that the run can be reopened.
    fn fail_after(
        mut self,
        facts: &RunFacts,
        state: &RunState,
        mut transition: Transition,
        failure: Failure,
    ) -> Advance {
        // What is left to be taken back is kept for whoever asks for it again.
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

    /// What the message did to the run itself: nothing.
    fn unchanged(self, state: &RunState) -> Advance {
        self.close(state.snapshot.clone(), state.awaiting.clone(), Vec::new(), None)
    }

    /// The fold itself fails the run.
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

    /// Moves a large value out of its inline place.
    fn spill(&mut self, payload: &mut Payload) {
        if let Some((reference, content)) = spill(payload) {
            *payload = Payload::Blob(reference.clone());
            self.blobs.push((reference, content));
        }
    }
}

/// Of what is awaited, all that a run which has ended keeps.
fn marks(awaiting: &BTreeSet<String>) -> BTreeSet<String> {
    awaiting.iter().filter(|name| Compensation::is_mark(name)).cloned().collect()
}

/// A run that took back what it did says what had failed, and what is left to do.
fn why_cancelled(transition: &Transition) -> String {
    match &transition.progress {
        Progress::Failed(failure) if !marks(&transition.awaiting).is_empty() => {
            format!("cancelled; {failure}")
        }
        _ => "cancelled".to_owned(),
    }
}

/// How a run fails whose snapshot is too large to be kept.
pub fn oversize(snapshot: &Snapshot) -> Option<Failure> {
    let size = snapshot.bytes.len();
    let message = || format!("the snapshot has {size} bytes, the limit is {SNAPSHOT_MAX_BYTES}");
    (size > SNAPSHOT_MAX_BYTES).then(|| Failure::permanent(codes::LIMIT_EXCEEDED, message()))
}

/// The blob a large inline value should become.
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

/// How a history disagrees with its program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Divergence {
    #[error("history has a gap: row {found} follows row {after}")]
    Gap { after: u64, found: u64 },
    #[error("row {seq}: history says {recorded}, the program says {computed}")]
    Different { seq: u64, recorded: String, computed: String },
    #[error("row {seq} cannot be stepped: {error}")]
    Unsteppable { seq: u64, error: ProgramError },
}

/// Folds a whole history again and compares every row with what the program says today.
///
/// `load` is asked for blobs the steps look into.
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
            // Operators write rows of their own between transitions.
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
        // Nobody else may have what an earlier step made and a later one let go.
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

/// The last row the state covers, less the rows still expected.
fn state_seq(state: &RunState, expected: &std::collections::VecDeque<Event>) -> u64 {
    state.seq - expected.len() as u64
}

fn different(recorded: &Event, computed: &Event) -> Divergence {
    let show = |event: &Event| format!("{} {}", event.data.kind(), event.data.to_json());
    Divergence::Different { seq: recorded.seq, recorded: show(recorded), computed: show(computed) }
}
