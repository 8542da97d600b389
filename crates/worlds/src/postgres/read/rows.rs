//! Converts rows to types of the contract.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::event::{Event, EventData};
use rhythm_core::fold::RunState;
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::{
    Actor, Blocked, BlockedCode, CommandId, Failure, MessageId, Payload, RunId, Snapshot, TaskId,
    TaskOptions, TenantId, Timestamp, Version, WorkflowKind,
};
use rhythm_engine::world::{ClaimedTask, Parent, RunRow, TaskState, TaskSummary, WorldResult};
use tokio_postgres::Row;

use crate::postgres::connection::errors::damaged;

pub fn count(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub fn small(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

pub fn time(row: &Row, column: &str) -> Timestamp {
    Timestamp::from_millis(row.get(column))
}

pub fn time_option(row: &Row, column: &str) -> Option<Timestamp> {
    row.get::<_, Option<i64>>(column).map(Timestamp::from_millis)
}

pub fn from_json<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> WorldResult<T> {
    serde_json::from_str(text).map_err(|error| damaged(what, error))
}

pub fn payload(row: &Row, column: &str) -> WorldResult<Payload> {
    Payload::from_stored(row.get(column)).map_err(|error| damaged(column, error))
}

pub fn payload_option(row: &Row, column: &str) -> WorldResult<Option<Payload>> {
    let text: Option<&str> = row.get(column);
    text.map(|text| Payload::from_stored(text).map_err(|error| damaged(column, error))).transpose()
}

pub fn failure_option(row: &Row, column: &str) -> WorldResult<Option<Failure>> {
    row.get::<_, Option<&str>>(column).map(|text| from_json("failure", text)).transpose()
}

pub fn workflow_kind(text: &str) -> WorldResult<WorkflowKind> {
    WorkflowKind::parse(text).ok_or_else(|| damaged("kind of workflow", text))
}

/// Reads the columns that every query of runs selects.
pub fn run_row(row: &Row) -> WorldResult<RunRow> {
    let snapshot: Option<&[u8]> = row.get("snapshot");
    let format: Option<i32> = row.get("format");
    let parent: Option<String> = row.get("parent");
    let child: Option<i64> = row.get("parent_child");
    Ok(RunRow {
        id: RunId(row.get("id")),
        tenant: TenantId(row.get("tenant")),
        workflow: row.get("workflow"),
        version: Version(row.get("version")),
        kind: workflow_kind(row.get("kind"))?,
        state: RunState {
            snapshot: snapshot
                .map(|bytes| Snapshot { format: small(format.unwrap_or(0)), bytes: Arc::from(bytes) }),
            seq: count(row.get("seq")),
            at: time(row, "at"),
            awaiting: awaiting(row.get("awaiting"))?,
            cancelling: row.get("cancelling"),
        },
        revision: count(row.get("revision")),
        arrived: count(row.get("arrived")),
        paused: row.get("paused"),
        priority: row.get("priority"),
        parent: parent
            .zip(child)
            .map(|(run, child)| Parent { run: RunId(run), child: CommandId(count(child)) }),
        created_at: time(row, "created_at"),
    })
}

pub fn awaiting(text: &str) -> WorldResult<BTreeSet<String>> {
    let names = text.split('\n').filter(|name| !name.is_empty());
    names.map(|name| from_json("awaited name", name)).collect()
}

pub fn blocked(row: &Row) -> WorldResult<Option<Blocked>> {
    let Some(code) = row.get::<_, Option<&str>>("blocked_code") else { return Ok(None) };
    let code = BlockedCode::parse(code).ok_or_else(|| damaged("blocked code", code))?;
    let since = time_option(row, "blocked_since").unwrap_or_default();
    let detail = row.get::<_, Option<String>>("blocked_detail").unwrap_or_default();
    Ok(Some(Blocked { code, since, detail }))
}

pub fn message(row: &Row) -> WorldResult<Message> {
    let body: MessageBody = from_json("message", row.get("body"))?;
    Ok(Message {
        id: MessageId(row.get("id")),
        at: time(row, "at"),
        actor: Actor(row.get("actor")),
        trace: row.get("trace"),
        body,
    })
}

pub fn event(row: &Row) -> WorldResult<Event> {
    let (kind, data): (&str, &str) = (row.get("type"), row.get("data"));
    Ok(Event {
        seq: count(row.get("seq")),
        at: time(row, "at"),
        cause: row.get::<_, Option<i64>>("cause").map(count),
        message: row.get::<_, Option<String>>("message").map(MessageId),
        actor: Actor(row.get("actor")),
        trace: row.get("trace"),
        data: EventData::from_parts(kind, data).map_err(|error| damaged("event", error))?,
    })
}

pub fn options(row: &Row) -> WorldResult<TaskOptions> {
    from_json("task options", row.get("options"))
}

pub fn claimed_task(row: &Row) -> WorldResult<ClaimedTask> {
    let run: Option<String> = row.get("run");
    let number: Option<i64> = row.get("number");
    Ok(ClaimedTask {
        id: TaskId(row.get("id")),
        run: run.zip(number).map(|(run, number)| (RunId(run), CommandId(count(number)))),
        name: row.get("name"),
        input: payload(row, "input")?,
        options: options(row)?,
        claim: count(row.get("claim")),
        attempt: small(row.get("attempt")),
        delivery: small(row.get("delivery")),
        progress: payload_option(row, "progress")?,
        created_at: time(row, "created_at"),
        deadline_at: time_option(row, "deadline_at"),
        trace: row.get("trace"),
    })
}

const STATES: [TaskState; 7] = [
    TaskState::Delayed,
    TaskState::Ready,
    TaskState::Running,
    TaskState::Held,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Cancelled,
];

/// Stored number of a state.
pub fn state_number(state: TaskState) -> i16 {
    STATES.iter().position(|known| *known == state).map_or(0, |place| place as i16)
}

pub fn task_summary(row: &Row) -> WorldResult<TaskSummary> {
    let state: i16 = row.get("state");
    let state = usize::try_from(state).ok().and_then(|place| STATES.get(place).copied());
    Ok(TaskSummary {
        id: TaskId(row.get("id")),
        run: row.get::<_, Option<String>>("run").map(RunId),
        name: row.get("name"),
        state: state.ok_or_else(|| damaged("task", "unknown state"))?,
        input: payload(row, "input")?,
        options: options(row)?,
        attempt: small(row.get("attempt")),
        delivery: small(row.get("delivery")),
        worker: row.get("worker"),
        cancel_requested: row.get("cancel"),
        progress: payload_option(row, "progress")?,
        created_at: time(row, "created_at"),
        since: time(row, "since"),
        deadline_at: time_option(row, "deadline_at"),
        output: payload_option(row, "output")?,
        failure: failure_option(row, "failure")?,
    })
}
