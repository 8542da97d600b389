//! Claims ready runs with their waiting messages, and finds runs that a due timer wakes up.

use std::cmp::Reverse;

use rhythm_core::message::{Actor, Message, MessageBody, Start};
use rhythm_core::{CommandId, MessageId, RunId, Timestamp};
use rhythm_engine::world::{
    ClaimRuns, ClaimedRun, ClaimedRuns, DueRun, FindDue, FoundDue, MESSAGES_PER_COMMIT, RunRow, WorldResult,
};
use rusqlite::params;

use super::inbox::awaits;
use super::rows;
use super::sql::{Columns, Sql, json, number, size, sql};
use super::tx::Tx;

pub fn claim_runs(tx: &Tx<'_>, request: &ClaimRuns) -> WorldResult<ClaimedRuns> {
    if let Some(runs) = claimed_before(tx, request)? {
        return Ok(ClaimedRuns { at: tx.now, runs });
    }
    ready_what_is_due(tx)?;
    let ready = match &request.of {
        Some(root) => ready_of_family(tx, request, root)?,
        None => ready_of_all(tx, request)?,
    };
    let runs = ready.into_iter().map(|key| claim(tx, request, key)).collect::<WorldResult<_>>()?;
    Ok(ClaimedRuns { at: tx.now, runs })
}

/// A few runs, found by their ids.
fn ready_of_family(tx: &Tx<'_>, request: &ClaimRuns, root: &RunId) -> WorldResult<Vec<i64>> {
    let of_family = params![request.tenant.as_str(), root.as_str()];
    let ready = tx.all(sql!("claim_runs", "ready_of"), of_family, |row| {
        Ok((row.take::<i64>()?, row.take::<String>()?, row.take::<String>()?))
    })?;
    let mut keys = Vec::new();
    for (key, kind, workflow) in ready {
        let known = request.kinds.iter().any(|listed| listed.as_str() == kind)
            || request.workflows.contains(&workflow);
        if known && keys.len() < request.limit && !tx.is_workflow_paused(&request.tenant, &workflow)? {
            keys.push(key);
        }
    }
    Ok(keys)
}

fn ready_of_all(tx: &Tx<'_>, request: &ClaimRuns) -> WorldResult<Vec<i64>> {
    let mut ready = Vec::new();
    for (kind, workflow) in ready_programs(tx, request.tenant.as_str())? {
        let known = request.kinds.iter().any(|listed| listed.as_str() == kind)
            || request.workflows.contains(&workflow);
        if known && !tx.is_workflow_paused(&request.tenant, &workflow)? {
            let of_program = params![request.tenant.as_str(), kind, workflow, size(request.limit)];
            ready.extend(tx.all(sql!("claim_runs", "ready"), of_program, |row| {
                let order: (Reverse<i32>, Timestamp, i64) = (Reverse(row.take()?), row.time()?, row.take()?);
                Ok((order, row.take::<i64>()?))
            })?);
        }
    }
    ready.sort_unstable();
    ready.truncate(request.limit);
    Ok(ready.into_iter().map(|(_, key)| key).collect())
}

/// Finds runs that sleep until a timer that is due.
pub fn find_due(sql: Sql<'_>, now: Timestamp, request: &FindDue) -> WorldResult<FoundDue> {
    let kinds: Vec<&str> = request.kinds.iter().map(|kind| kind.as_str()).collect();
    let (kinds, workflows) = (json(&kinds), json(&request.workflows));
    let (limit, skip) = (size(request.limit), size(request.skip));
    let looked = params![now.millis(), request.tenant.as_str(), kinds, workflows, limit, skip];
    let runs = sql.all(sql!("claim_runs", "due"), looked, |row| {
        Ok(DueRun { run: rows::run_row(row)?, timer: CommandId(row.count()?) })
    })?;
    Ok(FoundDue { at: now, runs })
}

/// Returns the runs that an earlier call claimed and still holds, if its answer was lost. Renews their lease.
fn claimed_before(tx: &Tx<'_>, request: &ClaimRuns) -> WorldResult<Option<Vec<ClaimedRun>>> {
    if !request.ask.again {
        return Ok(None);
    }
    let of = params![request.tenant.as_str(), request.worker.as_str(), number(request.ask.number)];
    let taken = tx.all(sql!("claim_runs", "taken"), of, |row| row.take::<i64>())?;
    let until = tx.now.plus(request.hold).millis();
    let hold_again = |key: i64| {
        tx.run(sql!("claim_runs", "hold"), params![key, until])?;
        claimed(tx, key)
    };
    let runs = taken.into_iter().map(hold_again).collect::<WorldResult<Vec<_>>>()?;
    Ok(Some(runs).filter(|runs| !runs.is_empty()))
}

/// Makes runs ready whose release time (`Later`) has come. They have no timer, so claims and sweeps look for
/// them.
pub fn ready_what_is_due(tx: &Tx<'_>) -> WorldResult<usize> {
    tx.run(sql!("claim_runs", "ready_due"), params![tx.now.millis()])
}

/// Returns the programs with ready runs, with one index lookup for each, however many runs are ready.
pub fn ready_programs(tx: &Tx<'_>, tenant: &str) -> WorldResult<Vec<(String, String)>> {
    let mut found: Vec<(String, String)> = Vec::new();
    loop {
        let (kind, workflow) = found.last().map_or(("", ""), |(kind, workflow)| (kind, workflow));
        let after = params![tenant, kind, workflow];
        let next = tx.one(sql!("claim_runs", "next_program"), after, |row| Ok((row.take()?, row.take()?)))?;
        match next {
            Some(program) => found.push(program),
            None => return Ok(found),
        }
    }
}

fn claim(tx: &Tx<'_>, request: &ClaimRuns, key: i64) -> WorldResult<ClaimedRun> {
    let until = tx.now.plus(request.hold).millis();
    let (worker, ask) = (request.worker.as_str(), number(request.ask.number));
    tx.run(sql!("claim_runs", "take"), params![key, worker, until, ask])?;
    claimed(tx, key)
}

/// Reads a run that was just claimed.
fn claimed(tx: &Tx<'_>, key: i64) -> WorldResult<ClaimedRun> {
    let row = |row: &mut Columns<'_>| {
        Ok((rows::run_row(row)?, row.take::<bool>()?, row.count()?, row.take::<u32>()?))
    };
    let found = tx.one(sql!("claim_runs", "row"), params![key], row)?;
    let lost = || rhythm_engine::world::WorldError::Corrupt(format!("run {key} has a place but no row"));
    let (run, started, claim, deliveries) = found.ok_or_else(lost)?;
    let (messages, more) = messages(tx, key, &run, started)?;
    Ok(ClaimedRun { run, claim, messages, more, deliveries })
}

/// Returns the messages that wait for a run, in arrival order, and whether there are more. If there are too
/// many, consumable ones come first.
fn messages(tx: &Tx<'_>, key: i64, run: &RunRow, started: bool) -> WorldResult<(Vec<Message>, bool)> {
    let mut messages = Vec::new();
    if !started {
        messages.push(start(tx, key, run)?);
    }
    let room = MESSAGES_PER_COMMIT - messages.len();
    let waiting = tx.all(sql!("inbox", "first_waiting"), params![key, size(room + 1)], rows::message)?;
    if waiting.len() <= room {
        messages.extend(waiting);
        return Ok((messages, false));
    }
    let awaiting = json(&run.state.awaiting);
    let numbers = tx.all(sql!("inbox", "signals_waiting"), params![key], |row: &mut Columns<'_>| {
        Ok((row.take::<i64>()?, row.take::<Option<String>>()?))
    })?;
    let (now, later): (Vec<_>, Vec<_>) =
        numbers.iter().partition(|(_, signal)| awaits(&awaiting, signal.as_deref()));
    for (number, _) in now.into_iter().chain(later).take(room) {
        messages.extend(tx.one(sql!("inbox", "by_number"), params![number], rows::message)?);
    }
    Ok((messages, true))
}

fn start(tx: &Tx<'_>, key: i64, run: &RunRow) -> WorldResult<Message> {
    let message = tx.one(sql!("claim_runs", "start"), params![key], |row| {
        let input = row.payload()?;
        Ok(Message {
            id: MessageId::start(),
            at: run.created_at,
            actor: Actor(row.take()?),
            trace: row.take()?,
            body: MessageBody::Start(Start { input }),
        })
    })?;
    message.ok_or_else(|| rhythm_engine::world::WorldError::Corrupt(format!("run {} has no input", run.id)))
}
