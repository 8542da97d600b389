//! Operator requests for one run.

use rhythm_core::event::{EventData, Note, Reopened};
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::{Actor, MessageId, RunId, TaskId, TenantId, Version};
use rhythm_engine::world::{
    CommitItem, CommitOutcome, Controlled, Creation, Fence, FreshTime, NewRun, Opening, WorldError,
    WorldResult, not_begun, not_failed, still_open,
};
use rusqlite::params;

use super::dead_letters;
use super::request::changed_if;
use crate::sqlite::commit::write_first;
use crate::sqlite::definitions;
use crate::sqlite::history::write_operator_row;
use crate::sqlite::inbox::{Target, awaits};
use crate::sqlite::runs::{create_run, insert_timer, make_ready};
use crate::sqlite::sql::{int, sql};
use crate::sqlite::tasks::{insert, unblock_if_last_held};
use crate::sqlite::tx::Tx;

struct Live {
    key: i64,
    paused: bool,
    blocked: Option<String>,
    aside: bool,
}

fn live(tx: &Tx<'_>, tenant: &TenantId, run: &RunId) -> WorldResult<Live> {
    let id = params![run.as_str(), tenant.as_str()];
    let found = tx.one(sql!("control", "live"), id, |row| {
        Ok(Live { key: row.take()?, paused: row.take()?, blocked: row.take()?, aside: row.take()? })
    })?;
    if let Some(live) = found {
        return Ok(live);
    }
    match tx.one(sql!("inbox", "ended_by_id"), id, |row| Ok((row.take::<i64>()?, row.take::<String>()?)))? {
        Some((_, status)) => Err(WorldError::Conflict(format!("run {run} has ended ({status})"))),
        None => Err(WorldError::NotFound(format!("run {run}"))),
    }
}

/// Pauses a run at once: removes it from the queue even if it is claimed, and raises the revision.
pub fn pause(
    tx: &Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
    actor: &Actor,
    reason: &str,
) -> WorldResult<Controlled> {
    let live = live(tx, tenant, run)?;
    if live.paused {
        return Ok(Controlled::Unchanged);
    }
    tx.run(sql!("control", "set_paused"), params![live.key, true])?;
    tx.run(sql!("commit", "pause_queue_place"), params![live.key])?;
    write_operator_row(tx, live.key, actor, EventData::Paused(Note { reason: reason.to_owned() }))?;
    Ok(Controlled::Done)
}

pub fn resume(
    tx: &Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
    actor: &Actor,
    reason: &str,
) -> WorldResult<Controlled> {
    let live = live(tx, tenant, run)?;
    if !live.paused {
        return Ok(Controlled::Unchanged);
    }
    tx.run(sql!("control", "set_paused"), params![live.key, false])?;
    write_operator_row(tx, live.key, actor, EventData::Resumed(Note { reason: reason.to_owned() }))?;
    // A delayed start still waits for its timer.
    if tx.number(sql!("control", "waits_for_start"), params![live.key])? == 0 {
        make_ready(tx, live.key)?;
    }
    Ok(Controlled::Done)
}

pub fn unblock(tx: &Tx<'_>, tenant: &TenantId, run: &RunId) -> WorldResult<Controlled> {
    let live = live(tx, tenant, run)?;
    if !live.aside && live.blocked.as_deref().is_none_or(|code| code == "dead_letter") {
        return Ok(Controlled::Unchanged);
    }
    tx.run(sql!("control", "unblock"), params![live.key])?;
    tx.run(sql!("control", "forgive"), params![live.key])?;
    make_ready(tx, live.key)?;
    Ok(Controlled::Done)
}

pub fn annotate(
    tx: &Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
    actor: &Actor,
    event: &EventData,
) -> WorldResult<Controlled> {
    let live = live(tx, tenant, run)?;
    write_operator_row(tx, live.key, actor, event.clone())?;
    Ok(Controlled::Done)
}

/// Creates a run with its first commit. All checks come before the first write.
pub fn fork(tx: &Tx<'_>, tenant: &TenantId, run: &NewRun, item: &CommitItem) -> WorldResult<Controlled> {
    if tx.is_workflow_paused(tenant, &run.workflow)? {
        return Err(WorldError::Conflict(format!("workflow {} is paused", run.workflow)));
    }
    if let Some(hash) = definitions::use_blobs(tx, tenant, &item.blobs)?.first() {
        return Err(WorldError::NotFound(format!("blob {hash}")));
    }
    match create_run(tx, tenant, run)? {
        Creation::Exists => Ok(Controlled::Unchanged),
        Creation::Conflict => Err(WorldError::Conflict(format!("there is another run {}", run.id))),
        Creation::Created => {
            write_first(tx, tenant, item)?;
            Ok(Controlled::Done)
        }
    }
}

/// Dismisses a failed run. Only failed runs are kept longer than others.
pub fn dismiss(tx: &Tx<'_>, tenant: &TenantId, run: &RunId, actor: &Actor) -> WorldResult<Controlled> {
    let id = params![run.as_str(), tenant.as_str()];
    let ended =
        tx.one(sql!("control", "ended"), id, |row| Ok((row.take::<i64>()?, row.take::<String>()?)))?;
    match ended {
        Some((key, status)) if status == "failed" => {
            let dismissed = params![key, tx.now.millis(), actor.0];
            Ok(changed_if(tx.run(sql!("control", "dismiss"), dismissed)? > 0))
        }
        ended => {
            let is_live = tx.one(sql!("runs", "find_live"), id, |row| row.take::<i64>())?.is_some();
            Err(not_failed(run, is_live || ended.is_some()))
        }
    }
}

pub struct Reopening<'a> {
    /// For compensation: the run may have ended in any way, and its waiting messages and timers are deleted.
    pub to_take_back: bool,
    pub revision: u64,
    pub reason: &'a str,
    pub requeue: &'a [TaskId],
    pub redeliver: &'a [Message],
    pub fresh: Option<&'a FreshTime>,
}

pub fn reopen(
    tx: &Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
    actor: &Actor,
    wish: &Reopening<'_>,
) -> WorldResult<Controlled> {
    let key = open(tx, tenant, run, wish)?;
    go_on(tx, tenant, key, actor, wish)?;
    Ok(Controlled::Done)
}

/// Makes an ended run live again.
fn open(tx: &Tx<'_>, tenant: &TenantId, run: &RunId, wish: &Reopening<'_>) -> WorldResult<i64> {
    let key = reopenable(tx, tenant, run, wish)?;
    if wish.to_take_back {
        tx.run(sql!("commit", "delete_inbox"), params![key])?;
        tx.run(sql!("commit", "delete_timers"), params![key])?;
    }
    tx.run(sql!("control", "reopen_row"), params![key, tx.now.millis()])?;
    tx.run(sql!("control", "reopen_place"), params![key, tx.now.millis(), tx.next_number()])?;
    // Deletes its answer from the parent's inbox, unless it was consumed. A process that has claimed the
    // parent may hold the answer already, so it loses the claim.
    if tx.run(sql!("control", "withdraw_answer"), params![key])? > 0 {
        tx.run(sql!("control", "free_parent"), params![key])?;
    }
    tx.run(sql!("control", "delete_ended"), params![key])?;
    Ok(key)
}

/// Writes the `reopened` row, and gives the run its deadline, tasks and messages.
fn go_on(tx: &Tx<'_>, tenant: &TenantId, key: i64, actor: &Actor, wish: &Reopening<'_>) -> WorldResult<()> {
    let (reason, deadline) = (wish.reason.to_owned(), wish.fresh.map(|fresh| fresh.deadline));
    write_operator_row(tx, key, actor, EventData::Reopened(Reopened { reason, deadline }))?;
    if let Some(fresh) = wish.fresh {
        give_time(tx, tenant, key, fresh, FreshTime::claim(wish.revision))?;
    }
    // Letters that failed the run lose that mark.
    tx.run(sql!("dead", "forget_failed"), params![key])?;
    for task in wish.requeue {
        dead_letters::revive(tx, tenant, task, dead_letters::Revival::Attached, actor)?;
    }
    unblock_if_last_held(tx, key)?;
    for message in wish.redeliver {
        Target::of_key(tx, key)?.put(tx, message)?;
    }
    if has_something_to_do(tx, key)? {
        make_ready(tx, key)?;
    }
    Ok(())
}

pub struct VersionChange<'a> {
    pub version: &'a Version,
    pub item: &'a CommitItem,
    pub reopen: &'a Option<Opening>,
}

/// Changes the version of a run. Takes the claim for the operator, so that the former holder is refused, and
/// commits the item under it.
pub fn change_version(
    tx: &Tx<'_>,
    tenant: &TenantId,
    run: &RunId,
    actor: &Actor,
    change: &VersionChange<'_>,
) -> WorldResult<Controlled> {
    let item = change.item;
    let id = params![run.as_str(), tenant.as_str()];
    let last = tx.one(sql!("control", "last_commit"), id, |row| row.take::<Option<String>>())?;
    if last.flatten().as_deref() == Some(item.commit.as_str()) {
        return Ok(Controlled::Unchanged);
    }
    if let Some(hash) = definitions::use_blobs(tx, tenant, &item.blobs)?.first() {
        return Err(WorldError::NotFound(format!("blob {hash}")));
    }
    let opening = change.reopen.as_ref().map(|opening| Reopening {
        to_take_back: false,
        revision: item.revision,
        reason: &opening.reason,
        requeue: &opening.requeue,
        redeliver: &opening.redeliver,
        fresh: opening.fresh.as_deref(),
    });
    if let Some(wish) = &opening {
        open(tx, tenant, run, wish)?;
    }
    let live = live(tx, tenant, run)?;
    let (revision, begun) = tx
        .one(sql!("control", "changing"), params![live.key], |row| {
            Ok((row.take::<i64>()?, row.take::<bool>()?))
        })?
        .ok_or_else(|| WorldError::NotFound(format!("run {run}")))?;
    if revision != int(item.revision) {
        return Err(WorldError::Conflict(format!("run {run} was changed meanwhile")));
    }
    if !begun {
        return Err(not_begun(run));
    }
    tx.run(sql!("control", "change_version"), params![live.key, change.version.as_str()])?;
    let claim = tx.number(sql!("control", "take_claim"), params![live.key])?.unsigned_abs();
    let item = CommitItem { fence: Fence::Claim(claim), more: true, ..item.clone() };
    let ended = item.end.is_some();
    if !matches!(write_first(tx, tenant, &item)?, CommitOutcome::Done(_)) {
        return Err(WorldError::Corrupt(format!("run {run} cannot be claimed")));
    }
    if let Some(wish) = opening.filter(|_| !ended) {
        go_on(tx, tenant, live.key, actor, &wish)?;
    }
    if live.paused && !ended {
        tx.run(sql!("commit", "pause_queue_place"), params![live.key])?;
    }
    Ok(Controlled::Done)
}

/// Sets a new deadline, and creates tasks again under their old names.
fn give_time(tx: &Tx<'_>, tenant: &TenantId, key: i64, fresh: &FreshTime, claim: u64) -> WorldResult<()> {
    let (due_at, deadline) = (tx.now.plus(fresh.deadline), MessageId::deadline());
    tx.run(sql!("control", "set_deadline"), params![key, due_at.millis()])?;
    tx.run(sql!("control", "withdraw_message"), params![key, deadline.as_str()])?;
    insert_timer(tx, key, &deadline, due_at, Some(MessageBody::DeadlineReached))?;
    for task in &fresh.tasks {
        if let Some(answer) = task.answer() {
            tx.run(sql!("control", "withdraw_message"), params![key, answer.as_str()])?;
        }
        insert(tx, tenant, task, Some(key), None)?;
        tx.run(sql!("control", "raise_claim"), params![task.id.as_str(), tenant.as_str(), int(claim)])?;
    }
    Ok(())
}

/// Checks that a run may be reopened, before anything is written. Returns its key.
fn reopenable(tx: &Tx<'_>, tenant: &TenantId, run: &RunId, wish: &Reopening<'_>) -> WorldResult<i64> {
    let id = params![run.as_str(), tenant.as_str()];
    if tx.one(sql!("runs", "find_live"), id, |row| row.take::<i64>())?.is_some() {
        return Err(WorldError::Conflict(format!("run {run} has not ended")));
    }
    let ended = tx.one(sql!("control", "ended"), id, |row| {
        Ok((row.take::<i64>()?, row.take::<String>()?, row.take::<i64>()?))
    })?;
    let (key, status, revision) = ended.ok_or_else(|| WorldError::NotFound(format!("run {run}")))?;
    if status != "failed" && !wish.to_take_back {
        return Err(WorldError::Conflict(format!("run {run} is {status}, not failed")));
    }
    if revision != int(wish.revision) {
        return Err(WorldError::Conflict(format!("run {run} was changed meanwhile")));
    }
    let open = tx.one(sql!("control", "open_task"), params![key, run.as_str()], |row| row.id::<TaskId>())?;
    if let Some(task) = open.filter(|_| wish.to_take_back) {
        return Err(still_open(&task, run));
    }
    for task in wish.fresh.iter().flat_map(|fresh| &fresh.tasks) {
        if tx
            .one(sql!("tasks", "open"), params![task.id.as_str(), tenant.as_str()], |row| row.take::<i64>())?
            .is_some()
        {
            return Err(still_open(&task.id, run));
        }
    }
    for task in wish.requeue {
        dead_letters::letter(tx, tenant, task)?;
    }
    Ok(key)
}

fn has_something_to_do(tx: &Tx<'_>, key: i64) -> WorldResult<bool> {
    let awaiting = tx.one(sql!("control", "awaiting"), params![key], |row| row.take::<String>())?;
    let awaiting = awaiting.unwrap_or_default();
    let waiting: Vec<Option<String>> = tx.all(sql!("inbox", "signals_waiting"), params![key], |row| {
        row.take::<i64>()?;
        row.take()
    })?;
    Ok(waiting.iter().any(|signal| awaits(&awaiting, signal.as_deref())))
}
