//! Problems of the database itself, and of the work in it that nobody takes care of.

use rhythm_core::{Millis, Timestamp};
use rhythm_engine::world::{QueueRow, RunQuery, Schedule};
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::output::count;
use crate::session::Session;
use crate::times::relative;

/// Work that waits longer than this is worth a word.
const PATIENCE: Millis = Millis::from_secs(60);

pub async fn run(settings: Settings) -> CliResult {
    let session = Session::open(&Settings { migrate: false, ..settings }).await?;
    let findings = examine(&session).await?;
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
    findings.extend(world.queues(tenant).await?.iter().filter_map(|queue| unattended(queue, now)));
    findings.extend(world.schedules(tenant).await?.iter().filter_map(|schedule| late(schedule, now)));
    let query = RunQuery { tenant: tenant.clone(), blocked: true, limit: 20, ..RunQuery::default() };
    for run in world.list_runs(query).await?.rows {
        let code = run.blocked.as_ref().map_or("blocked", |blocked| blocked.code.as_str());
        findings.push(format!("run {} cannot go on ({code}): rhythm explain {}", run.id, run.id));
    }
    Ok(findings)
}

fn are(runs: u64) -> String {
    format!("{} {}", count(runs, "ended run"), if runs == 1 { "is" } else { "are" })
}

fn unattended(queue: &QueueRow, now: Timestamp) -> Option<String> {
    let (name, ready) = (&queue.name, count(queue.ready, "task"));
    let since = queue.oldest_ready_at.filter(|since| now.since(*since) > PATIENCE)?;
    let since = relative(now, since);
    if queue.paused {
        Some(format!(
            "queue {name} is paused with {ready}, the oldest from {since}: rhythm queues resume {name}"
        ))
    } else if queue.workers == 0 {
        Some(format!(
            "queue {name} has {ready}, the oldest from {since}, and no worker: rhythm worker --queue {name}"
        ))
    } else {
        None
    }
}

fn late(schedule: &Schedule, now: Timestamp) -> Option<String> {
    let due = schedule.next_at.filter(|due| now.since(*due) > PATIENCE && !schedule.paused)?;
    let (name, due) = (&schedule.name, relative(now, due));
    Some(format!("schedule {name} was due {due}, and nothing started it: rhythm worker"))
}
