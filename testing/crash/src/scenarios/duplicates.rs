//! F21: starts, signals, cancellations, tasks and results are delivered repeatedly and in another order, as
//! an at-least-once relay would do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use rhythm::{Payload, Rhythm, RunId, TaskId, WorkerId};
use rhythm_core::message::{Actor, Message, MessageBody, TaskCompleted};
use rhythm_core::{CommandId, MessageId, Timestamp};
use rhythm_engine::world::{Finish, FinishTasks, FinishedTask, TaskOutcome};

use crate::client_log::{Answer, Call, ClientLog};
use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::{Line, What};
use crate::load::{perform, script};
use crate::oracle::examine;
use crate::process::Process;
use crate::receipt::Receipt;
use crate::report::Report;
use crate::wait::PATIENCE;

/// Percentage of calls that are repeated.
const REPEATED: u8 = 30;
/// Largest distance by which a call may move.
const WINDOW: usize = 100;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("duplicates", on);
    let lab = Lab::open(Setup::new(on)).await?;
    let workers = [lab.worker(&Launch::fast())?, lab.worker(&Launch::fast())?];
    let scripts = scale.pick(160, 6_000);
    let mut calls: Vec<Call> = (0..scripts).flat_map(|number| script("relay", number)).collect();
    let unique = calls.len() as u64;
    shuffle(&mut calls);
    report.fault("calls delivered again", calls.len() as u64 - unique);
    let mut results = Results::default();
    // Two relays, each with its own world handle, make the calls in random turns.
    let relays = [Rhythm::open(&lab.world).await?.client(), lab.client.clone()];
    let mut log = ClientLog::append_to(&lab.client_log("relay"))?;
    let mut queue: VecDeque<(Call, Option<Instant>)> = calls.into_iter().map(|call| (call, None)).collect();
    let mut accepted = BTreeSet::new();
    while let Some((call, give_up)) = queue.pop_front() {
        let relay = &relays[fastrand::usize(0..relays.len())];
        let began = log.sending(&call)?;
        let answer = perform(relay, &call).await?;
        log.answered(&call, began, answer.clone())?;
        match answer {
            // A question may be answered by its timer before the relay's call.
            Answer::Ok | Answer::Delivered(_) | Answer::Over => {
                accepted.insert(call.name);
            }
            Answer::Failed(_) if accepted.contains(&call.name) => report.figure("repeated calls refused", 1),
            // The run has not come that far yet, or the outcome is unknown: repeat the call until a time
            // limit.
            why @ (Answer::Early | Answer::Failed(_) | Answer::Unknown(_)) => {
                let give_up = give_up.unwrap_or_else(|| Instant::now() + PATIENCE);
                if Instant::now() > give_up {
                    report.violations.push(format!("{} is refused for ever: {why:?}", call.name));
                    continue;
                }
                report.figure("calls that came too soon", 1);
                queue.push_back((call, Some(give_up)));
                if queue.iter().all(|(_, waits)| waits.is_some()) {
                    // Every remaining call waits until a run advances.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
        if queue.len().is_multiple_of(20) {
            results.repeat(&lab, &mut report, &workers).await?;
        }
    }
    results.repeat(&lab, &mut report, &workers).await?;
    let rested = lab.comes_to_rest(PATIENCE).await;
    report.hold(rested, || "work was still open long after the last call".into());
    results.repeat(&lab, &mut report, &workers).await?;
    let findings = examine(&lab).await?;
    report.judge(&lab, findings);
    report.hold(accepted.len() as u64 == unique, || {
        format!("{} of {unique} calls came through", accepted.len())
    });
    let again = report.faults.values().sum();
    report.floor("deliveries repeated", unique * u64::from(REPEATED) / 200, again);
    report.floor("runs ended", scripts / 2, report.figures["runs ended"]);
    Ok(report)
}

/// Repeats some calls and moves all of them, none further than the window.
fn shuffle(calls: &mut Vec<Call>) {
    let repeated: Vec<Call> = calls.iter().filter(|_| fastrand::u8(0..100) < REPEATED).cloned().collect();
    let mut placed: Vec<(usize, Call)> = calls.drain(..).enumerate().collect();
    let places: BTreeMap<String, usize> =
        placed.iter().map(|(place, call)| (call.name.clone(), *place)).collect();
    placed.extend(repeated.into_iter().map(|call| (places[&call.name], call)));
    for (place, _) in &mut placed {
        *place += fastrand::usize(0..WINDOW);
    }
    placed.sort_by_key(|(place, _)| *place);
    calls.extend(placed.into_iter().map(|(_, call)| call));
}

/// Repeats results that workers have sent or are about to send, under the workers' names.
#[derive(Default)]
struct Results {
    seen: usize,
}

impl Results {
    async fn repeat(&mut self, lab: &Lab, report: &mut Report, workers: &[Process]) -> LabResult<()> {
        let ledger = lab.ledger()?;
        let fresh: Vec<&Line> = ledger[self.seen..]
            .iter()
            .filter(|line| line.entry.what == What::Did && fastrand::u8(0..100) < REPEATED)
            .collect();
        self.seen = ledger.len();
        for line in fresh {
            let Some(worker) = workers.iter().find(|worker| worker.id() == line.entry.pid) else { continue };
            let request = FinishTasks {
                tenant: lab.client.tenant().clone(),
                worker: WorkerId::new(worker.name()),
                finished: vec![result(line)?],
            };
            let answers = lab.client.world().finish_tasks(request).await?;
            let first = answers.first() == Some(&Finish::Done);
            report.fault("results delivered again", 1);
            report.figure("repeats that came before the original", u64::from(first));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

/// Builds the result as the worker itself reports it.
fn result(line: &Line) -> LabResult<FinishedTask> {
    let entry = &line.entry;
    let (pid, claim, attempt, delivery) = (entry.pid, entry.claim, entry.attempt, entry.delivery);
    let output = Payload::of(&Receipt { pid, claim, attempt, delivery })?;
    let number =
        |run: &str| entry.task.strip_prefix(run).and_then(|rest| rest.strip_prefix(':')?.parse().ok());
    let message = entry.run.as_deref().and_then(number).map(|number| Message {
        id: MessageId::task(CommandId(number)),
        at: Timestamp::default(),
        actor: Actor("relay".into()),
        trace: None,
        body: MessageBody::TaskCompleted(TaskCompleted {
            task: CommandId(number),
            attempt,
            output: output.clone(),
        }),
    });
    if entry.run.is_some() != message.is_some() {
        return Err(format!("{} is no task of {:?}", entry.task, entry.run.as_ref().map(RunId::new)).into());
    }
    Ok(FinishedTask {
        task: TaskId::new(&entry.task),
        claim,
        outcome: TaskOutcome::Completed { output },
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffling_repeats_some_calls_and_loses_none() {
        let original: Vec<Call> = (0..200).flat_map(|number| script("relay", number)).collect();
        let mut calls = original.clone();
        shuffle(&mut calls);
        assert!(calls.len() > original.len(), "something is repeated");
        assert!(original.iter().all(|call| calls.contains(call)));
        assert_ne!(calls[..original.len()], original[..]);
    }
}
