//! Finds problems of the database, and work in it that no worker performs.

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::unserved::{Unserved, unserved};
use rhythm_engine::world::{Damage, DamageQuery, QueueRow, RunQuery, Schedule, Stored, WorkerRow};
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::output::count;
use crate::session::Session;
use crate::times::relative;

/// Time after which waiting work is reported.
const PATIENCE: Millis = Millis::from_secs(60);

pub async fn run(settings: Settings) -> CliResult {
    let session = Session::read(&settings).await?;
    let findings = examine(&session).await?.into_iter().map(|finding| with_flags(&session, finding));
    let findings: Vec<String> = findings.collect();
    if session.out.is_json() {
        session.out.json(&json!({ "findings": findings }))?;
    } else if findings.is_empty() {
        return session.out.line("all is well");
    } else {
        for finding in &findings {
            session.out.line(format!("- {finding}"))?;
        }
    }
    match findings.len() {
        0 => Ok(()),
        number => Err(CliError::Unhealthy(count(number as u64, "problem"))),
    }
}

/// Adds the caller's flags to a finding that ends with a command, so that the command can be typed as shown.
fn with_flags(session: &Session, finding: String) -> String {
    match finding.contains(": rhythm ") {
        true => session.command(&finding),
        false => finding,
    }
}

async fn examine(session: &Session) -> CliResult<Vec<String>> {
    let world = session.rhythm.world();
    let tenant = session.client.tenant();
    let now = session.now().await?;
    let health = world.health().await?;
    let mut findings = health.findings;
    if health.dead_letters > 0 {
        let letters = count(health.dead_letters, "dead letter");
        let kept = match health.kept_runs {
            0 => String::new(),
            runs => format!(", for which {} kept", are(runs)),
        };
        findings.push(format!("{letters} to be decided on{kept}: rhythm dead list"));
    }
    let workers = world.workers(tenant).await?;
    findings.extend(workers.iter().filter_map(|worker| gone(worker, &workers, now)));
    findings.extend(unserved(&session.client).await?.into_iter().map(|work| undone(work, now)));
    findings.extend(world.queues(tenant).await?.iter().filter_map(|queue| unattended(queue, now)));
    findings.extend(world.schedules(tenant).await?.iter().filter_map(|schedule| late(schedule, now)));
    let query = RunQuery { tenant: tenant.clone(), blocked: true, limit: 20, ..RunQuery::default() };
    for run in world.list_runs(query).await?.rows {
        let code = run.blocked.as_ref().map_or("blocked", |blocked| blocked.code.as_str());
        findings.push(format!("run {} cannot go on ({code}): rhythm explain {}", run.id, run.id));
    }
    findings.extend(damaged(session, Stored::Snapshots).await?.into_iter().map(|damage| {
        let Damage { name, detail, .. } = damage;
        format!("the snapshot of run {name} is damaged ({detail}): restore the database, or rhythm runs fork {name}")
    }));
    findings.extend(damaged(session, Stored::Blobs).await?.into_iter().map(
        |Damage { name, detail, .. }| {
            format!(
                "blob {name} is damaged ({detail}): restore it from a backup; what refers to it cannot go on"
            )
        },
    ));
    Ok(findings)
}

/// Number of pieces checked at once. Each may have megabytes.
const AT_ONCE: usize = 32;

/// Finds pieces with a wrong checksum before a command fails on them.
async fn damaged(session: &Session, stored: Stored) -> CliResult<Vec<Damage>> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let query = DamageQuery { stored, cursor, limit: AT_ONCE };
        let page = session.rhythm.world().damage(query).await?;
        let tenant = session.client.tenant();
        found.extend(page.rows.into_iter().filter(|damage| damage.tenant == *tenant));
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}

fn are(runs: u64) -> String {
    format!("{} {}", count(runs, "ended run"), if runs == 1 { "is" } else { "are" })
}

/// Returns a finding about a paused queue with old ready tasks. A queue without workers is reported with its
/// unserved work.
fn unattended(queue: &QueueRow, now: Timestamp) -> Option<String> {
    let (name, ready) = (&queue.name, count(queue.ready, "task"));
    let since = queue.oldest_ready_at.filter(|since| now.since(*since) > PATIENCE)?;
    let since = relative(now, since);
    if queue.paused {
        Some(format!(
            "queue {name} is paused with {ready}, the oldest from {since}: rhythm queues resume {name}"
        ))
    } else {
        None
    }
}

/// Returns a finding about a dead worker that is still registered. It is reported at once if no worker is
/// live, else after a minute, because a live worker removes it within seconds.
fn gone(worker: &WorkerRow, all: &[WorkerRow], now: Timestamp) -> Option<String> {
    let WorkerRow { card, beat_at, running, live, .. } = worker;
    let alone = !all.iter().any(|worker| worker.live);
    if *live || !alone && now.since(*beat_at) <= PATIENCE {
        return None;
    }
    let (beat, held) = (relative(now, *beat_at), count(*running, "task"));
    let (id, host) = (&card.id, &card.host);
    Some(format!(
        "worker {id} on {host} is gone, last heard of {beat}, with {held} under way, and nobody takes over: rhythm worker"
    ))
}

fn undone(work: Unserved, now: Timestamp) -> String {
    let Unserved { what, count, oldest, command } = work;
    let since = relative(now, oldest);
    format!("no live worker does {what}: {count} waiting, the oldest since {since}: {command}")
}

fn late(schedule: &Schedule, now: Timestamp) -> Option<String> {
    let due = schedule.next_at.filter(|due| now.since(*due) > PATIENCE && !schedule.paused)?;
    let (name, due) = (&schedule.name, relative(now, due));
    Some(format!("schedule {name} was due {due}, and nothing started it: rhythm worker"))
}
