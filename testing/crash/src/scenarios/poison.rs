//! F23: handlers that panic, exit their process, hang, or return output that cannot be stored. Their attempts
//! are bounded and counted before they run. They end as dead letters with a code that names the reason, and
//! the rest of the load goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rhythm::{EnqueueTask, Payload, TaskId, TaskOptions, TaskState, codes};
use rhythm_core::task::MAX_DELIVERIES;
use serde_json::json;

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::{Line, What};
use crate::listing;
use crate::load_processes::close;
use crate::process::Process;
use crate::receipt::Illness;
use crate::report::Report;
use crate::wait::PATIENCE;

const WORKERS: usize = 3;
/// Attempts allowed for each poisonous task.
const ATTEMPTS: u32 = 2;

/// Final code of each illness, and the number of times its handler begins.
const ENDINGS: [(Illness, &str, u32); 5] = [
    (Illness::Panics, codes::PANIC, ATTEMPTS),
    (Illness::Exits, codes::POISON, MAX_DELIVERIES),
    (Illness::Hangs, codes::TIMEOUT, ATTEMPTS),
    (Illness::Huge, codes::LIMIT_EXCEEDED, 1),
    (Illness::Unwritable, codes::BAD_PAYLOAD, 1),
];

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("poison", on);
    let lab = Lab::open(Setup::new(on)).await?;
    let rounds: u64 = scale.pick(1, 10);
    let launch = Launch { fast: true, pause: 20, ..Launch::default() };
    let mut tasks = BTreeMap::new();
    // The first tasks are enqueued before the workers start, so that one worker claims several of them.
    let mut poisoned = enqueue(&lab).await?;
    let mut workers = (0..WORKERS).map(|_| lab.worker(&launch)).collect::<Result<Vec<Process>, _>>()?;
    let mut clients = [lab.client_process("client", &launch)?];
    for round in 1..=rounds {
        outlive(&lab, &mut report, &poisoned, &mut workers, &launch).await?;
        report.say(format_args!("round {round} of {rounds}"));
        tasks.append(&mut poisoned);
        if round < rounds {
            poisoned = enqueue(&lab).await?;
        }
    }
    let findings = close(&lab, &mut report, &mut clients, scale.pick(50, 500)).await?;
    judge(&lab, &mut report, &tasks).await?;
    report.judge(&lab, findings);
    report.floor("poisonous tasks", rounds * ENDINGS.len() as u64, tasks.len() as u64);
    let down = report.faults.get("workers taken down").copied().unwrap_or(0);
    report.floor("workers taken down", rounds * u64::from(MAX_DELIVERIES), down);
    report.floor("other runs ended", scale.pick(50, 500), report.figures["runs ended"]);
    Ok(report)
}

/// Restarts workers that exited until no poisonous task is open.
async fn outlive(
    lab: &Lab,
    report: &mut Report,
    tasks: &BTreeMap<TaskId, Illness>,
    workers: &mut [Process],
    launch: &Launch,
) -> LabResult<()> {
    let give_up = Instant::now() + PATIENCE;
    while open(lab, tasks).await? > 0 {
        if Instant::now() > give_up {
            report.violations.push("poisonous tasks never ended".into());
            return Ok(());
        }
        for worker in workers.iter_mut() {
            // Only a handler that exits may end a worker, and only with that handler's status.
            if let Some(status) = worker.ends_within(Duration::ZERO).await {
                report.hold(status.code() == Some(101), || {
                    format!("{} ended with {status}: {}", worker.name(), worker.messages())
                });
                report.fault("workers taken down", 1);
                *worker = lab.worker(launch)?;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Enqueues one task of each illness.
async fn enqueue(lab: &Lab) -> LabResult<BTreeMap<TaskId, Illness>> {
    let retries = json!({"max_attempts": ATTEMPTS, "initial_delay": "50ms"});
    let mut tasks = BTreeMap::new();
    for (illness, _, _) in ENDINGS {
        let timeout = if illness == Illness::Hangs { "1s" } else { "1m" };
        let options: TaskOptions = serde_json::from_value(json!({"timeout": timeout, "retries": retries}))?;
        let (name, input) = ("poison".to_owned(), Payload::of(&json!({"ill": illness}))?);
        let task = EnqueueTask { name, input, options, ..EnqueueTask::default() };
        tasks.insert(lab.client.enqueue_task(task).await?, illness);
    }
    Ok(tasks)
}

async fn open(lab: &Lab, tasks: &BTreeMap<TaskId, Illness>) -> LabResult<usize> {
    let mut open = 0;
    for task in tasks.keys() {
        let summary = lab.client.world().task(lab.client.tenant(), task).await?;
        open += usize::from(summary.is_some_and(|summary| summary.state != TaskState::Failed));
    }
    Ok(open)
}

/// Checks that every poisonous task ended with its code, was tried as often as allowed, and left a dead
/// letter.
async fn judge(lab: &Lab, report: &mut Report, tasks: &BTreeMap<TaskId, Illness>) -> LabResult<()> {
    // Other tasks of the load leave dead letters too.
    let letters = listing::letters(&lab.client).await?;
    let ledger = lab.ledger()?;
    for (task, illness) in tasks {
        let (_, code, most) = ENDINGS.into_iter().find(|(ill, _, _)| ill == illness).ok_or("no ending")?;
        let summary = lab.client.world().task(lab.client.tenant(), task).await?;
        let found = summary.and_then(|summary| summary.failure).map(|failure| failure.code);
        report.hold(found.as_deref() == Some(code), || format!("{illness:?} ended as {found:?}, not {code}"));
        let own = |line: &&Line| line.entry.task == task.as_str() && line.entry.what == What::Began;
        let tries: BTreeSet<(u32, u32)> =
            ledger.iter().filter(own).map(|line| (line.entry.attempt, line.entry.delivery)).collect();
        // A task that exits its worker is counted by hand-outs. Other tasks on that worker may be handed out
        // again.
        let counted = match illness {
            Illness::Exits => tries.len(),
            _ => tries.iter().map(|(attempt, _)| attempt).collect::<BTreeSet<_>>().len(),
        };
        report
            .hold(counted == most as usize, || format!("{illness:?} was tried {counted} times, not {most}"));
        report.figure("poisonous attempts", tries.len() as u64);
        let lettered = letters.iter().any(|letter| letter.task == *task && letter.failure.code == code);
        report.hold(lettered, || format!("{illness:?} left no dead letter {code}"));
    }
    Ok(())
}
