//! Claims runs and tasks with short statements of their own, which never wait for a lock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rhythm_core::message::{Message, MessageBody, Start};
use rhythm_core::{Actor, CommandId, MessageId, Millis, RunId, TenantId, Timestamp, WorkerId};
use rhythm_engine::world::{
    Ask, ClaimRuns, ClaimTasks, ClaimedRun, ClaimedRuns, ClaimedTasks, DueRun, FindDue, FoundDue,
    MESSAGES_PER_COMMIT, RunRow, WorldResult,
};
use tokio_postgres::Row;

use crate::postgres::claim::ready_cursor::{Front, Look, ReadyCursor, ScanKey};
use crate::postgres::claim::timer_cursor::{BEGINNING, TimerCursor};
use crate::postgres::commit::columns::millis;
use crate::postgres::connection::reconnecting::{Param, ReconnectingClient};
use crate::postgres::read::rows::{claimed_task, count, message, payload, run_row, small};
use crate::postgres::sql::{self, Sql};

/// Retries of a claim that found only locked rows.
const LOOK_AGAIN: u32 = 3;
/// A full scan that fails after this time was too slow for the server.
const TOO_LONG: Duration = Duration::from_secs(5);

/// Connections and scan cursors for claims.
pub struct Claimer<'a> {
    pub claims: &'a ReconnectingClient,
    /// For full scans that are known to be slow.
    pub slow: &'a ReconnectingClient,
    pub ready_cursor: &'a ReadyCursor,
}

impl Claimer<'_> {
    /// Sends a claim. `whole` are the lines it scans from the start; the others begin at their cursor.
    async fn claim(&self, sql: Sql, params: &[Param<'_>], whole: &[ScanKey]) -> WorldResult<Vec<Row>> {
        let dear = whole.iter().any(|line| self.ready_cursor.is_slow(*line));
        let (link, began) = (if dear { self.slow } else { self.claims }, Instant::now());
        let claimed = claim(link, sql, params).await;
        if claimed.is_err() && !whole.is_empty() && began.elapsed() >= TOO_LONG {
            let now = link.query(sql::CLOCK, &[]).await?[0].get(0);
            whole.iter().for_each(|line| self.ready_cursor.gave_up(*line, now));
        }
        claimed
    }

    fn looked(&self, line: ScanKey, front: Option<&Front>, look: &Look) {
        match front {
            Some(front) => self.ready_cursor.looked_from(line, front, look),
            None => self.ready_cursor.looked(line, look),
        }
    }
}

pub async fn claim_runs(
    counter: Claimer<'_>,
    now: Option<i64>,
    request: ClaimRuns,
) -> WorldResult<ClaimedRuns> {
    let link = counter.claims;
    // With an injected test clock, scan from the start: the cursor is for production only.
    let kinds: Vec<&str> = request.kinds.iter().map(|kind| kind.as_str()).collect();
    let line = ScanKey::new(&(&request.tenant, &kinds, &request.workflows));
    let front = counter.ready_cursor.of(line).filter(|_| now.is_none());
    let whole: &[ScanKey] = if front.is_some() { &[] } else { &[line] };
    let params: &[Param<'_>] = &[
        &now,
        &request.tenant.as_str(),
        &request.worker.as_str(),
        &kinds,
        &request.workflows,
        &(request.limit as i64),
        &millis(request.hold),
        &asked(request.ask),
        &front.as_ref().map(Front::priorities),
        &front.as_ref().map(Front::since),
    ];
    let again =
        again(link, sql::RECLAIM_RUNS, now, &request.tenant, &request.worker, (request.ask, request.hold));
    let rows = match (again.await?, &request.of) {
        (Some(rows), _) => rows,
        (None, Some(root)) => {
            let of_all = params.iter().take(8).copied();
            let params: Vec<Param<'_>> = of_all.chain([&root.0 as Param<'_>]).collect();
            claim(link, sql::CLAIM_RUNS_OF, &params).await?
        }
        (None, None) => {
            let rows = counter.claim(sql::CLAIM_RUNS, params, whole).await?;
            let ready = |row: &Row| row.get::<_, Option<i32>>("rank").zip(row.get("ready_at"));
            let taken = rows.iter().filter_map(ready).collect();
            counter.looked(line, front.as_ref(), &look(&rows, request.limit, taken));
            rows
        }
    };
    read_claimed(link, &request, &rows).await
}

/// Finds runs that sleep until a timer that is due.
pub async fn find_due(
    link: &ReconnectingClient,
    storm: &TimerCursor,
    now: Option<i64>,
    request: FindDue,
) -> WorldResult<FoundDue> {
    let kinds: Vec<&str> = request.kinds.iter().map(|kind| kind.as_str()).collect();
    // With an injected test clock, scan from the start: the cursor is for production only.
    let place = if now.is_some() { BEGINNING } else { storm.from() };
    let params: &[Param<'_>] = &[
        &now,
        &request.tenant.as_str(),
        &kinds,
        &request.workflows,
        &(request.limit as i64),
        &(request.skip as i64),
        &place.0,
        &place.1,
    ];
    let rows = link.query(sql::FIND_DUE, params).await?;
    // With `skip`, earlier timers have not fired yet, so the cursor must not move past them.
    if request.skip == 0 {
        let last = rows.last().and_then(|row| row.get::<_, Option<i64>>("due_at").zip(row.get("place")));
        storm.moved(place, last, true);
    }
    let found = rows.iter().filter(|row| row.get::<_, Option<&str>>("id").is_some());
    let due = |row: &Row| Ok(DueRun { run: run_row(row)?, timer: CommandId(count(row.get("timer"))) });
    let runs = found.map(due).collect::<WorldResult<_>>()?;
    Ok(FoundDue { at: Timestamp::from_millis(told(&rows)), runs })
}

/// Reads the claimed runs of an answer, and the messages that wait for them.
async fn read_claimed(
    link: &ReconnectingClient,
    request: &ClaimRuns,
    rows: &[Row],
) -> WorldResult<ClaimedRuns> {
    let at = Timestamp::from_millis(told(rows));
    let mut runs = Vec::with_capacity(rows.len());
    for row in rows.iter().filter(|row| row.get::<_, Option<&str>>("id").is_some()) {
        runs.push(claimed_run(row)?);
    }
    add_messages(link, request, &mut runs).await?;
    Ok(ClaimedRuns { at, runs })
}

/// Sends a claim, and repeats it if it found only locked rows. A moment later they are free or taken.
/// Otherwise work that a refused commit or finish leaves ready would not be seen until the next poll.
async fn claim(link: &ReconnectingClient, sql: Sql, params: &[Param<'_>]) -> WorldResult<Vec<Row>> {
    let mut tries = 0;
    loop {
        let rows = link.query(sql, params).await?;
        let hidden = rows.first().is_some_and(|row| row.get("hidden"));
        if !hidden || tries == LOOK_AGAIN {
            return Ok(rows);
        }
        tries += 1;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Returns the rows that an earlier call claimed when its answer was lost. Sends a query only for a retried
/// request.
async fn again(
    link: &ReconnectingClient,
    sql: Sql,
    now: Option<i64>,
    tenant: &TenantId,
    worker: &WorkerId,
    (ask, hold): (Ask, Millis),
) -> WorldResult<Option<Vec<Row>>> {
    if !ask.again {
        return Ok(None);
    }
    let params: &[Param<'_>] = &[&now, &tenant.as_str(), &worker.as_str(), &asked(ask), &millis(hold)];
    let rows = link.query(sql, params).await?;
    let any = rows.first().is_some_and(|row| row.get::<_, Option<&str>>("id").is_some());
    Ok(any.then_some(rows))
}

/// `rows` holds the rows of all lines of one claim, `taken` those of one line.
fn look(rows: &[Row], limit: usize, taken: Vec<(i32, i64)>) -> Look {
    let took = Duration::from_micros(rows.first().map_or(0, |row| count(row.get("took"))));
    Look { took, now: told(rows), rows: rows.len(), short: taken.len() < limit, taken }
}

/// World time of an answer: the first column of each row.
fn told(rows: &[Row]) -> i64 {
    rows.first().map_or(0, |row| row.get(0))
}

fn asked(ask: Ask) -> i64 {
    ask.number as i64
}

/// Reads a claimed run. A run without a commit gets its start message.
fn claimed_run(row: &Row) -> WorldResult<ClaimedRun> {
    let run = run_row(row)?;
    let mut messages = Vec::new();
    if row.get("fresh") {
        messages.push(Message {
            id: MessageId::start(),
            at: run.created_at,
            actor: Actor(row.get("actor")),
            trace: row.get("trace"),
            body: MessageBody::Start(Start { input: payload(row, "input")? }),
        });
    }
    let deliveries = small(row.get("deliveries"));
    Ok(ClaimedRun { run, claim: count(row.get("claim")), messages, more: false, deliveries })
}

/// Adds the messages of the inbox. It is read after the claim, so every message counted in `arrived` is
/// visible.
async fn add_messages(
    link: &ReconnectingClient,
    request: &ClaimRuns,
    runs: &mut [ClaimedRun],
) -> WorldResult<()> {
    // With `arrived` 0 the inbox is empty.
    let told: Vec<&str> = runs
        .iter()
        .filter(|claimed| claimed.run.arrived > 0)
        .map(|claimed| claimed.run.id.as_str())
        .collect();
    if told.is_empty() {
        return Ok(());
    }
    // The tenant is an array too: with a constant the planner may choose a scan.
    let tenants = vec![request.tenant.as_str(); told.len()];
    let limit = MESSAGES_PER_COMMIT as i64 + 1;
    let rows = link.query(sql::READ_INBOX, &[&tenants, &told, &limit]).await?;
    let mut inboxes: BTreeMap<RunId, Vec<(i64, Message)>> = BTreeMap::new();
    for row in &rows {
        let inbox = inboxes.entry(RunId(row.get("run"))).or_default();
        inbox.push((row.get("arrival"), message(row)?));
    }
    for claimed in runs {
        let Some(mut inbox) = inboxes.remove(&claimed.run.id) else { continue };
        let room = MESSAGES_PER_COMMIT - claimed.messages.len();
        claimed.more = inbox.len() > room;
        if !claimed.more {
            inbox.sort_by_key(|(arrival, _)| *arrival);
        }
        claimed.messages.extend(inbox.into_iter().take(room).map(|(_, message)| message));
    }
    Ok(())
}

pub async fn claim_tasks(
    counter: Claimer<'_>,
    now: Option<i64>,
    request: ClaimTasks,
) -> WorldResult<ClaimedTasks> {
    let link = counter.claims;
    let (tenant, worker, hold) = (request.tenant.as_str(), request.worker.as_str(), millis(request.hold));
    let ask = asked(request.ask);
    let again =
        again(link, sql::RECLAIM_TASKS, now, &request.tenant, &request.worker, (request.ask, request.hold));
    let rows = if let Some(rows) = again.await? {
        rows
    } else if request.overdue {
        let limit: i64 = request.queues.iter().map(|(_, limit)| *limit as i64).sum();
        link.query(sql::CLAIM_OVERDUE, &[&now, &tenant, &worker, &limit, &hold, &ask]).await?
    } else if let Some(root) = &request.of {
        let queues: Vec<&str> = request.queues.iter().map(|(queue, _)| queue.as_str()).collect();
        let limits: Vec<i64> = request.queues.iter().map(|(_, limit)| *limit as i64).collect();
        let params: &[Param<'_>] =
            &[&now, &tenant, &worker, &queues, &limits, &request.names, &hold, &ask, &root.0];
        claim(link, sql::CLAIM_TASKS_OF, params).await?
    } else {
        claim_ready(&counter, now, &request).await?
    };
    let at = Timestamp::from_millis(told(&rows));
    let claimed = rows.iter().filter(|row| row.get::<_, Option<&str>>("id").is_some());
    let tasks = claimed.map(claimed_task).collect::<WorldResult<Vec<_>>>()?;
    let mut runs: Vec<RunRow> = Vec::new();
    if request.with_runs {
        let mut owners: Vec<&str> =
            tasks.iter().filter_map(|task| task.run.as_ref()).map(|(run, _)| run.as_str()).collect();
        owners.sort_unstable();
        owners.dedup();
        if !owners.is_empty() {
            let rows = link.query(sql::READ_RUNS, &[&vec![tenant; owners.len()], &owners]).await?;
            runs = rows.iter().map(run_row).collect::<WorldResult<_>>()?;
        }
    }
    Ok(ClaimedTasks { at, tasks, runs })
}

/// Claims ready tasks of the queues, each scanned from the start or from its cursor.
async fn claim_ready(counter: &Claimer<'_>, now: Option<i64>, request: &ClaimTasks) -> WorldResult<Vec<Row>> {
    let queues: Vec<&str> = request.queues.iter().map(|(queue, _)| queue.as_str()).collect();
    let limits: Vec<i64> = request.queues.iter().map(|(_, limit)| *limit as i64).collect();
    // With an injected test clock, scan from the start: the cursor is for production only.
    let line = |queue: &str| ScanKey::new(&(&request.tenant, queue, &request.names));
    let front = |queue: &&str| counter.ready_cursor.of(line(queue)).filter(|_| now.is_none());
    let ready_cursor: Vec<Option<Front>> = queues.iter().map(front).collect();
    let whole: Vec<bool> = ready_cursor.iter().map(Option::is_none).collect();
    let whole_lines: Vec<ScanKey> =
        queues.iter().zip(&whole).filter(|(_, whole)| **whole).map(|(queue, _)| line(queue)).collect();
    let (mut places, mut priorities, mut since) = (Vec::new(), Vec::new(), Vec::new());
    for (place, front) in
        ready_cursor.iter().enumerate().filter_map(|(place, front)| Some((place, front.as_ref()?)))
    {
        priorities.extend(front.priorities());
        since.extend(front.since());
        places.resize(since.len(), place as i64 + 1);
    }
    let params: &[Param<'_>] = &[
        &now,
        &request.tenant.as_str(),
        &request.worker.as_str(),
        &queues,
        &limits,
        &request.names,
        &millis(request.hold),
        &asked(request.ask),
        &whole,
        &places,
        &priorities,
        &since,
    ];
    let rows = counter.claim(sql::CLAIM_TASKS, params, &whole_lines).await?;
    for (place, (front, (queue, limit))) in ready_cursor.into_iter().zip(&request.queues).enumerate() {
        let of_queue = |row: &&Row| row.get::<_, Option<i64>>("n") == Some(place as i64 + 1);
        let ready = |row: &Row| (row.get("priority"), row.get("due_at"));
        let taken = rows.iter().filter(of_queue).map(ready).collect();
        counter.looked(line(queue), front.as_ref(), &look(&rows, *limit, taken));
    }
    Ok(rows)
}
