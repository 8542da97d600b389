//! Children and their retries. The worker retries a task. A child is retried by the run itself, which starts
//! it again under a new number after a timer.

use std::sync::Arc;

use rhythm_core::command::{ChildSpec, Command, TimerSpec};
use rhythm_core::failure::Failure;
use rhythm_core::fold::spill;
use rhythm_core::id::CommandId;
use rhythm_core::payload::Payload;
use rhythm_core::retry::{RetryPolicy, Verdict};
use rhythm_core::task::TaskOptions;
use rhythm_core::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

use super::Machine;
use super::handle::{Kind, Manner, State};
use crate::runtime_error::{Evaluated, codes};
use crate::value::{ErrorValue, Value};

/// The data needed to start a child later, or to retry it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Again {
    /// Number of attempts that have ended.
    pub ended: u32,
    pub now: Now,
    retries: RetryPolicy,
    input: Payload,
    #[serde(default, skip_serializing_if = "is_zero")]
    priority: i32,
    /// Timeout of each attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Millis>,
    /// Deadline of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    /// Whether it was cancelled between two attempts; there is no next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stopped: bool,
}

/// The child or timer that the current attempt waits for, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Now {
    Running(u64),
    Waiting(u64),
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

impl Again {
    /// Returns whether it may be started again, so that the run must keep it.
    pub fn has_more(&self) -> bool {
        !self.stopped && (self.ended + 1 < self.retries.max_attempts || matches!(self.now, Now::Waiting(_)))
    }

    /// Returns the number of the running child, or of the timer it waits for.
    pub fn number(&self) -> u64 {
        match self.now {
            Now::Running(number) | Now::Waiting(number) => number,
        }
    }

    pub fn stop(&mut self) {
        self.stopped = true;
    }

    pub fn input(&self) -> &Payload {
        &self.input
    }

    fn spec(&self, number: CommandId, workflow: &str, at: Timestamp, sign: Sign) -> ChildSpec {
        let left = self.until.map(|until| until.since(at));
        ChildSpec {
            child: number,
            workflow: workflow.to_owned(),
            version: None,
            input: self.input.clone(),
            priority: self.priority,
            deadline: [self.timeout, left].into_iter().flatten().min(),
            label: sign.label.map(|label| label.to_string()),
            item: sign.item,
        }
    }
}

/// Label and item of a child, as shown to people.
struct Sign {
    label: Option<Arc<str>>,
    item: Option<u64>,
}

/// The kind of child to start; see
/// [`Options::settle_for_children`](super::options::Options::settle_for_children).
pub struct Sort {
    pub workflow: Arc<str>,
    pub how: Manner,
    pub options: TaskOptions,
}

impl Machine<'_> {
    pub fn run_child(
        &mut self,
        function: &str,
        name: Option<Value>,
        input: Option<Value>,
        options: Option<Value>,
    ) -> Evaluated {
        let workflow = self.named(function, "name", name)?;
        let mut options = self.options(function, options)?;
        options.check_for_children(function)?;
        options.settle_for_children();
        let input = self.payload(input.unwrap_or(Value::Null), "the inputs", function)?;
        self.check_open()?;
        let number = self.number();
        let label = options.task.label.as_deref().map(Arc::from);
        let kind =
            self.begin_child(number, Sort { workflow, how: options.how, options: options.task }, input);
        Ok(self.started_as(number, kind, label))
    }

    /// Starts a child now, or after its delay.
    pub fn begin_child(&mut self, number: CommandId, sort: Sort, mut input: Payload) -> Kind {
        let Sort { workflow, how, options } = sort;
        // The run may have to keep the input for a retry, so move a large one out of the snapshot.
        if let Some((blob, content)) = spill(&input) {
            input = Payload::Blob(blob.clone());
            self.blobs.push((blob, content));
        }
        let mut again = Again {
            ended: 0,
            now: Now::Running(number.0),
            retries: options.policy(),
            input,
            priority: options.priority,
            timeout: options.timeout,
            until: options.deadline.map(|deadline| self.input.at.plus(deadline)),
            stopped: false,
        };
        if options.delay > Millis::ZERO {
            again.now = Now::Waiting(self.later(options.delay));
        } else {
            let sign = Sign { label: options.label.map(Arc::from), item: options.item };
            self.commands.push(Command::StartChild(again.spec(number, &workflow, self.input.at, sign)));
        }
        let again = again.has_more().then(|| Box::new(again));
        Kind::Child { workflow, how, again }
    }

    /// Returns the handle of the child with this number. A first attempt has the number of its handle, a
    /// retry another one.
    pub fn child(&self, number: u64) -> Option<u64> {
        self.attempting(number, Now::Running(number))
    }

    /// Returns the handle of the child that this timer delays.
    pub fn postponed_child(&self, timer: u64) -> Option<u64> {
        self.attempting(timer, Now::Waiting(timer))
    }

    fn attempting(&self, number: u64, now: Now) -> Option<u64> {
        let is_it = |own: u64, kind: &Kind| match kind {
            Kind::Child { again: Some(again), .. } => again.now == now,
            Kind::Child { again: None, .. } => now == Now::Running(own),
            _ => false,
        };
        // Most children are first attempts; the numbers of retries are larger than that of their handle.
        let mut candidates = self.memory.handles.range(..=number).rev();
        candidates.find(|(own, handle)| handle.is_open() && is_it(**own, &handle.kind)).map(|(own, _)| *own)
    }

    /// Returns the number of ended attempts of a child that can be retried.
    pub fn attempts(&mut self, number: u64) -> Option<u32> {
        self.again(number).map(|again| again.ended)
    }

    /// Returns whether a failed child is retried, and starts the timer for the next attempt.
    pub fn tries_again(&mut self, number: u64, failure: &Failure) -> bool {
        let at = self.input.at;
        let key = self.input.facts.run.task(CommandId(number));
        let Some(again) = self.again(number) else { return false };
        again.ended += 1;
        let cancelled = again.stopped || failure.code == codes::CANCELLED;
        let verdict =
            again.retries.verdict(key.as_str(), again.ended, &failure.code, &failure.kind, !cancelled);
        let Verdict::Retry { delay } = verdict else { return false };
        if again.until.is_some_and(|until| at.plus(delay) >= until) {
            return false;
        }
        let timer = self.later(delay);
        if let Some(again) = self.again(number) {
            again.now = Now::Waiting(timer);
        }
        true
    }

    /// Starts the next attempt after its delay. Returns how the child ends if there is no next attempt.
    pub fn start_postponed(&mut self, number: u64, order: u64) -> Option<State> {
        let again = self.again(number)?;
        if again.stopped {
            let error =
                ErrorValue::new(codes::CANCELLED, "the child was cancelled before it was started again");
            return Some(State::Failed(Arc::new(error), order));
        }
        // The first attempt has the number of its handle.
        let next = if again.ended == 0 { CommandId(number) } else { self.number() };
        let (at, of_map) = (self.input.at, self.sign_of_item(number));
        let handle = self.memory.handles.get_mut(&number)?;
        let sign = of_map.unwrap_or_else(|| Sign { label: handle.label.clone(), item: None });
        let Kind::Child { workflow, again: Some(again), .. } = &mut handle.kind else { return None };
        again.now = Now::Running(next.0);
        let spec = again.spec(next, workflow, at, sign);
        self.commands.push(Command::StartChild(spec));
        None
    }

    /// Returns the label and item of a child that a map has started.
    fn sign_of_item(&self, number: u64) -> Option<Sign> {
        let (map, item) = self.memory.item_of(number)?;
        Some(Sign { label: map.options.label.as_deref().map(Arc::from), item: Some(item) })
    }

    fn again(&mut self, number: u64) -> Option<&mut Again> {
        match &mut self.memory.handles.get_mut(&number)?.kind {
            Kind::Child { again, .. } => again.as_deref_mut(),
            _ => None,
        }
    }

    /// Starts a timer without a handle.
    fn later(&mut self, after: Millis) -> u64 {
        let timer = self.number();
        let fire_at = self.input.at.plus(after);
        self.commands.push(Command::StartTimer(TimerSpec { timer, fire_at, label: None }));
        timer.0
    }
}
