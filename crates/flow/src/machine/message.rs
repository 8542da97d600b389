//! Applies a message to a run: it starts the run, settles a handle, or interrupts it. A message about
//! something unknown is ignored.

use std::sync::Arc;

use rhythm_core::command::{Command, TimerSpec};
use rhythm_core::failure::Failure;
use rhythm_core::fold::past_deadline;
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::payload::Payload;
use rhythm_core::program::Progress;

use super::Machine;
use super::handle::{Handle, Kind, Outcome, State};
use super::memory::{Stage, Thrown};
use crate::runtime_error::{Evaluated, codes, throw};
use crate::value::{ErrorValue, Object, Value};

impl Machine<'_> {
    /// Applies the message and runs until the next wait or the end. Returns `None` if the message changes
    /// nothing.
    pub fn consume(&mut self) -> Evaluated<Option<Progress>> {
        let message = self.input.message;
        match (self.memory.stage, &message.body) {
            (Stage::Fresh, MessageBody::Start(start)) => {
                self.memory.stage = Stage::Running;
                self.memory.started_at = self.input.at;
                self.memory.input = self.flow.code.reads_inputs.then(|| start.input.clone());
                self.run().map(Some)
            }
            (Stage::Running, MessageBody::Cancel(cancel)) => {
                let why = match cancel.reason.as_str() {
                    "" => "the run was cancelled".to_owned(),
                    reason => format!("the run was cancelled: {reason}"),
                };
                self.memory.thrown = Some(Thrown::Cancel);
                self.interrupted(ErrorValue::new(codes::CANCELLED, why)).map(Some)
            }
            (Stage::Running, MessageBody::DeadlineReached) => self.too_late().map(Some),
            (Stage::Running, MessageBody::TimerFired(fired)) if self.memory.grace == Some(fired.timer.0) => {
                let taken = self.flow.code.defaults.cleanup_grace();
                let message = format!("clean-up was not done after {taken}");
                self.memory.grace = None;
                Ok(Some(Progress::Failed(Failure::permanent(codes::TIMEOUT, message))))
            }
            (Stage::Fresh, MessageBody::DeadlineReached) => Ok(Some(Progress::Failed(past_deadline()))),
            // The run failed in its first transition and is cancelled before it has started again.
            (Stage::Fresh, MessageBody::Cancel(_)) => {
                throw(codes::CANCELLED, "the run was cancelled before it started")
            }
            (Stage::Running, _) => self.answer(message),
            (Stage::Fresh | Stage::Ended, _) => Ok(None),
        }
    }

    /// Handles the deadline: starts the timer that limits clean-up, and throws. A run that was cancelled
    /// already is cleaning up, so nothing more is thrown.
    fn too_late(&mut self) -> Evaluated<Progress> {
        let timer = self.number();
        let fire_at = self.input.at.plus(self.flow.code.defaults.cleanup_grace());
        self.commands.push(Command::StartTimer(TimerSpec { timer, fire_at, label: None }));
        self.memory.grace = Some(timer.0);
        if self.memory.thrown.is_some() {
            return Ok(Progress::Waiting);
        }
        self.memory.thrown = Some(Thrown::Deadline);
        let late = past_deadline();
        self.interrupted(ErrorValue::new(codes::DEADLINE_EXCEEDED, late.message))
    }

    /// Throws at the current wait.
    fn interrupted(&mut self, error: ErrorValue) -> Evaluated<Progress> {
        self.memory.wait = None;
        self.all_cancelled();
        self.resume(Err(Arc::new(error)))
    }

    /// Marks everything in progress as cancelled, because the cancellation of the run includes it.
    fn all_cancelled(&mut self) {
        for map in std::mem::take(&mut self.memory.maps) {
            self.stop_map(map, "the run was cancelled");
        }
        for handle in self.memory.handles.values_mut() {
            match &mut handle.kind {
                Kind::Task { how, .. } => how.cancelled = true,
                Kind::Child { how, again, .. } => {
                    how.cancelled = true;
                    again.iter_mut().for_each(|again| again.stop());
                }
                Kind::Timer { .. }
                | Kind::Signal { .. }
                | Kind::Timeout { .. }
                | Kind::Group(_)
                | Kind::Map(_) => {}
            }
        }
    }

    /// Settles the handle of the message, and continues the program if it waits for that.
    fn answer(&mut self, message: &Message) -> Evaluated<Option<Progress>> {
        let (number, state) = match self.outcome(message)? {
            Answer::Nothing => return Ok(None),
            Answer::Noted => return Ok(Some(Progress::Waiting)),
            Answer::Settles(number, state) => (number, state),
        };
        if message.body.signal_name().is_some() {
            self.memory.last_signal = Some(message.id.as_str().to_owned());
        }
        self.settle(number, state)?;
        let Some(wait) = self.memory.wait else { return Ok(Some(Progress::Waiting)) };
        match self.given(wait)? {
            Some(outcome) => {
                self.memory.wait.into_iter().for_each(|wait| self.note_read(wait));
                self.memory.wait = None;
                self.resume(outcome).map(Some)
            }
            None => Ok(Some(Progress::Waiting)),
        }
    }

    /// Returns what an await of this handle gives or throws, if it has settled.
    pub fn given(&mut self, number: u64) -> Evaluated<Option<Outcome>> {
        let outcome = self.ended(number)?.map(|(outcome, _)| outcome);
        let settles = self.memory.handles.get(&number).is_some_and(Handle::settles);
        match outcome {
            Some(outcome) if settles => report(outcome).map(|value| Some(Ok(value))),
            outcome => Ok(outcome),
        }
    }

    pub(super) fn outcome(&mut self, message: &Message) -> Evaluated<Answer> {
        let order = self.memory.clock + 1;
        match &message.body {
            MessageBody::TaskCompleted(done) => {
                if !self.is_open_task(done.task.0) {
                    return Ok(Answer::Nothing);
                }
                Ok(Answer::Settles(done.task.0, self.received(&done.output, order)?))
            }
            MessageBody::TaskFailed(failed) => {
                if !self.is_open_task(failed.task.0) {
                    return Ok(Answer::Nothing);
                }
                Ok(Answer::Settles(failed.task.0, State::Failed(self.error_of(&failed.failure)?, order)))
            }
            MessageBody::ChildCompleted(done) => {
                let Some(number) = self.child(done.child.0) else { return Ok(Answer::Nothing) };
                Ok(Answer::Settles(number, self.received(&done.output, order)?))
            }
            MessageBody::ChildFailed(failed) => {
                let Some(number) = self.child(failed.child.0) else { return Ok(Answer::Nothing) };
                if self.tries_again(number, &failed.failure) {
                    return Ok(Answer::Noted);
                }
                let mut failure = failed.failure.clone();
                failure.attempts = self.attempts(number).unwrap_or(failure.attempts);
                Ok(Answer::Settles(number, State::Failed(self.error_of(&failure)?, order)))
            }
            MessageBody::TimerFired(fired) => Ok(self.timer_fired(fired.timer.0, order)),
            MessageBody::Signal(signal) => {
                // A second delivery of the last consumed signal is not a new signal.
                let again = self.memory.last_signal.as_deref() == Some(message.id.as_str());
                match self.oldest_wait(&signal.name).filter(|_| !again) {
                    None => Ok(Answer::Nothing),
                    Some(number) => Ok(Answer::Settles(number, self.received(&signal.payload, order)?)),
                }
            }
            _ => Ok(Answer::Nothing),
        }
    }

    fn timer_fired(&mut self, timer: u64, order: u64) -> Answer {
        match self.memory.handles.get(&timer) {
            Some(handle) if handle.is_open() && matches!(handle.kind, Kind::Timer { .. }) => {
                return Answer::Settles(timer, State::Done(Value::Null, order));
            }
            _ => {}
        }
        let Some(child) = self.postponed_child(timer) else { return Answer::Nothing };
        match self.start_postponed(child, order) {
            Some(state) => Answer::Settles(child, state),
            None => Answer::Noted,
        }
    }

    fn is_open_task(&self, number: u64) -> bool {
        let handle = self.memory.handles.get(&number);
        handle.is_some_and(|handle| handle.is_open() && matches!(handle.kind, Kind::Task { .. }))
    }

    /// Returns the oldest open wait for this signal name: waits are served in order.
    fn oldest_wait(&self, wanted: &str) -> Option<u64> {
        self.memory.handles.iter().find_map(|(number, handle)| match &handle.kind {
            Kind::Signal { name } if handle.is_open() && **name == *wanted => Some(*number),
            _ => None,
        })
    }

    /// Converts a value from outside. A value that programs cannot hold becomes an error at its await.
    fn received(&mut self, payload: &Payload, order: u64) -> Evaluated<State> {
        Ok(State::of(self.value_of(payload)?.map_err(Arc::new), order))
    }
}

/// Effect of a message on the run.
pub(super) enum Answer {
    /// The message is about something unknown.
    Nothing,
    /// The run changed, but nothing has settled.
    Noted,
    /// An open handle and its outcome.
    Settles(u64, State),
}

/// Returns `{status, result, error}`.
pub fn report(outcome: Outcome) -> Evaluated {
    let (status, result, error) = match outcome {
        Ok(value) => ("completed", value, Value::Null),
        Err(error) => ("failed", Value::Null, Value::Error(error)),
    };
    Ok(Value::Object(Object::of([("status", Value::text(status)), ("result", result), ("error", error)])?))
}
