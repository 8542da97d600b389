//! Time travel: the state of a run after any event, and forks that continue from there. A fork has the
//! history of its origin up to an event, folded again under its own id, so that `fold(history) == snapshot`
//! holds for it too. Open work at that point is started again: tasks with all their attempts, children with
//! the current version, timers for the time they were set to. A task that asks for the same work as one of
//! the origin's has its key. Tasks and children that were being cancelled are answered as cancelled. Signals
//! are not sent again, and those in the origin's inbox stay there.

mod acted;
pub(crate) mod past;

use std::collections::BTreeMap;

use rhythm_core::event::{Event, EventData, Forked};
use rhythm_core::fold::{End, RunState};
use rhythm_core::lineage::{ByVersion, first_version};
use rhythm_core::message::{ChildFailed, Message, MessageBody, TaskFailed};
use rhythm_core::payload::Contents;
use rhythm_core::program::RunFacts;
use rhythm_core::refers::{self, Refs};
use rhythm_core::state_at_event::{Open, Past};
use rhythm_core::{Actor, CommitId, Failure, MessageId, Millis, Payload, RunId, TaskSpec, Version};

use crate::children::{new_child, pin};
use crate::client::Client;
use crate::error::EngineError;
use crate::labels::FORKED_FROM;
use crate::origins::Origins;
use crate::plan::referred;
use crate::programs::Programs;
use crate::versions::{self, ChangeVersion};
use crate::whereabouts::{Whereabouts, after};
use crate::world::*;

pub use acted::Acted;
use acted::Rest;

/// State of a run after an event.
#[derive(Debug)]
pub struct Moment {
    /// The requested event.
    pub event: Event,
    /// The last event of its transition: transitions are written completely.
    pub last: u64,
    pub past: Past,
    /// Source position, for a flow.
    pub place: Option<Whereabouts>,
}

/// Options of a fork.
#[derive(Clone, Debug, Default)]
pub struct ForkRun {
    /// The last event the two runs share.
    pub at: u64,
    /// Starts over with this input. Only allowed with an event of the start.
    pub input: Option<Payload>,
    /// Continues with this version; by default the one the run had at that event. With an event of the start
    /// it starts over.
    pub version: Option<Version>,
    /// Line of that version that waits for what the run waited for; found automatically by default.
    pub line: Option<u32>,
    /// Idempotency key: the same key always names the same fork of that event.
    pub key: Option<String>,
}

/// Folds a run's history up to an event. Fails if the run or event is unknown, or the history does not fold.
pub async fn at(client: &Client, programs: &Programs, run: &RunId, seq: u64) -> Result<Moment, EngineError> {
    let row = client.picture(run).await?.row;
    let history = client.history(run).await?;
    let past::Prefix { event, rows, .. } = past::prefix(&history, run, seq)?;
    let loaded = past::programs_of(client, programs, &row, &history).await?;
    let past = past::fold(client, &loaded, (&row, &history), &row.facts(), rows).await?;
    // The program of that time knows the source position.
    let row = RunRow { version: past.version.clone().unwrap_or_else(|| row.version.clone()), ..row };
    let failed = matches!(past.end, Some(End::Failed(_)));
    let failed_by = rows.iter().rev().find_map(Event::to_message).filter(|_| failed);
    let place = after(client, &row, &past.state, failed_by.as_ref()).await?;
    Ok(Moment { event: event.clone(), last: past.state.seq, past, place })
}

/// Returns the origin of a fork, from its labels; `None` for other runs.
pub fn origin(run: &RunSummary) -> Option<Forked> {
    origin_by_labels(&run.labels)
}

/// Returns the origin that a run's labels name.
pub fn origin_by_labels(labels: &BTreeMap<String, String>) -> Option<Forked> {
    let (from, seq) = labels.get(FORKED_FROM)?.rsplit_once('@')?;
    Some(Forked { from: RunId::new(from), at_seq: seq.parse().ok()? })
}

/// Returns the last event after which a run was live: the default point of a fork.
pub async fn latest(client: &Client, run: &RunId) -> Result<u64, EngineError> {
    client.picture(run).await?;
    let history = client.history(run).await?;
    let is_end = |row: &&Event| {
        use EventData::{WorkflowCancelled, WorkflowCompleted, WorkflowFailed};
        matches!(row.data, WorkflowCompleted(_) | WorkflowFailed(_) | WorkflowCancelled(_))
    };
    let end = history.iter().find(is_end).map(|row| row.cause.unwrap_or(row.seq));
    let last = history.iter().rev().find(|row| end.is_none_or(|end| row.seq < end));
    Ok(last.map_or(1, |row| row.seq))
}

/// Returns the tasks that a fork repeats and whose handlers may have acted: the origin's tasks after that
/// event, those open at it, and all of the restarted children.
pub async fn repeated(
    client: &Client,
    programs: &Programs,
    run: &RunId,
    wish: &ForkRun,
) -> Result<Vec<Acted>, EngineError> {
    let picture = client.picture(run).await?;
    let history = client.history(run).await?;
    let prefix = past::prefix(&history, run, wish.at)?;
    if prefix.is_start && (wish.input.is_some() || wish.version.is_some()) {
        return acted::acted(client, Rest { run, after: 0, open: None }).await;
    }
    let loaded = past::programs_of(client, programs, &picture.row, &history).await?;
    let facts = picture.row.facts();
    let past = past::fold(client, &loaded, (&picture.row, &history), &facts, prefix.rows).await?;
    let after = prefix.rows.last().map_or(0, |row| row.seq);
    acted::acted(client, Rest { run, after, open: Some(&past.open) }).await
}

/// Creates a new run from the beginning of a run's history and returns its id. With a key, a repeated call
/// returns the first fork. Fails if the run or event is unknown, if the run ended with that event, or if the
/// options do not fit.
pub async fn fork(
    client: &Client,
    programs: &Programs,
    run: &RunId,
    wish: ForkRun,
) -> Result<RunId, EngineError> {
    let picture = client.picture(run).await?;
    let history = client.history(run).await?;
    let prefix = past::prefix(&history, run, wish.at)?;
    let mut loaded = past::programs_of(client, programs, &picture.row, &history).await?;
    if let Some(version) = &wish.version {
        let workflow = &picture.row.workflow;
        loaded.extend(versions::load(client, programs, workflow, [version]).await?);
    }
    let last = prefix.rows.last().map_or(0, |row| row.seq);
    let key = wish.key.as_ref().map(|key| format!("fork:{run}:{last}:{key}"));
    let id = match key {
        Some(key) => RunId::of_fork(RunId::for_key(client.tenant(), &picture.summary.workflow, &key)),
        None => RunId::of_fork(client.fresh_id()),
    };
    let then = version_then(&history, prefix.rows, &picture.row.version);
    let version = wish.version.clone().unwrap_or_else(|| then.clone());
    let summary = &picture.summary;
    let mut labels = summary.labels.clone();
    labels.insert(FORKED_FROM.to_owned(), format!("{run}@{last}"));
    let new = NewRun {
        id: id.clone(),
        workflow: summary.workflow.clone(),
        version: version.clone(),
        kind: summary.kind,
        input: picture.input.clone(),
        priority: summary.priority,
        delay: Millis::ZERO,
        // The fork gets as much time as its origin had.
        deadline: summary.deadline_at.map(|deadline| deadline.since(summary.created_at)),
        labels,
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
    if prefix.is_start && version != then {
        let input = new.input.clone();
        start_over(client, new, input).await?;
        return Ok(id);
    }
    let facts = rhythm_core::program::RunFacts { run: id.clone(), ..picture.row.facts() };
    let past = past::fold(client, &loaded, (&picture.row, &history), &facts, prefix.rows).await?;
    if let Some(end) = &past.end {
        let before = history.iter().rfind(|row| row.seq < prefix.first).map_or(0, |row| row.seq);
        return Err(EngineError::Invalid(format!(
            "run {run} had {} with event {}; fork it at an earlier one, such as {before}",
            past::ended(end),
            wish.at
        )));
    }
    let making = Making { client, id: &id, origin: run, origins: Origins::default(), labels: &new.labels };
    let mut begun = making.begin(past, last).await?;
    if version != then {
        let reason = format!("forked from {run}");
        let wish = ChangeVersion { to: version, line: wish.line, reason, id: None };
        begun.change((client, &picture, &facts), (&then, &wish), &loaded).await?;
    }
    let mut refs = Refs::new();
    let snapshot = begun.state.snapshot.as_ref();
    refers::new_in_snapshot(&*loaded[&new.version], None, snapshot, &mut refs)
        .map_err(crate::patches::unreadable)?;
    let mut item = making.item(begun).await?;
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

/// Returns the version a run had after these rows of its history.
fn version_then(history: &[Event], rows: &[Event], current: &Version) -> Version {
    let changed = |row: &Event| match &row.data {
        EventData::VersionChanged(changed) => Some(changed.to.clone()),
        _ => None,
    };
    let first = || first_version(history, current).clone();
    rows.iter().rev().find_map(changed).unwrap_or_else(first)
}

/// Parameters of a fork under construction.
struct Making<'a> {
    client: &'a Client,
    id: &'a RunId,
    origin: &'a RunId,
    origins: Origins,
    labels: &'a BTreeMap<String, String>,
}

/// State, history and open work of the new run.
struct Begun {
    state: RunState,
    events: Vec<Event>,
    open: Open,
    blobs: Contents,
}

impl Begun {
    /// Continues with another version from here.
    async fn change(
        &mut self,
        (client, picture, facts): (&Client, &Picture, &RunFacts),
        (then, wish): (&Version, &ChangeVersion),
        loaded: &ByVersion,
    ) -> Result<(), EngineError> {
        let about = (picture, facts);
        let advanced = versions::change_past(client, about, &self.state, (then, wish), loaded).await?;
        if let Some(end) = &advanced.end {
            let (run, ended) = (&picture.summary.id, past::ended(end));
            return Err(EngineError::Invalid(format!("a fork of run {run} would have {ended} at once")));
        }
        if let Some(message) = advanced.events.first().and_then(Event::to_message) {
            self.open.follow(&message.body, advanced.cancel_open, advanced.commands);
        }
        self.state = advanced.state;
        self.events.extend(advanced.events);
        self.blobs.extend(advanced.blobs);
        Ok(())
    }
}

impl Making<'_> {
    /// Builds the shared history and adds the row that names the origin.
    async fn begin(&self, past: Past, last: u64) -> Result<Begun, EngineError> {
        let Past { state, mut events, open, blobs, .. } = past;
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
        Ok(Begun { state, events, open, blobs })
    }

    /// Builds the first commit of the new run.
    async fn item(&self, begun: Begun) -> Result<CommitItem, EngineError> {
        let Begun { state, events, open, blobs } = begun;
        for (blob, content) in &blobs {
            self.client.world().put_blob(self.client.tenant(), blob, content).await?;
        }
        let commit = CommitId::new(format!("fork:{}", self.id));
        let mut item = CommitItem::new(self.id.clone(), commit, Fence::Fused, state);
        item.events = events;
        self.start(open, &mut item).await?;
        Ok(item)
    }

    /// Starts the open work again, under the new run's id.
    async fn start(&self, open: Open, item: &mut CommitItem) -> Result<(), EngineError> {
        item.tasks = open.tasks.into_values().map(|task| new_task(self.id, task)).collect();
        let (world, tenant) = (&**self.client.world(), self.client.tenant());
        self.origins.know(self.id, self.labels);
        self.origins.name(world, tenant, &mut item.tasks).await?;
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

    fn tell(&self, item: &mut CommitItem, id: MessageId, body: MessageBody) {
        let message = Message { id, at: item.state.at, actor: Actor::system(), trace: None, body };
        item.deliveries.push(Delivery { to: self.id.clone(), message });
    }
}

/// Builds a task from a run's request, to start again.
pub(crate) fn new_task(run: &RunId, spec: TaskSpec) -> NewTask {
    NewTask {
        id: run.task(spec.task),
        run: Some((run.clone(), spec.task)),
        name: spec.name,
        input: spec.input,
        options: spec.options,
        actor: Actor::run(run),
        trace: None,
        claim: false,
    }
}
