//! Converts rows to types of the contract. Each function reads the columns in the order of its statements.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::event::{Event, EventData};
use rhythm_core::fold::RunState;
use rhythm_core::message::Message;
use rhythm_core::{
    Actor, Blocked, BlockedCode, CommandId, Compensation, Snapshot, Status, Timestamp, WorkflowKind,
};
use rhythm_engine::world::{
    AttemptRow, ClaimedTask, DeadLetter, Fate, LetterStatus, Parent, RunRow, RunSummary, TaskState,
    TaskSummary,
};
use rusqlite::Result;

use super::sql::{Columns, json};

/// Values of `run_queue.place`. The value 3, ready later, is used in SQL only.
pub mod place {
    pub const OUT: i64 = 0;
    pub const READY: i64 = 1;
    pub const CLAIMED: i64 = 2;
}

/// Values of `task.state` and `ended_task.state`.
pub const DELAYED: i64 = 0;
pub const READY: i64 = 1;
pub const RUNNING: i64 = 2;
pub const HELD: i64 = 3;
pub const COMPLETED: i64 = 4;
pub const FAILED: i64 = 5;
pub const CANCELLED: i64 = 6;

pub fn task_state_number(state: TaskState) -> i64 {
    match state {
        TaskState::Delayed => DELAYED,
        TaskState::Ready => READY,
        TaskState::Running => RUNNING,
        TaskState::Held => HELD,
        TaskState::Completed => COMPLETED,
        TaskState::Failed => FAILED,
        TaskState::Cancelled => CANCELLED,
    }
}

fn task_state(columns: &mut Columns<'_>) -> Result<TaskState> {
    Ok(match columns.take::<i64>()? {
        DELAYED => TaskState::Delayed,
        READY => TaskState::Ready,
        RUNNING => TaskState::Running,
        HELD => TaskState::Held,
        COMPLETED => TaskState::Completed,
        FAILED => TaskState::Failed,
        CANCELLED => TaskState::Cancelled,
        other => return Err(columns.damaged(format!("task state {other} is not known here"))),
    })
}

/// 18 columns: run, tenant, workflow, version, kind, priority, parent_run, parent_child, created_at,
/// revision, arrived, paused, seq, at, awaiting, cancelling, format, snapshot.
pub fn run_row(row: &mut Columns<'_>) -> Result<RunRow> {
    let (id, tenant, workflow, version) = (row.id()?, row.id()?, row.id()?, row.id()?);
    let kind = row.word(WorkflowKind::parse)?;
    let priority = row.take()?;
    let parent = parent(row)?;
    let created_at = row.time()?;
    let (revision, arrived, paused) = (row.count()?, row.count()?, row.take()?);
    let (seq, at, awaiting, cancelling) = (row.count()?, row.time()?, row.json()?, row.take()?);
    let format: Option<u32> = row.take()?;
    let bytes: Option<Vec<u8>> = row.take()?;
    let snapshot = format.zip(bytes).map(|(format, bytes)| Snapshot { format, bytes: bytes.into() });
    let state = RunState { snapshot, seq, at, awaiting, cancelling };
    Ok(RunRow {
        id,
        tenant,
        workflow,
        version,
        kind,
        state,
        revision,
        arrived,
        paused,
        priority,
        parent,
        created_at,
    })
}

fn parent(row: &mut Columns<'_>) -> Result<Option<Parent>> {
    let run = row.id_option()?;
    let child: Option<i64> = row.take()?;
    Ok(run.zip(child).map(|(run, child)| Parent { run, child: CommandId(child.unsigned_abs()) }))
}

/// Columns: message, at, actor, trace, body.
pub fn message(row: &mut Columns<'_>) -> Result<Message> {
    Ok(Message {
        id: row.id()?,
        at: row.time()?,
        actor: Actor(row.take()?),
        trace: row.take()?,
        body: row.json()?,
    })
}

/// Columns: seq, at, cause, message, actor, trace, type, data.
pub fn event(row: &mut Columns<'_>) -> Result<Event> {
    let seq = row.count()?;
    let at = row.time()?;
    let cause = row.take::<Option<i64>>()?.map(i64::unsigned_abs);
    let message = row.id_option()?;
    let actor = Actor(row.take()?);
    let trace = row.take()?;
    let (kind, data): (String, String) = (row.take()?, row.take()?);
    let data = EventData::from_parts(&kind, &data).map_err(|error| row.damaged(error))?;
    Ok(Event { seq, at, cause, message, actor, trace, data })
}

/// Columns: task, run, number, name, input, options, claim, attempt, delivery, progress, created_at,
/// deadline_at, trace.
pub fn claimed_task(row: &mut Columns<'_>) -> Result<ClaimedTask> {
    let id = row.id()?;
    let run = row.id_option()?;
    let number: Option<i64> = row.take()?;
    Ok(ClaimedTask {
        id,
        run: run.zip(number.map(|number| CommandId(number.unsigned_abs()))),
        name: row.take()?,
        input: row.payload()?,
        options: row.json()?,
        claim: row.count()?,
        attempt: row.take()?,
        delivery: row.take()?,
        progress: row.json_option()?,
        created_at: row.time()?,
        deadline_at: row.time_option()?,
        trace: row.take()?,
    })
}

/// Columns: task, run, name, state, input, options, attempt, delivery, worker, cancel, progress, created_at,
/// since, deadline_at, output, failure.
pub fn task_summary(row: &mut Columns<'_>) -> Result<TaskSummary> {
    Ok(TaskSummary {
        id: row.id()?,
        run: row.id_option()?,
        name: row.take()?,
        state: task_state(row)?,
        input: row.payload()?,
        options: row.json()?,
        attempt: row.take()?,
        delivery: row.take()?,
        worker: row.take()?,
        cancel_requested: row.take()?,
        progress: row.json_option()?,
        created_at: row.time()?,
        since: row.time()?,
        deadline_at: row.time_option()?,
        output: row.json_option()?,
        failure: row.json_option()?,
    })
}

/// Columns: task, attempt, delivery, worker, ended_at, failure, next_at.
pub fn attempt(row: &mut Columns<'_>) -> Result<AttemptRow> {
    Ok(AttemptRow {
        task: row.id()?,
        attempt: row.take()?,
        delivery: row.take()?,
        worker: row.take()?,
        ended_at: row.time()?,
        failure: row.json()?,
        next_at: row.time_option()?,
    })
}

/// Stored number of a status.
pub fn letter_number(status: LetterStatus) -> i64 {
    match status {
        LetterStatus::Pending => 0,
        LetterStatus::Handled => 1,
        LetterStatus::Reprocessed => 2,
        LetterStatus::Discarded => 3,
    }
}

fn letter_status(number: i64) -> Option<LetterStatus> {
    LetterStatus::ALL.into_iter().find(|status| letter_number(*status) == number)
}

/// Wanted statuses as a JSON list of numbers; pending if none is given.
pub fn letter_statuses(wanted: &BTreeSet<LetterStatus>) -> String {
    let numbers: Vec<i64> = wanted.iter().map(|status| letter_number(*status)).collect();
    if numbers.is_empty() { json(&[letter_number(LetterStatus::Pending)]) } else { json(&numbers) }
}

/// Columns: task, run, command, name, input, options, failure, attempts, died_at, held, fate, status,
/// history.
pub fn dead_letter(row: &mut Columns<'_>) -> Result<DeadLetter> {
    Ok(DeadLetter {
        task: row.id()?,
        run: row.id_option()?,
        number: row.take::<Option<i64>>()?.map(|number| CommandId(number.unsigned_abs())),
        name: row.take()?,
        input: row.payload()?,
        options: row.json()?,
        failure: row.json()?,
        attempts: row.take()?,
        died_at: row.time()?,
        held: row.take()?,
        fate: row.word(Fate::parse)?,
        status: {
            let number = row.take()?;
            letter_status(number).ok_or_else(|| row.damaged(format!("status {number} of a letter")))?
        },
        history: row.json()?,
    })
}

/// Columns: code, since, detail.
pub fn blocked(row: &mut Columns<'_>) -> Result<Option<Blocked>> {
    let code: Option<String> = row.take()?;
    let since: Option<i64> = row.take()?;
    let detail: Option<String> = row.take()?;
    let Some(code) = code else { return Ok(None) };
    let code = BlockedCode::parse(&code).ok_or_else(|| row.damaged(format!("{code} is not known here")))?;
    Ok(Some(Blocked { code, since: Timestamp(since.unwrap_or(0)), detail: detail.unwrap_or_default() }))
}

/// Columns: run, workflow, version, kind, status, paused, blocked (3), cancelling, priority, labels, parent
/// (2), created_at, updated_at, ended_at, deadline_at, revision, seq, awaiting, failure.
pub fn run_summary(row: &mut Columns<'_>) -> Result<RunSummary> {
    let summary = RunSummary {
        id: row.id()?,
        workflow: row.take()?,
        version: row.id()?,
        kind: row.word(WorkflowKind::parse)?,
        status: row.word(Status::parse)?,
        paused: row.take()?,
        blocked: blocked(row)?,
        compensation: Compensation::None,
        cancelling: row.take()?,
        priority: row.take()?,
        labels: row.json::<BTreeMap<String, String>>()?,
        parent: parent(row)?,
        created_at: row.time()?,
        updated_at: row.time()?,
        ended_at: row.time_option()?,
        deadline_at: row.time_option()?,
        revision: row.count()?,
        seq: row.count()?,
        failure: None,
    };
    let (status, awaiting) = (summary.status, row.json()?);
    let failure = row.json_option()?;
    let blocked = summary.blocked.clone().or_else(|| Blocked::by_nodes(status, &awaiting));
    Ok(RunSummary { blocked, compensation: Compensation::of(status, &awaiting), failure, ..summary })
}
