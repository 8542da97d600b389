//! Rows to write, as one vector per column for `unnest`.

use rhythm_core::event::Event;
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::{Millis, Payload, Timestamp};
use rhythm_engine::world::{NewRun, NewTask};

use crate::postgres::connection::pipeline::{Owned, params};

/// Milliseconds as the database stores them. The cap leaves room to add the current time without overflow.
pub fn millis(length: Millis) -> i64 {
    i64::try_from(length.as_u64()).unwrap_or(i64::MAX).min(9_000_000_000_000_000_000)
}

pub fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the month number of a time, like `month_of` in SQL. Runs and their histories are partitioned by
/// the month in which they began.
pub fn month_of(at: Timestamp) -> Option<i32> {
    let date = jiff::Timestamp::from_millisecond(at.millis()).ok()?.to_zoned(jiff::tz::TimeZone::UTC).date();
    Some(i32::from(date.year()) * 12 + i32::from(date.month()))
}

pub fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("what is stored always serialises")
}

/// Returns a signal's name in the form that [`awaiting_text`] stores.
pub fn signal_of(body: &MessageBody) -> Option<String> {
    body.signal_name().map(|name| json(&name))
}

/// Joins awaited names as JSON strings, each between two newlines, so that one can be found by text search.
pub fn awaiting_text(names: &std::collections::BTreeSet<String>) -> String {
    if names.is_empty() {
        return String::new();
    }
    names.iter().fold(String::from("\n"), |text, name| text + &json(name) + "\n")
}

#[derive(Default)]
pub struct MessageColumns<'a> {
    pub tenant: Vec<&'a str>,
    pub run: Vec<&'a str>,
    id: Vec<&'a str>,
    actor: Vec<&'a str>,
    trace: Vec<Option<&'a str>>,
    body: Vec<String>,
    signal: Vec<Option<String>>,
    ends: Vec<bool>,
}

impl<'a> MessageColumns<'a> {
    pub fn push(&mut self, tenant: &'a str, run: &'a str, message: &'a Message) {
        self.tenant.push(tenant);
        self.run.push(run);
        self.id.push(message.id.as_str());
        self.actor.push(&message.actor.0);
        self.trace.push(message.trace.as_deref());
        self.body.push(json(&message.body));
        self.signal.push(signal_of(&message.body));
        self.ends.push(message.body.ends_a_pending_run());
    }

    pub fn is_empty(&self) -> bool {
        self.run.is_empty()
    }

    pub fn params(&self, now: Option<i64>) -> Vec<Owned<'a>> {
        params![
            now,
            self.tenant.clone(),
            self.run.clone(),
            self.id.clone(),
            self.actor.clone(),
            self.trace.clone(),
            self.body.clone(),
            self.signal.clone(),
            self.ends.clone()
        ]
    }
}

#[derive(Default)]
pub struct EventColumns<'a> {
    tenant: Vec<&'a str>,
    run: Vec<&'a str>,
    born: Vec<Option<i32>>,
    seq: Vec<i64>,
    at: Vec<i64>,
    cause: Vec<Option<i64>>,
    message: Vec<Option<&'a str>>,
    actor: Vec<&'a str>,
    trace: Vec<Option<&'a str>>,
    kind: Vec<&'static str>,
    data: Vec<String>,
}

impl<'a> EventColumns<'a> {
    pub fn push(&mut self, tenant: &'a str, run: &'a str, born: Option<i32>, event: &'a Event) {
        self.tenant.push(tenant);
        self.run.push(run);
        self.born.push(born);
        self.seq.push(number(event.seq));
        self.at.push(event.at.millis());
        self.cause.push(event.cause.map(number));
        self.message.push(event.message.as_ref().map(|id| id.as_str()));
        self.actor.push(&event.actor.0);
        self.trace.push(event.trace.as_deref());
        self.kind.push(event.data.kind());
        self.data.push(event.data.to_json());
    }

    pub fn into_params(self) -> Vec<Owned<'a>> {
        params![
            self.tenant,
            self.run,
            self.born,
            self.seq,
            self.at,
            self.cause,
            self.message,
            self.actor,
            self.trace,
            self.kind,
            self.data
        ]
    }
}

#[derive(Default)]
pub struct TaskColumns<'a> {
    pub tenant: Vec<&'a str>,
    pub id: Vec<&'a str>,
    run: Vec<Option<&'a str>>,
    number: Vec<Option<i64>>,
    pub name: Vec<&'a str>,
    queue: Vec<&'a str>,
    priority: Vec<i32>,
    pub input: Vec<String>,
    options: Vec<String>,
    actor: Vec<&'a str>,
    trace: Vec<Option<&'a str>>,
    deadline: Vec<Option<i64>>,
    delay: Vec<i64>,
    worker: Vec<Option<&'a str>>,
    hold: Vec<i64>,
}

impl<'a> TaskColumns<'a> {
    /// `taker`: the worker and lease (ms) of a task that is claimed at once.
    pub fn push(&mut self, tenant: &'a str, task: &'a NewTask, taker: Option<(&'a str, i64)>) {
        let taker = taker.filter(|_| task.claim);
        self.tenant.push(tenant);
        self.id.push(task.id.as_str());
        self.run.push(task.run.as_ref().map(|(run, _)| run.as_str()));
        self.number.push(task.run.as_ref().map(|(_, task)| number(task.0)));
        self.name.push(&task.name);
        self.queue.push(&task.options.queue);
        self.priority.push(task.options.priority);
        self.input.push(task.input.to_stored());
        self.options.push(json(&task.options));
        self.actor.push(&task.actor.0);
        self.trace.push(task.trace.as_deref());
        self.deadline.push(task.options.deadline.map(millis));
        self.delay.push(millis(task.options.delay));
        self.worker.push(taker.map(|(worker, _)| worker));
        self.hold.push(taker.map_or(0, |(_, hold)| hold));
    }

    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    pub fn into_params(self, now: Option<i64>) -> Vec<Owned<'a>> {
        let mut values = params![now];
        values.extend(self.into_columns());
        values
    }

    pub fn into_columns(self) -> Vec<Owned<'a>> {
        params![
            self.tenant,
            self.id,
            self.run,
            self.number,
            self.name,
            self.queue,
            self.priority,
            self.input,
            self.options,
            self.actor,
            self.trace,
            self.deadline,
            self.delay,
            self.worker,
            self.hold
        ]
    }
}

#[derive(Default)]
pub struct RunColumns<'a> {
    pub tenant: Vec<&'a str>,
    pub id: Vec<&'a str>,
    pub workflow: Vec<&'a str>,
    version: Vec<&'a str>,
    kind: Vec<&'static str>,
    pub input: Vec<String>,
    actor: Vec<&'a str>,
    trace: Vec<Option<&'a str>>,
    labels: Vec<String>,
    parent: Vec<Option<&'a str>>,
    parent_child: Vec<Option<i64>>,
    priority: Vec<i32>,
    delay: Vec<Option<i64>>,
    deadline: Vec<Option<i64>>,
}

impl<'a> RunColumns<'a> {
    pub fn push(&mut self, tenant: &'a str, run: &'a NewRun) {
        self.tenant.push(tenant);
        self.id.push(run.id.as_str());
        self.workflow.push(&run.workflow);
        self.version.push(run.version.as_str());
        self.kind.push(run.kind.as_str());
        self.input.push(run.input.to_stored());
        self.actor.push(&run.actor.0);
        self.trace.push(run.trace.as_deref());
        self.labels.push(json(&run.labels));
        self.parent.push(run.parent.as_ref().map(|parent| parent.run.as_str()));
        self.parent_child.push(run.parent.as_ref().map(|parent| number(parent.child.0)));
        self.priority.push(run.priority);
        self.delay.push(Some(millis(run.delay)).filter(|delay| *delay > 0));
        self.deadline.push(run.deadline.map(millis));
    }

    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// Parameters of `begin_runs`: times of creation, and whether a run needs the current version.
    pub fn into_begun(mut self, created: Vec<i64>, if_current: Vec<bool>) -> Vec<Owned<'a>> {
        let deadline = std::mem::take(&mut self.deadline);
        let mut values = self.into_common();
        values.extend(params![deadline, created, if_current]);
        values
    }

    pub fn into_params(mut self, now: Option<i64>) -> Vec<Owned<'a>> {
        let (delay, deadline) = (std::mem::take(&mut self.delay), std::mem::take(&mut self.deadline));
        let mut values = params![now];
        values.extend(self.into_common());
        values.extend(params![delay, deadline]);
        values
    }

    /// Columns that `insert_runs` and `begin_runs` share.
    fn into_common(self) -> Vec<Owned<'a>> {
        params![
            self.tenant,
            self.id,
            self.workflow,
            self.version,
            self.kind,
            self.input,
            self.actor,
            self.trace,
            self.labels,
            self.parent,
            self.parent_child,
            self.priority
        ]
    }
}

pub fn stored(payload: Option<&Payload>) -> Option<String> {
    payload.map(Payload::to_stored)
}
