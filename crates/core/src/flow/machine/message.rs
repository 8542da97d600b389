//! What a message does to a run: it starts it, settles a handle, or interrupts it. What nobody knows is ignored.

use std::sync::Arc;

use super::Machine;
use super::handle::{Kind, Manner, State};
use super::memory::Stage;
use crate::flow::thrown::{Evaluated, codes};
use crate::flow::value::{ErrorValue, Object, Value};
use crate::message::{Message, MessageBody};
use crate::program::Progress;

impl Machine<'_> {
    /// Applies the message and runs as far as it goes. Nothing when the message changes nothing.
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
                self.memory.wait = None;
                self.resume(Err(Arc::new(ErrorValue::new(codes::CANCELLED, why)))).map(Some)
            }
            (Stage::Running, _) => self.answer(message),
            (Stage::Fresh | Stage::Ended, _) => Ok(None),
        }
    }

    /// Settles what the message is about, and goes on if that is what the program waits for.
    fn answer(&mut self, message: &Message) -> Evaluated<Option<Progress>> {
        let Some((number, state)) = self.outcome(message)? else { return Ok(None) };
        if message.body.signal_name().is_some() {
            self.memory.last_signal = Some(message.id.as_str().to_owned());
        }
        self.settle(number, state)?;
        let waited = self.memory.wait.and_then(|wait| self.memory.handles.get(&wait));
        match waited.map(|handle| &handle.state) {
            Some(State::Done(value, _)) => {
                let value = value.clone();
                self.memory.wait = None;
                self.resume(Ok(value)).map(Some)
            }
            Some(State::Failed(error, _)) => {
                let error = error.clone();
                self.memory.wait = None;
                self.resume(Err(error)).map(Some)
            }
            _ => Ok(Some(Progress::Waiting)),
        }
    }

    /// Which open handle the message settles, and how.
    fn outcome(&mut self, message: &Message) -> Evaluated<Option<(u64, State)>> {
        let order = self.memory.clock + 1;
        let (number, answer) = match &message.body {
            MessageBody::TaskCompleted(done) => (done.task.0, Ok(&done.output)),
            MessageBody::TaskFailed(failed) => (failed.task.0, Err(&failed.failure)),
            MessageBody::ChildCompleted(done) => (done.child.0, Ok(&done.output)),
            MessageBody::ChildFailed(failed) => (failed.child.0, Err(&failed.failure)),
            MessageBody::TimerFired(fired) => {
                let timer = self.open(fired.timer.0, |kind| matches!(kind, Kind::Timer { .. }));
                return Ok(timer.map(|_| (fired.timer.0, State::Done(Value::Null, order))));
            }
            MessageBody::Signal(signal) => {
                // A signal that was consumed but is delivered again is not another one.
                if self.memory.last_signal.as_deref() == Some(message.id.as_str()) {
                    return Ok(None);
                }
                let Some(number) = self.oldest_wait(&signal.name) else { return Ok(None) };
                let state = self.received(&signal.payload, Manner::default(), order)?;
                return Ok(Some((number, state)));
            }
            _ => return Ok(None),
        };
        let task = matches!(message.body, MessageBody::TaskCompleted(_) | MessageBody::TaskFailed(_));
        let Some(how) = self.open(number, |kind| matches!(kind, Kind::Task { .. }) == task) else {
            return Ok(None);
        };
        let state = match answer {
            Ok(output) => self.received(output, how, order)?,
            Err(failure) => {
                let error = self.error_of(failure)?;
                if how.settle { settled(Err(error), order)? } else { State::Failed(error, order) }
            }
        };
        Ok(Some((number, state)))
    }

    /// How the handle answers, if it is open and of the right kind.
    fn open(&self, number: u64, right: impl Fn(&Kind) -> bool) -> Option<Manner> {
        let handle = self.memory.handles.get(&number).filter(|handle| handle.is_open())?;
        match &handle.kind {
            Kind::Group(_) | Kind::Timeout { .. } | Kind::Signal { .. } => None,
            kind if !right(kind) => None,
            Kind::Task { how, .. } | Kind::Child { how, .. } => Some(*how),
            Kind::Timer { .. } => Some(Manner::default()),
        }
    }

    /// Several may wait for one name: the first come is the first served.
    fn oldest_wait(&self, wanted: &str) -> Option<u64> {
        self.memory.handles.iter().find_map(|(number, handle)| match &handle.kind {
            Kind::Signal { name } if handle.is_open() && **name == *wanted => Some(*number),
            _ => None,
        })
    }

    /// A value from outside. What is no value for a program is an error where it is awaited.
    fn received(&mut self, payload: &crate::payload::Payload, how: Manner, order: u64) -> Evaluated<State> {
        Ok(match self.value_of(payload)? {
            Ok(value) if how.settle => settled(Ok(value), order)?,
            Ok(value) => State::Done(value, order),
            Err(error) => State::Failed(Arc::new(error), order),
        })
    }
}

/// How something ended, as a value.
pub fn settled(outcome: Result<Value, Arc<ErrorValue>>, order: u64) -> Evaluated<State> {
    Ok(State::Done(report(outcome)?, order))
}

/// `{status, result, error}`
pub fn report(outcome: Result<Value, Arc<ErrorValue>>) -> Evaluated {
    let (status, result, error) = match outcome {
        Ok(value) => ("completed", value, Value::Null),
        Err(error) => ("failed", Value::Null, Value::Error(error)),
    };
    Ok(Value::Object(Object::of([("status", Value::text(status)), ("result", result), ("error", error)])?))
}
