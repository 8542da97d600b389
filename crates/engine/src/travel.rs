//! Time travel: a run as it was after any event, and runs that go on from there by themselves.
//!
//! A fork has the history of its origin up to an event, folded anew under its own name, so that `fold(history) ==
//! snapshot` holds for it as for every run. What was under way at that point is started again: tasks with all their
//! attempts, children with the version current now, timers for the time they were set to. What had been asked to stop
//! is answered as cancelled. Signals it had sent are not sent again, and signals that waited for the origin stay there.

mod past;

use rhythm_core::event::{Event, EventData, Forked};
use rhythm_core::fold::{End, RunState};
use rhythm_core::message::{ChildFailed, Message, MessageBody, TaskFailed};
use rhythm_core::refold::{Open, Past};
use rhythm_core::{Actor, CommitId, Failure, MessageId, Millis, Payload, RunId, TaskSpec};

use crate::children::{new_child, pin};
use crate::client::Client;
use crate::error::EngineError;
use crate::plan::referred;
use crate::programs::Programs;
use crate::whereabouts::{Whereabouts, after};
use crate::world::*;

/// The tag that leads from a fork to its origin: the run and the last event they share.
pub const ORIGIN_TAG: &str = "forked_from";

/// A run as it was.
#[derive(Debug)]
pub struct Moment {
    /// The event that was asked for.
    pub event: Event,
    /// The last event of the transition it belongs to: transitions are written whole.
    pub last: u64,
    pub past: Past,
    /// Of a flow.
    pub place: Option<Whereabouts>,
}

/// What becomes of a fork.
#[derive(Clone, Debug, Default)]
pub struct ForkRun {
    /// The last event the two runs share.
    pub at: u64,
    /// Starts over with this input; only with an event of the start.
    pub input: Option<Payload>,
    /// The same key always names the same fork of that event.
    pub key: Option<String>,
}

/// Folds a run's history up to an event.
pub async fn at(client: &Client, programs: &Programs, run: &RunId, seq: u64) -> Result<Moment, EngineError> {
    let row = client.picture(run).await?.row;
    let history = client.history(run).await?;
    let past::Prefix { event, rows, .. } = past::prefix(&history, run, seq)?;
    let past = past::fold(client, programs, &row, &row.facts(), rows).await?;
    let failed = matches!(past.end, Some(End::Failed(_)));
    let failed_by = rows.iter().rev().find_map(Event::to_message).filter(|_| failed);
    let place = after(client, &row, &past.state, failed_by.as_ref()).await?;
    Ok(Moment { event: event.clone(), last: past.state.seq, past, place })
}

/// Where a fork comes from.
pub fn origin(run: &RunSummary) -> Option<Forked> {
    let (from, seq) = run.tags.get(ORIGIN_TAG)?.rsplit_once('@')?;
    Some(Forked { from: RunId::new(from), at_seq: seq.parse().ok()? })
}

/// Makes a new run out of a run's beginning; gives its id. With a key, a repeated call gives the run made first.
pub async fn fork(
    client: &Client,
    programs: &Programs,
    run: &RunId,
    wish: ForkRun,
) -> Result<RunId, EngineError> {
    let picture = client.picture(run).await?;
    let history = client.history(run).await?;
    let prefix = past::prefix(&history, run, wish.at)?;
    let last = prefix.rows.last().map_or(0, |row| row.seq);
    let key = wish.key.as_ref().map(|key| format!("fork:{run}:{last}:{key}"));
    let id = match key {
        Some(key) => RunId::for_key(client.tenant(), &picture.summary.workflow, &key),
        None => RunId::new(client.fresh_id()),
    };
    let summary = &picture.summary;
    let mut tags = summary.tags.clone();
    tags.insert(ORIGIN_TAG.to_owned(), format!("{run}@{last}"));
    let new = NewRun {
        id: id.clone(),
        workflow: summary.workflow.clone(),
        version: summary.version.clone(),
        kind: summary.kind,
        input: picture.input.clone(),
        priority: summary.priority,
        delay: Millis::ZERO,
        // It has as long as its origin had.
        deadline: summary.deadline_at.map(|deadline| deadline.since(summary.created_at)),
        tags,
        parent: None,
        actor: client.actor().clone(),
        trace: None,
    };
    if let Some(input) = wish.input {
        if !prefix.is_start {
            let help = "with another input a fork starts over: name an event of its start, such as 1";
            return Err(EngineError::Invalid(format!("event {} comes after the start; {help}", wish.at)));
        }
        start_over(client, new, input).await?;
        return Ok(id);
    }
    let facts = rhythm_core::program::RunFacts { run: id.clone(), ..picture.row.facts() };
    let past = past::fold(client, programs, &picture.row, &facts, prefix.rows).await?;
    if let Some(end) = &past.end {
        let before = history.iter().rfind(|row| row.seq < prefix.first).map_or(0, |row| row.seq);
        return Err(EngineError::Invalid(format!(
            "run {run} had {} with event {}; fork it at an earlier one, such as {before}",
            past::ended(end),
            wish.at
        )));
    }
    let refs = past::refs(client, programs, &picture.row, past.state.snapshot.as_ref()).await?;
    let mut item = Making { client, id: &id, origin: run }.item(past, last).await?;
    item.blobs = referred(&item, refs);
    let control = Control::Fork { run: Box::new(new), item: Box::new(item) };
    client.control(control).await?;
    Ok(id)
}

async fn start_over(client: &Client, new: NewRun, input: Payload) -> Result<(), EngineError> {
    let query = DefinitionQuery {
        tenant: client.tenant().clone(),
        workflow: new.workflow.clone(),
        version: Some(new.version.clone()),
    };
    let found = client.world().definition(query).await?;
    let definition = found.ok_or_else(|| EngineError::UnknownWorkflow(new.workflow.clone()))?;
    client.check_input(&definition, &input).await?;
    let (id, input) = (new.id.clone(), client.store(input).await?);
    let runs = vec![NewRun { input, ..new }];
    let created = client.world().create_runs(CreateRuns { tenant: client.tenant().clone(), runs }).await?;
    match created.first() {
        Some(Creation::Conflict) => Err(EngineError::KeyConflict(id.to_string())),
        _ => Ok(()),
    }
}

/// A fork in the making.
struct Making<'a> {
    client: &'a Client,
    id: &'a RunId,
    origin: &'a RunId,
}

impl Making<'_> {
    /// Everything the new run begins with, as its first commit.
    async fn item(&self, past: Past, last: u64) -> Result<CommitItem, EngineError> {
        let Past { state, mut events, open, blobs, .. } = past;
        for (blob, content) in &blobs {
            self.client.world().put_blob(self.client.tenant(), blob, content).await?;
        }
        let now = self.client.world().now().await?;
        let state = RunState { seq: state.seq + 1, at: state.at.max(now), ..state };
        events.push(Event {
            seq: state.seq,
            at: state.at,
            cause: None,
            message: None,
            actor: self.client.actor().clone(),
            trace: None,
            data: EventData::Forked(Forked { from: self.origin.clone(), at_seq: last }),
        });
        let commit = CommitId::new(format!("fork:{}", self.id));
        let mut item = CommitItem::new(self.id.clone(), commit, Fence::Fused, state);
        item.events = events;
        self.start(open, &mut item).await?;
        Ok(item)
    }

    /// What was under way is under way again, under the new run's name.
    async fn start(&self, open: Open, item: &mut CommitItem) -> Result<(), EngineError> {
        item.tasks = open.tasks.into_values().map(|task| self.task(task)).collect();
        item.timers = open.timers.into_values().collect();
        for child in open.children.into_values() {
            let (world, tenant) = (&**self.client.world(), self.client.tenant());
            match pin(world, tenant, self.client.schemas(), &child).await? {
                Ok(definition) => item.children.push(new_child(self.id, child, definition)),
                Err(failure) => crate::plan::refuse_child(item, &child, failure),
            }
        }
        let stopped = || Failure::cancelled("it was cancelled before the run was forked");
        for task in open.cancelled_tasks {
            let body = MessageBody::TaskFailed(TaskFailed { task, failure: stopped() });
            self.tell(item, MessageId::task(task), body);
        }
        for child in open.cancelled_children {
            let body = MessageBody::ChildFailed(ChildFailed { child, failure: stopped() });
            self.tell(item, MessageId::child(child), body);
        }
        Ok(())
    }

    fn task(&self, spec: TaskSpec) -> NewTask {
        NewTask {
            id: self.id.task(spec.task),
            run: Some((self.id.clone(), spec.task)),
            name: spec.name,
            input: spec.input,
            options: spec.options,
            actor: Actor::run(self.id),
            trace: None,
            claim: false,
        }
    }

    fn tell(&self, item: &mut CommitItem, id: MessageId, body: MessageBody) {
        let message = Message { id, at: item.state.at, actor: Actor::system(), trace: None, body };
        item.deliveries.push(Delivery { to: self.id.clone(), message });
    }
}
