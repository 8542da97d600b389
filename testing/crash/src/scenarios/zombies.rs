//! F3: zombies. Workers are frozen inside an attempt, before its effect or between its effect and its commit,
//! until other workers have taken over. Then they wake up and send their results late. Every late result must
//! be refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rhythm::{RunId, WorkflowKind};
use serde_json::json;

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::{Line, Manners, Verdict, What};
use crate::oracle::examine;
use crate::process::Process;
use crate::receipt::{Gate, Work};
use crate::report::Report;
use crate::wait::{PATIENCE, until, wall_millis};

/// Attempts held by each pair of zombies. One zombie has an attempt before its effect and one after it. The
/// other has one attempt that blocks its only thread, so its late result leaves before it can notice the lost
/// claim.
const HELD: usize = 3;
/// Number of tries to freeze.
const TRIES: usize = 30;
/// Queue of the tasks that block their thread.
const BLOCKING: &str = "blocking";

/// When the zombies are woken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rise {
    /// While other workers execute the tasks.
    Amid,
    /// After other workers have finished them.
    Afterwards,
}

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("zombies", on);
    let manners = Manners { dedupe: false, fence: true };
    let lab = Lab::open(Setup { manners, ..Setup::new(on) }).await?;
    let (rounds, pairs) = scale.pick((1, 2), (10, 10));
    for round in 0..rounds {
        let rise = if round % 2 == 0 { Rise::Amid } else { Rise::Afterwards };
        haunt(&lab, &mut report, round, pairs, rise).await?;
        report.say(format_args!("round {} of {rounds}: {:?}", round + 1, report.figures));
    }
    let findings = examine(&lab).await?;
    report.judge(&lab, findings);
    let held = (rounds * pairs * HELD) as u64;
    let figure = |what: &str| report.figures.get(what).copied().unwrap_or(0);
    let (over, refused, dropped) =
        (figure("attempts taken over"), figure("late results refused"), figure("late results dropped"));
    report.floor("zombies", (rounds * pairs * 2) as u64, report.faults["workers frozen"]);
    report.floor("attempts taken over", held, over);
    // A blocked zombie cannot notice the lost claim before it sends; the others may.
    report.floor("late results refused by the world", (rounds * pairs) as u64, refused);
    report.hold(refused + dropped >= over, || {
        format!(
            "{over} attempts were taken over, but {refused} late results were refused and {dropped} dropped"
        )
    });
    Ok(report)
}

/// One round: zombies hold attempts and are frozen, other workers take over, the zombies wake up.
async fn haunt(lab: &Lab, report: &mut Report, round: usize, pairs: usize, rise: Rise) -> LabResult<()> {
    let gate = lab.folder().join(format!("gate-{round}"));
    let workflows = register(lab, round, &gate, rise).await?;
    let lively = Launch { concurrency: 2, ..Launch::fast() };
    let queues = vec![BLOCKING.to_owned()];
    let blocking = Launch { concurrency: 1, single_thread: true, queues, ..Launch::fast() };
    let mut zombies = Vec::new();
    for _ in 0..pairs {
        zombies.extend([lab.worker(&lively)?, lab.worker(&blocking)?]);
    }
    let up = until(PATIENCE, || async { workers_up(lab, &zombies).await == zombies.len() }).await;
    report.hold(up, || "not every worker came up".into());
    let mut runs = Vec::new();
    for workflow in std::iter::repeat_n(&workflows, pairs).flatten() {
        runs.push(lab.client.start(workflow, &()).await?);
    }
    let own: BTreeSet<String> =
        runs.iter().map(|run| run.task(rhythm_core::CommandId(1)).to_string()).collect();
    let ready = until(PATIENCE, || std::future::ready(all_under_way(lab, &own, pairs))).await;
    report.hold(ready, || "not every attempt began".into());
    let frozen_at = wall_millis();
    freeze(lab, report, &zombies).await?;
    let heir = Launch { queues: vec!["default".to_owned(), BLOCKING.to_owned()], ..Launch::fast() };
    let mut heirs = [lab.worker(&heir)?, lab.worker(&heir)?];
    let over =
        until(PATIENCE, || async { taken_over(lab, &own).len() == own.len() || ended(lab, &runs).await });
    report.hold(over.await, || "not every frozen attempt was taken over".into());
    if rise == Rise::Afterwards {
        let done = until(PATIENCE, || ended(lab, &runs)).await;
        report.hold(done, || "the heirs did not finish".into());
    }
    let inherited = taken_over(lab, &own);
    report.recoveries.extend(inherited.values().filter_map(|at| at.checked_sub(frozen_at)));
    report.figure("attempts taken over", inherited.len() as u64);
    std::fs::write(&gate, b"")?;
    for zombie in &zombies {
        zombie.thaw()?;
    }
    let answered =
        |zombies: &[Process]| zombies.iter().map(last_words).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let told = until(PATIENCE, || {
        let (refused, dropped) = answered(&zombies);
        std::future::ready(refused + dropped >= inherited.len() as u64)
    });
    report.hold(told.await, || "a zombie did not come back".into());
    let done = until(PATIENCE, || ended(lab, &runs)).await;
    report.hold(done, || "the runs did not end".into());
    let (refused, dropped) = answered(&zombies);
    report.figure("late results refused", refused);
    report.figure("late results dropped", dropped);
    let late = |line: &Line| line.verdict == Verdict::Late && own.contains(&line.entry.task);
    report.figure("late effects fenced off", lab.count(late)? as u64);
    for process in zombies.iter_mut().chain(&mut heirs) {
        process.kill();
    }
    Ok(())
}

/// Registers the workflows of a round. Their attempts wait for its gate, so nothing depends on speed.
async fn register(lab: &Lab, round: usize, gate: &Path, rise: Rise) -> LabResult<Vec<String>> {
    let gate = Some(Gate { file: gate.to_owned(), everybody: rise == Rise::Amid });
    let stalled = gate.clone().map(|gate| Gate { everybody: false, ..gate });
    let mut names = Vec::new();
    for (name, queue, work) in [
        ("before", "default", Work { before: gate.clone(), ..Work::default() }),
        ("after", "default", Work { after: gate, ..Work::default() }),
        ("blocked", BLOCKING, Work { stalled, ..Work::default() }),
    ] {
        let task = json!({"name": "work", "input": work, "options": {"queue": queue}});
        let plan = json!({"steps": [{"task": task}]}).to_string();
        names.push(format!("{name}-{round}"));
        lab.client.register(&format!("{name}-{round}"), WorkflowKind::Drill, &plan).await?;
    }
    Ok(names)
}

/// Freezes all zombies outside of any transaction. A process frozen inside one keeps SQLite's lock, and no
/// other process can take over until it wakes up or dies: safe, but not the subject here. A process that is
/// never outside of a transaction writes all the time, which is an error.
async fn freeze(lab: &Lab, report: &mut Report, zombies: &[Process]) -> LabResult<()> {
    for _ in 0..TRIES {
        for zombie in zombies {
            zombie.freeze()?;
        }
        let write = lab.client.register("probe", WorkflowKind::Drill, r#"{"steps": []}"#);
        if matches!(tokio::time::timeout(Duration::from_secs(2), write).await, Ok(Ok(_))) {
            report.fault("workers frozen", zombies.len() as u64);
            return Ok(());
        }
        report.figure("freezes within a transaction", 1);
        for zombie in zombies {
            zombie.thaw()?;
        }
        tokio::task::yield_now().await;
    }
    Err(format!("{TRIES} times in a row somebody was frozen within a transaction").into())
}

async fn workers_up(lab: &Lab, zombies: &[Process]) -> usize {
    let rows = lab.client.world().workers(lab.client.tenant()).await.unwrap_or_default();
    zombies.iter().filter(|zombie| rows.iter().any(|row| row.card.id.as_str() == zombie.name())).count()
}

/// Returns whether every attempt has begun, and those held after their effect have had it.
fn all_under_way(lab: &Lab, tasks: &BTreeSet<String>, pairs: usize) -> bool {
    let lines = lab.ledger().unwrap_or_default();
    let seen = |what: What| {
        let own = lines.iter().filter(|line| line.entry.what == what && tasks.contains(&line.entry.task));
        own.map(|line| line.entry.task.as_str()).collect::<BTreeSet<_>>().len()
    };
    seen(What::Began) == tasks.len() && seen(What::Did) >= 2 * pairs
}

/// Returns when each task was begun a second time: by another worker, or by a zombie not yet frozen when a
/// blocked one could no longer send heartbeats.
fn taken_over(lab: &Lab, tasks: &BTreeSet<String>) -> BTreeMap<String, u64> {
    let lines = lab.ledger().unwrap_or_default();
    let again = |line: &&Line| {
        let entry = &line.entry;
        entry.what == What::Began && tasks.contains(&entry.task) && entry.claim > 1
    };
    lines.iter().filter(again).map(|line| (line.entry.task.clone(), line.at)).collect()
}

async fn ended(lab: &Lab, runs: &[RunId]) -> bool {
    for run in runs {
        let picture = lab.client.picture(run).await;
        if !picture.is_ok_and(|picture| picture.summary.status.is_final()) {
            return false;
        }
    }
    true
}

/// Returns how many of its results a worker logged as refused by the world, and how many as dropped by
/// itself.
fn last_words(zombie: &Process) -> (u64, u64) {
    let text = zombie.messages();
    let count = |words: &str| text.lines().filter(|line| line.contains(words)).count() as u64;
    (count("a result was refused"), count("a result was dropped"))
}
