//! Claims ready tasks, and tasks whose deadline has passed.

use std::cmp::Reverse;
use std::collections::HashSet;

use rhythm_core::Timestamp;
use rhythm_engine::world::{ClaimTasks, ClaimedTask, ClaimedTasks, RunRow, WorldResult};
use rusqlite::params;

use super::rows;
use super::sql::{Columns, number, size, sql};
use super::tx::Tx;

/// Sort key: priority, then age, then creation.
type Order = (Reverse<i32>, Timestamp, i64);

fn order(row: &mut Columns<'_>) -> rusqlite::Result<Order> {
    Ok((Reverse(row.take()?), row.time()?, row.take()?))
}

pub fn claim_tasks(tx: &Tx<'_>, request: &ClaimTasks) -> WorldResult<ClaimedTasks> {
    let again = if request.ask.again { taken(tx, request)? } else { Vec::new() };
    let repeated = !again.is_empty();
    let chosen = match request.overdue {
        _ if repeated => again,
        true => overdue(tx, request)?,
        false => ready(tx, request)?,
    };
    let until = tx.now.plus(request.hold).millis();
    let mut tasks: Vec<ClaimedTask> = Vec::with_capacity(chosen.len());
    let mut runs: Vec<RunRow> = Vec::new();
    let mut listed: HashSet<i64> = HashSet::new();
    for (_, _, key) in chosen {
        let (worker, now, ask) = (request.worker.as_str(), tx.now.millis(), number(request.ask.number));
        match repeated {
            true => tx.run(sql!("claim_tasks", "hold"), params![key, until])?,
            false => tx.run(sql!("claim_tasks", "take"), params![key, worker, until, now, ask])?,
        };
        let row = |row: &mut Columns<'_>| Ok((rows::claimed_task(row)?, row.take::<Option<i64>>()?));
        let Some((task, run_key)) = tx.one(sql!("claim_tasks", "row"), params![key], row)? else { continue };
        tasks.push(task);
        if let Some(run_key) = run_key
            && request.with_runs
            && listed.insert(run_key)
        {
            runs.extend(tx.one(sql!("claim_runs", "row"), params![run_key], rows::run_row)?);
        }
    }
    Ok(ClaimedTasks { at: tx.now, tasks, runs })
}

/// Returns the tasks that an earlier call claimed and still holds.
fn taken(tx: &Tx<'_>, request: &ClaimTasks) -> WorldResult<Vec<Order>> {
    let of = params![request.tenant.as_str(), request.worker.as_str(), number(request.ask.number)];
    tx.all(sql!("claim_tasks", "taken"), of, order)
}

fn ready(tx: &Tx<'_>, request: &ClaimTasks) -> WorldResult<Vec<Order>> {
    let tenant = request.tenant.as_str();
    let mut chosen = Vec::new();
    for (queue, limit) in &request.queues {
        if *limit == 0 || tx.is_queue_paused(&request.tenant, queue)? {
            continue;
        }
        if let Some(root) = &request.of {
            let of_family = params![tenant, root.as_str(), queue];
            let named = tx.all(sql!("claim_tasks", "ready_of"), of_family, |row| {
                Ok((order(row)?, row.take::<String>()?))
            })?;
            let can = |name: &String| request.names.is_empty() || request.names.contains(name);
            let mine = named.into_iter().filter(|(_, name)| can(name)).map(|(order, _)| order);
            chosen.extend(mine.take(*limit));
            continue;
        }
        let mut of_queue = Vec::new();
        for name in ready_names(tx, tenant, queue)? {
            if request.names.is_empty() || request.names.contains(&name) {
                let of_name = params![tenant, queue, name, size(*limit)];
                of_queue.extend(tx.all(sql!("claim_tasks", "ready"), of_name, order)?);
            }
        }
        of_queue.sort_unstable();
        chosen.extend(of_queue.into_iter().take(*limit));
    }
    Ok(chosen)
}

/// Returns the names with ready tasks, with one index lookup for each, however many tasks this worker cannot
/// do.
fn ready_names(tx: &Tx<'_>, tenant: &str, queue: &str) -> WorldResult<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    loop {
        let next = match found.last() {
            None => tx.one(sql!("claim_tasks", "first_name"), params![tenant, queue], |row| row.take())?,
            Some(name) => {
                tx.one(sql!("claim_tasks", "next_name"), params![tenant, queue, name], |row| row.take())?
            }
        };
        match next {
            Some(name) => found.push(name),
            None => return Ok(found),
        }
    }
}

fn overdue(tx: &Tx<'_>, request: &ClaimTasks) -> WorldResult<Vec<Order>> {
    let limit = request.queues.iter().map(|(_, limit)| limit).sum();
    let late = params![request.tenant.as_str(), tx.now.millis(), size(limit)];
    tx.all(sql!("claim_tasks", "overdue"), late, order)
}
