//! The oracle: judges from the outside whether the promises held. It reads the ledger, the client logs and
//! the public state of the world. One check is the engine's own `verify`, because only the engine's programs
//! can fold a history. So I7 and I8 are as good as `verify` and its tests.
//!
//! | what | where |
//! |---|---|
//! | I1 nothing acknowledged is missing | [`acks`] |
//! | I2 every run has ended or waits for something that exists | [`alive`] |
//! | I3 history without gaps or repeated rows; I9 timers never early | [`history`] |
//! | I4 effects per key, I5 no result of a hand-out with a successor | [`effects`] |
//! | each run of the load ends as planned; I6 no token left, right number of visits per node | [`examine`] |
//! | I7, I8 `fold(history) == snapshot`, with the same commands | [`examine`], by the engine's `verify` |
//! | I12 floors | each scenario, in its [`Report`](crate::report::Report) |

pub mod acks;
pub mod alive;
pub mod effects;
pub mod history;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, TryStreamExt, stream};
use rhythm::{Client, Event, EventData, RunId, Status, TaskId, codes};
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;
use rhythm_engine::world::{Picture, RunSummary, TaskSummary};

use crate::client_log::{self, Answer};
use crate::lab::{Lab, LabResult};
use crate::ledger::Line;
use crate::listing;
use crate::load;
use crate::receipt::Receipt;

/// Number of runs examined concurrently.
const AT_ONCE: usize = 4;

#[derive(Debug, Default)]
pub struct Findings {
    pub violations: Vec<String>,
    pub figures: BTreeMap<&'static str, u64>,
    /// Tasks of the load that ended as poison. They are violations unless their workers were killed often
    /// enough.
    pub poisoned: Vec<TaskId>,
}

impl Findings {
    /// Removes poisoned tasks that are explained by kills: the task was begun, and every worker that began it
    /// was killed. Such cases must stay rare, otherwise the engine hands tasks out badly.
    pub fn explain(&mut self, ledger: &[Line], killed: &BTreeSet<u32>) {
        let explained = |task: &TaskId| {
            let mut began = ledger.iter().filter(|line| line.entry.task == task.as_str()).peekable();
            began.peek().is_some() && began.all(|line| killed.contains(&line.entry.pid))
        };
        let before = self.poisoned.len();
        self.poisoned.retain(|task| !explained(task));
        let explained = (before - self.poisoned.len()) as u64;
        let most = self.figures.get("runs").copied().unwrap_or(0).div_ceil(1_000);
        if explained > most {
            self.violations
                .push(format!("{explained} attempts were killed five times, {most} would be bad luck"));
        }
        self.figures.insert("attempts killed five times", explained);
    }
}

/// State of one run as clients can read it.
pub struct RunDump {
    pub picture: Picture,
    pub history: Vec<Event>,
}

/// Final state of the world.
#[derive(Default)]
pub struct Dump {
    pub runs: BTreeMap<RunId, RunDump>,
    pub tasks: BTreeMap<TaskId, TaskSummary>,
}

/// Examines everything. The world should be at rest, because reads of changing state may be inconsistent.
pub async fn examine(lab: &Lab) -> LabResult<Findings> {
    examine_some(lab, |_| true).await
}

/// Examines only some runs, where there are too many. Runs of the clients must be included.
pub async fn examine_some(lab: &Lab, wanted: impl Fn(&RunSummary) -> bool) -> LabResult<Findings> {
    let mut findings = Findings::default();
    let dump = dump(&lab.client, wanted, &mut findings.violations).await?;
    for (run, of) in &dump.runs {
        let found = history::check(&of.history);
        findings.violations.extend(found.into_iter().map(|what| format!("run {run}: {what}")));
        let summary = &of.picture.summary;
        let (workflow, status) = (summary.workflow.as_str(), summary.status);
        if load::ending(workflow).is_some() && !status.is_final() {
            findings.violations.push(format!("run {run} of {workflow} is still {status:?}"));
        }
        if load::ending(workflow).is_some_and(|ending| status.is_final() && status != ending) {
            let poisoned = poisoned(run, &of.history);
            // A failed child is examined as a run of its own.
            if !poisoned.is_empty() || failed_by_poisoned_child(&of.history) {
                findings.poisoned.extend(poisoned);
                continue;
            }
            findings
                .violations
                .push(format!("run {run} of {workflow} ended {status:?}: {:?}", of.picture.failure));
        }
    }
    let lines = lab.ledger()?;
    findings.violations.extend(effects::check(&lines, &receipts(&dump), lab.manners));
    let mut calls = Vec::new();
    for log in lab.client_logs()? {
        calls.extend(client_log::read(&log)?.into_values());
    }
    findings.violations.extend(acks::check(&calls, &dump));
    let answered = |is: fn(&Answer) -> bool| calls.iter().filter(|call| is(&call.answer)).count();
    let over = || dump.runs.values().filter(|of| of.picture.summary.status.is_final());
    let count = |is: fn(&str) -> bool| over().filter(|of| is(&of.picture.summary.workflow)).count();
    let (ended, flows, graphs) = (over().count(), count(load::is_flow), count(load::is_graph));
    let events: usize = dump.runs.values().map(|of| of.history.len()).sum();
    let counts = [
        ("runs", dump.runs.len()),
        ("runs ended", ended),
        ("flow runs ended", flows),
        ("graph runs ended", graphs),
        ("events", events),
        ("ledger lines", lines.len()),
        ("calls acknowledged", answered(Answer::is_promise)),
        ("calls unknown", answered(|answer| matches!(answer, Answer::Unknown(_)))),
        ("decisions delivered", answered(|answer| matches!(answer, Answer::Delivered(_)))),
        ("questions not put in time", answered(|answer| *answer == Answer::Early)),
        ("questions over before", answered(|answer| *answer == Answer::Over)),
    ];
    findings.figures = counts.into_iter().map(|(what, count)| (what, count as u64)).collect();
    Ok(findings)
}

/// Reads every run and every standalone task, and checks each run against its own history.
async fn dump(
    client: &Client,
    wanted: impl Fn(&RunSummary) -> bool,
    violations: &mut Vec<String>,
) -> LabResult<Dump> {
    let programs = Programs::default();
    let look = async |run: RunId| -> LabResult<(RunId, RunDump, Vec<String>)> {
        let picture = client.picture(&run).await?;
        let history = client.history(&run).await?;
        let mut found = Vec::new();
        let verified = verify(client, &programs, &run).await?;
        if let Some(problem) = verified.problem {
            found.push(format!("run {run}: verify says: {problem}"));
        }
        if picture.summary.status == Status::Completed {
            let left = verified.counter.filter(|counter| *counter > 0);
            found.extend(left.map(|left| format!("run {run} completed with {left} tokens")));
            found
                .extend(visits(&picture.summary.workflow, &history).map(|what| format!("run {run}: {what}")));
        }
        if alive::is_orphan(&picture) {
            let (workflow, status) = (&picture.summary.workflow, picture.summary.status);
            found.push(format!("run {run} of {workflow} is {status:?}, and nothing will wake it up"));
        }
        Ok((run, RunDump { picture, history }, found))
    };
    let runs = listing::runs(client).await?;
    let ids = runs.into_iter().filter(&wanted).map(|run| run.id);
    let looked: Vec<_> = stream::iter(ids).map(look).buffered(AT_ONCE).try_collect().await?;
    let mut dump = Dump::default();
    for (run, of, found) in looked {
        violations.extend(found);
        dump.runs.insert(run, of);
    }
    let tasks = listing::tasks(client).await?;
    dump.tasks.extend(tasks.into_iter().map(|task| (task.id.clone(), task)));
    Ok(dump)
}

/// Returns an objection when the nodes of a completed graph of the load were visited too often or too rarely.
fn visits(workflow: &str, history: &[Event]) -> Option<String> {
    if !load::is_graph(workflow) {
        return None;
    }
    let asked = history.iter().filter(|event| matches!(event.data, EventData::StepScheduled(_))).count();
    let put = history.iter().filter(|event| matches!(event.data, EventData::ApprovalCreated(_))).count();
    let wrong = (asked, put) != (load::TASKS_OF_GRAPH, 1);
    wrong.then(|| format!("{asked} tasks and {put} questions, not {} and 1", load::TASKS_OF_GRAPH))
}

/// Returns the tasks that failed a run because their workers kept dying.
fn poisoned(run: &RunId, history: &[Event]) -> Vec<TaskId> {
    let task = |event: &Event| match &event.data {
        EventData::StepFailed(failed) if failed.failure.code == codes::POISON => Some(run.task(failed.task)),
        _ => None,
    };
    history.iter().filter_map(task).collect()
}

fn failed_by_poisoned_child(history: &[Event]) -> bool {
    let poisoned = |event: &Event| matches!(&event.data, EventData::ChildFailed(failed) if failed.failure.code == codes::POISON);
    history.iter().any(poisoned)
}

/// Returns the receipt of each task whose result was kept.
fn receipts(dump: &Dump) -> BTreeMap<String, Receipt> {
    let mut kept = BTreeMap::new();
    for (run, of) in &dump.runs {
        for event in &of.history {
            if let EventData::StepCompleted(done) = &event.data
                && let Some(receipt) = Receipt::of(&done.output)
            {
                kept.insert(run.task(done.task).to_string(), receipt);
            }
        }
    }
    for (task, summary) in &dump.tasks {
        if let Some(receipt) = summary.output.as_ref().and_then(Receipt::of) {
            kept.insert(task.to_string(), receipt);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Entry, What};

    #[test]
    fn poison_is_explained_only_by_kills_of_everyone_who_began_it() {
        let line = |task: &str, pid: u32| {
            let task = task.into();
            Line::of(Entry { task, claim: u64::from(pid), pid, ..Entry::sample(What::Began) })
        };
        let ledger = [line("killed", 1), line("killed", 2), line("spared", 1), line("spared", 3)];
        let poisoned = ["killed", "spared", "unseen"].map(TaskId::from).to_vec();
        let figures = BTreeMap::from([("runs", 1)]);
        let mut findings = Findings { poisoned, figures, ..Findings::default() };
        findings.explain(&ledger, &BTreeSet::from([1, 2]));
        assert_eq!(findings.poisoned, ["spared", "unseen"].map(TaskId::from));
        assert_eq!(findings.violations, Vec::<String>::new());
        findings.poisoned = vec!["killed".into(); 2];
        findings.explain(&ledger, &BTreeSet::from([1, 2]));
        assert_eq!(findings.violations.len(), 1, "too many to be bad luck");
    }
}
