//! Listings, newest first; a cursor is the creation number of the last row shown.

use std::collections::BTreeSet;

use rhythm_core::event::Event;
use rhythm_core::{Blocked, CommandId, Compensation, RunId, Status, TaskId, TenantId, Version};
use rhythm_engine::world::{
    AttemptRow, DeadLetter, DeadQuery, Fate, HistoryQuery, LetterStatus, Need, Page, Parent, QueueRow,
    ReadyWork, RunQuery, RunSummary, Schedule, TaskQuery, TaskSummary, VersionRow, WorkerRow, WorkflowRow,
    WorldError, WorldResult,
};
use rhythm_graph::NodeType;
use tokio_postgres::Row;

use crate::postgres::commit::columns::number;
use crate::postgres::connection::errors::damaged;
use crate::postgres::connection::reconnecting::{Param, ReconnectingClient};
use crate::postgres::read::rows::{
    awaiting, blocked, count, event, failure_option, from_json, options, payload, small, state_number,
    task_summary, time, time_option, workflow_kind,
};
use crate::postgres::sql;

/// Number of rows to read: one more than shown, to find out whether there is a next page.
fn wanted(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX - 1).saturating_add(1)
}

fn before(cursor: Option<&str>) -> WorldResult<i64> {
    match cursor {
        None => Ok(i64::MAX),
        Some(text) => text.parse().map_err(|_| WorldError::Invalid(format!("not a cursor: {text}"))),
    }
}

fn page<T>(
    rows: &[Row],
    limit: usize,
    number: &str,
    read: impl Fn(&Row) -> WorldResult<T>,
) -> WorldResult<Page<T>> {
    let shown = &rows[..rows.len().min(limit)];
    let last = shown.last().filter(|_| rows.len() > limit);
    Ok(Page {
        next: last.map(|row| row.get::<_, i64>(number).to_string()),
        rows: shown.iter().map(read).collect::<WorldResult<_>>()?,
    })
}

pub async fn runs(link: &ReconnectingClient, query: RunQuery) -> WorldResult<Page<RunSummary>> {
    let (keys, values): (Vec<String>, Vec<Option<String>>) =
        query.labels.into_iter().map(|wanted| (wanted.key, wanted.value)).unzip();
    let params: &[Param<'_>] = &[
        &query.tenant.as_str(),
        &before(query.cursor.as_deref())?,
        &query.status.map(Status::as_str),
        &query.workflow,
        &keys,
        &values,
        &query.parent.as_ref().map(RunId::as_str),
        &query.blocked,
        &wanted(query.limit),
    ];
    page(&link.query(sql::LIST_RUNS, params).await?, query.limit, "place", run_summary)
}

pub fn run_summary(row: &Row) -> WorldResult<RunSummary> {
    let status: &str = row.get("status");
    let status = Status::parse(status).ok_or_else(|| damaged("status", status))?;
    let parent = row.get::<_, Option<String>>("parent").zip(row.get::<_, Option<i64>>("parent_child"));
    let awaiting = awaiting(row.get("awaiting"))?;
    Ok(RunSummary {
        id: RunId(row.get("id")),
        workflow: row.get("workflow"),
        version: Version(row.get("version")),
        kind: workflow_kind(row.get("kind"))?,
        status,
        paused: row.get("paused"),
        blocked: blocked(row)?.or_else(|| Blocked::by_nodes(status, &awaiting)),
        compensation: Compensation::of(status, &awaiting),
        cancelling: row.get("cancelling"),
        priority: row.get("priority"),
        labels: from_json("tags", row.get("tags"))?,
        parent: parent.map(|(run, child)| Parent { run: RunId(run), child: CommandId(count(child)) }),
        created_at: time(row, "created_at"),
        updated_at: time(row, "updated_at"),
        ended_at: time_option(row, "ended_at"),
        deadline_at: time_option(row, "deadline_at"),
        revision: count(row.get("revision")),
        seq: count(row.get("seq")),
        failure: failure_option(row, "failure")?,
    })
}

pub async fn history(link: &ReconnectingClient, query: HistoryQuery) -> WorldResult<Vec<Event>> {
    let params: &[Param<'_>] = &[
        &query.tenant.as_str(),
        &query.run.as_str(),
        &number(query.after),
        &i64::try_from(query.limit).unwrap_or(i64::MAX),
    ];
    link.query(sql::HISTORY, params).await?.iter().map(event).collect()
}

pub async fn attempts(
    link: &ReconnectingClient,
    tenant: &TenantId,
    run: &RunId,
) -> WorldResult<Vec<AttemptRow>> {
    let rows = link.query(sql::ATTEMPTS, &[&tenant.as_str(), &run.as_str()]).await?;
    let read = |row: &Row| {
        Ok(AttemptRow {
            task: TaskId(row.get("task")),
            attempt: small(row.get("attempt")),
            delivery: small(row.get("delivery")),
            worker: row.get("worker"),
            ended_at: time(row, "ended_at"),
            failure: from_json("failure", row.get("failure"))?,
            next_at: time_option(row, "next_at"),
        })
    };
    rows.iter().map(read).collect()
}

pub async fn tasks(link: &ReconnectingClient, query: TaskQuery) -> WorldResult<Page<TaskSummary>> {
    let params: &[Param<'_>] = &[
        &query.tenant.as_str(),
        &before(query.cursor.as_deref())?,
        &query.state.map(state_number),
        &query.queue,
        &query.name,
        &wanted(query.limit),
    ];
    page(&link.query(sql::LIST_TASKS, params).await?, query.limit, "seq", task_summary)
}

pub async fn task(
    link: &ReconnectingClient,
    tenant: &TenantId,
    task: &TaskId,
) -> WorldResult<Option<TaskSummary>> {
    let rows = link.query(sql::READ_TASK, &[&tenant.as_str(), &task.as_str()]).await?;
    rows.first().map(task_summary).transpose()
}

pub async fn dead(link: &ReconnectingClient, query: DeadQuery) -> WorldResult<Page<DeadLetter>> {
    let params: &[Param<'_>] = &[
        &query.tenant.as_str(),
        &before(query.cursor.as_deref())?,
        &query.run.as_ref().map(RunId::as_str),
        &query.queue,
        &wanted(query.limit),
        &letter_numbers(&query.statuses),
        &query.task.as_ref().map(TaskId::as_str),
    ];
    page(&link.query(sql::LIST_DEAD, params).await?, query.limit, "seq", dead_letter)
}

/// Stored number of a status.
fn letter_number(status: LetterStatus) -> i16 {
    match status {
        LetterStatus::Pending => 0,
        LetterStatus::Handled => 1,
        LetterStatus::Reprocessed => 2,
        LetterStatus::Discarded => 3,
    }
}

fn letter_numbers(wanted: &BTreeSet<LetterStatus>) -> Vec<i16> {
    match wanted.is_empty() {
        true => vec![letter_number(LetterStatus::Pending)],
        false => wanted.iter().copied().map(letter_number).collect(),
    }
}

pub fn fate(row: &Row) -> WorldResult<Fate> {
    let fate: &str = row.get("fate");
    Fate::parse(fate).ok_or_else(|| damaged("fate", fate))
}

pub fn dead_letter(row: &Row) -> WorldResult<DeadLetter> {
    Ok(DeadLetter {
        task: TaskId(row.get("task")),
        run: row.get::<_, Option<String>>("run").map(RunId),
        number: row.get::<_, Option<i64>>("number").map(|number| CommandId(count(number))),
        name: row.get("name"),
        input: payload(row, "input")?,
        options: options(row)?,
        failure: from_json("failure", row.get("failure"))?,
        attempts: small(row.get("attempts")),
        died_at: time(row, "died_at"),
        held: row.get("held"),
        fate: fate(row)?,
        status: {
            let number: i16 = row.get("status");
            let known = LetterStatus::ALL.into_iter().find(|status| letter_number(*status) == number);
            known.ok_or_else(|| damaged("status of a letter", number.to_string()))?
        },
        history: from_json("history of a letter", row.get("history"))?,
    })
}

pub async fn workers(
    link: &ReconnectingClient,
    now: Option<i64>,
    tenant: &TenantId,
) -> WorldResult<Vec<WorkerRow>> {
    let read = |row: &Row| {
        Ok(WorkerRow {
            card: from_json("worker card", row.get("card"))?,
            started_at: time(row, "started_at"),
            beat_at: time(row, "beat_at"),
            running: small(row.get("running")),
            live: row.get("live"),
        })
    };
    link.query(sql::WORKERS, &[&tenant.as_str(), &now]).await?.iter().map(read).collect()
}

pub async fn queues(
    link: &ReconnectingClient,
    now: Option<i64>,
    tenant: &TenantId,
) -> WorldResult<Vec<QueueRow>> {
    let read = |row: &Row| QueueRow {
        name: row.get("name"),
        paused: row.get("paused"),
        ready: count(row.get("ready")),
        delayed: count(row.get("delayed")),
        running: count(row.get("running")),
        held: count(row.get("held")),
        oldest_ready_at: time_option(row, "oldest"),
        workers: count(row.get("workers")),
    };
    Ok(link.query(sql::QUEUES, &[&tenant.as_str(), &now]).await?.iter().map(read).collect())
}

pub async fn ready_work(
    link: &ReconnectingClient,
    now: Option<i64>,
    tenant: &TenantId,
) -> WorldResult<Vec<ReadyWork>> {
    let read = |row: &Row| {
        let need = match row.get::<_, Option<String>>("kind") {
            Some(kind) => Need::Run { kind: workflow_kind(&kind)?, workflow: row.get("name") },
            None => Need::Task { queue: row.get("queue"), name: row.get("name") },
        };
        Ok(ReadyWork { need, count: count(row.get("count")), oldest: time(row, "oldest") })
    };
    let rows = link.query(sql::READY_WORK, &[&tenant.as_str(), &now]).await?;
    let mut work: Vec<ReadyWork> = rows.iter().map(read).collect::<WorldResult<_>>()?;
    work.sort_by(|a, b| a.need.cmp(&b.need));
    Ok(work)
}

pub async fn schedules(link: &ReconnectingClient, tenant: &TenantId) -> WorldResult<Vec<Schedule>> {
    let rows = link.query(sql::SCHEDULES, &[&tenant.as_str()]).await?;
    rows.iter().map(|row| from_json("schedule", row.get(0))).collect()
}

pub async fn node_types(link: &ReconnectingClient, tenant: &TenantId) -> WorldResult<Vec<NodeType>> {
    let rows = link.query(sql::NODE_TYPES, &[&tenant.as_str()]).await?;
    rows.iter().map(|row| from_json("node type", row.get(0))).collect()
}

pub async fn workflows(link: &ReconnectingClient, tenant: &TenantId) -> WorldResult<Vec<WorkflowRow>> {
    let read = |row: &Row| {
        Ok(WorkflowRow {
            workflow: row.get("workflow"),
            kind: workflow_kind(row.get("kind"))?,
            version: Version(row.get("version")),
            number: count(row.get("version_number")),
            versions: count(row.get("versions")),
            paused: row.get("paused"),
            registered_at: time(row, "registered_at"),
        })
    };
    link.query(sql::WORKFLOWS, &[&tenant.as_str()]).await?.iter().map(read).collect()
}

pub async fn versions(
    link: &ReconnectingClient,
    tenant: &TenantId,
    workflow: &str,
) -> WorldResult<Vec<VersionRow>> {
    let read = |row: &Row| {
        Ok(VersionRow {
            number: count(row.get("version_number")),
            version: Version(row.get("version")),
            kind: workflow_kind(row.get("kind"))?,
            registered_at: time(row, "registered_at"),
            current: row.get("current"),
            open_runs: count(row.get("open_runs")),
        })
    };
    link.query(sql::VERSIONS, &[&tenant.as_str(), &workflow]).await?.iter().map(read).collect()
}
