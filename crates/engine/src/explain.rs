//! Explains why a run does not move: what it waits for, since when, what would move it, and the command that
//! repairs it. Every state has an answer. For a flow it names source lines, for a graph nodes.

mod lines;
mod nodes;
mod repair;

use rhythm_core::message::{Message, MessageBody};
use rhythm_core::{
    Blocked, BlockedCode, CommandId, Compensation, Grace, RunId, Status, TaskId, Timestamp, label,
};
use serde::Serialize;

use crate::client::Client;
use crate::error::EngineError;
use crate::tokens::{standing, unclear, undoable};
use crate::whereabouts::whereabouts;
use crate::world::*;

/// Why a run is in its current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub run: RunId,
    pub status: Status,
    /// One-line summary.
    pub summary: String,
    pub reasons: Vec<Reason>,
}

/// One thing a run waits for, or one problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Stable code for programs: `task_running`, `queue_paused`, ...
    pub code: &'static str,
    pub what: String,
    pub since: Option<Timestamp>,
    /// The event that would move the run.
    pub moves_when: String,
    /// Shell command that helps, if there is one.
    pub command: Option<String>,
    /// Line in the source of a flow, or of a graph's node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Text of that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip)]
    about: About,
}

/// Subject of a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum About {
    #[default]
    Run,
    Task(CommandId),
    Timer(CommandId),
    Child(CommandId),
    Signal(String),
    Approval(CommandId),
}

/// Explains one run. Fails if it is unknown or the world fails.
pub async fn explain(client: &Client, run: &RunId) -> Result<Explanation, EngineError> {
    let picture = client.picture(run).await?;
    let world = client.world();
    let queues = world.queues(client.tenant()).await?;
    let workers = world.workers(client.tenant()).await?;
    let mut explanation = explain_picture(&picture, &queues, &workers);
    if explanation.reasons.iter().any(|reason| reason.code == "task_delayed") {
        let attempts = world.attempts(client.tenant(), run).await?;
        explanation.reasons.iter_mut().for_each(|reason| add_failure(reason, run, &attempts));
    }
    for reason in &mut explanation.reasons {
        let About::Approval(number) = reason.about else { continue };
        let asked = world.approval(client.tenant(), run, number).await?;
        reason.command = asked.map(|row| row.command()).or(reason.command.take());
    }
    if let Some(place) = whereabouts(client, &picture).await? {
        lines::tell(&mut explanation, &place);
    }
    if let Some(standing) = standing(client, &picture.row).await? {
        nodes::tell(&mut explanation, &standing);
    }
    if picture.summary.kind == rhythm_core::WorkflowKind::Graph {
        nodes::tell_unclear(&mut explanation, unclear(client, run).await?);
    }
    tell_compensation(client, &picture, &mut explanation.reasons[0]).await;
    repair::tell(client, &picture, &mut explanation.reasons[0]).await;
    explanation.reasons.extend(kept_signals(&picture));
    explanation.summary = explanation.reasons[0].what.clone();
    Ok(explanation)
}

/// Offers to compensate a run that ended without undoing all its work.
async fn tell_compensation(client: &Client, picture: &Picture, reason: &mut Reason) {
    let ended_badly = matches!(picture.summary.status, Status::Failed | Status::Cancelled);
    let all_done = picture.summary.compensation == Compensation::Done;
    if !ended_badly || all_done || reason.command.is_some() {
        return;
    }
    // If the program cannot be read, the explanation is given without this.
    let nodes = undoable(client, &picture.row).await.unwrap_or_default();
    if !nodes.is_empty() {
        // If compensators failed, the failure says so already.
        if !picture.row.awaiting().contains(Compensation::FAILED) {
            reason.what.push_str(&format!("; the work of {} is not taken back", nodes.join(", ")));
        }
        reason.moves_when = "somebody has it take that back".to_owned();
        reason.command = Some(format!("rhythm runs compensate {}", picture.summary.id));
    }
}

/// Adds the failure of the last attempt.
fn add_failure(reason: &mut Reason, run: &RunId, attempts: &[AttemptRow]) {
    let About::Task(number) = reason.about else { return };
    let task = run.task(number);
    if let Some(last) = attempts.iter().rfind(|attempt| attempt.task == task) {
        reason.what.push_str(&format!(", after {}", last.failure));
    }
}

/// Explains an open task; `None` if it has ended. Fails if it is unknown.
pub async fn explain_task(client: &Client, task: &TaskId) -> Result<Option<Reason>, EngineError> {
    let found = client.world().task(client.tenant(), task).await?;
    let summary = found.ok_or_else(|| EngineError::UnknownTask(task.to_string()))?;
    if matches!(summary.state, TaskState::Completed | TaskState::Failed | TaskState::Cancelled) {
        return Ok(None);
    }
    let queues = client.world().queues(client.tenant()).await?;
    let workers = client.world().workers(client.tenant()).await?;
    Ok(Some(task_reason(&summary, &queues, &workers)))
}

/// The pure part: turns all facts about the run into reasons, most pressing first.
pub fn explain_picture(picture: &Picture, queues: &[QueueRow], workers: &[WorkerRow]) -> Explanation {
    let mut reasons = Vec::new();
    let summary = &picture.summary;
    if summary.status.is_final() {
        reasons.push(ended(picture));
    } else {
        reasons.extend(held_up(picture));
        let (held, others): (Vec<_>, Vec<_>) = picture.tasks.iter().partition(|task| is_held(task));
        reasons.extend(held.into_iter().map(|task| held_task(task, picture)));
        reasons.extend(ready(picture, workers));
        reasons.extend(others.into_iter().map(|task| task_reason(task, queues, workers)));
        // The end of the clean-up time is in the reasons already.
        let grace = Grace::of(picture.row.awaiting()).map(|grace| grace.timer);
        let timers = picture.timers.iter().filter(|timer| grace.is_none() || timer.timer != grace);
        reasons.extend(timers.map(timer_reason));
        reasons.extend(picture.children.iter().filter(|child| !child.status.is_final()).map(child_reason));
        // A task that compensates is among the tasks.
        let names = picture.row.awaiting().iter().filter(|name| !Compensation::is_mark(name));
        // Held nodes are in the reasons already.
        let names = names.filter(|name| Blocked::marked(name).is_none() && Grace::marked(name).is_none());
        reasons.extend(names.map(|name| awaited(&summary.id, name, summary.updated_at)));
        // For a flow, the wait and its line are added later.
        if summary.kind != rhythm_core::WorkflowKind::Flow {
            for reason in reasons.iter_mut().filter(|reason| reason.about.is_awaited()) {
                reason.what.insert_str(0, "waiting for ");
            }
        }
        if reasons.is_empty() {
            reasons.push(stuck(picture));
        }
    }
    Explanation { run: summary.id.clone(), status: summary.status, summary: reasons[0].what.clone(), reasons }
}

fn reason(
    code: &'static str,
    what: impl Into<String>,
    since: Option<Timestamp>,
    moves_when: impl Into<String>,
    command: Option<String>,
) -> Reason {
    let (what, moves_when) = (what.into(), moves_when.into());
    Reason { code, what, since, moves_when, command, line: None, source: None, about: About::Run }
}

impl About {
    /// Whether the reason's text fits after "waiting for ".
    fn is_awaited(&self) -> bool {
        matches!(self, Self::Task(_) | Self::Child(_) | Self::Signal(_) | Self::Approval(_))
    }
}

impl Reason {
    fn about(self, about: About) -> Self {
        Self { about, ..self }
    }
}

fn ended(picture: &Picture) -> Reason {
    let run = &picture.summary.id;
    let since = picture.summary.ended_at;
    let cleaned_up = Grace::of(picture.row.awaiting()).is_some();
    let past_deadline =
        picture.failed_by.as_ref().is_some_and(|message| message.body == MessageBody::DeadlineReached);
    match (picture.summary.status, &picture.failure) {
        (Status::Failed, Some(failure)) if picture.is_compensated() => {
            let moves_when = "never: it has taken back what it did; start a new run";
            reason("compensated", format!("it failed: {failure}"), since, moves_when, None)
        }
        (Status::Failed, Some(failure)) if cleaned_up => {
            let moves_when = "never: it has cleaned up after its deadline; fork it at an event before that, or start a new run";
            reason("failed", format!("it failed: {failure}"), since, moves_when, None)
        }
        (Status::Failed, Some(failure)) if past_deadline => reason(
            "failed",
            format!("it failed: {failure}"),
            since,
            "somebody opens it again with more time; what it waited for is then begun anew",
            Some(format!("rhythm runs retry {run} --deadline 1h")),
        ),
        (Status::Failed, Some(failure)) => reason(
            "failed",
            format!("it failed: {failure}"),
            since,
            "somebody opens it again; what failed it is then tried anew",
            Some(format!("rhythm runs retry {run}")),
        ),
        (Status::Cancelled, failure) if picture.is_compensated() => {
            let told = failure.as_ref().and_then(|failure| failure.message.strip_prefix("cancelled; "));
            let what = match (picture.summary.compensation, told) {
                (Compensation::Done, None) => "it was cancelled, and took back what it did".to_owned(),
                (_, Some(told)) => format!("it was cancelled; {told}"),
                (_, None) => "it was cancelled while it took back what it did".to_owned(),
            };
            reason("compensated", what, since, "never: it has ended", None)
        }
        (Status::Cancelled, _) => reason("cancelled", "it was cancelled", since, "never: it has ended", None),
        _ => reason("completed", "it completed", since, "never: it has ended", None),
    }
}

const REQUEUED: &str = "the dead letter is requeued or discarded";
const TRIED_AGAIN: &str = "somebody tries the node again";

fn try_again(run: &RunId, node: &str) -> String {
    format!("rhythm runs retry {run} --node {} --reason WHY", quoted(node))
}

/// Reasons that block the whole run, whatever it waits for.
fn held_up(picture: &Picture) -> Vec<Reason> {
    let summary = &picture.summary;
    let (run, workflow) = (&summary.id, &summary.workflow);
    let mut reasons = Vec::new();
    if summary.paused {
        let command = Some(format!("rhythm runs resume {run}"));
        reasons.push(reason(
            "paused",
            "the run is paused",
            Some(summary.updated_at),
            "it is resumed",
            command,
        ));
    }
    if picture.workflow_paused {
        let command = Some(format!("rhythm workflows resume {}", quoted(workflow)));
        let what = format!("workflow {workflow} is paused");
        reasons.push(reason("workflow_paused", what, None, "the workflow is resumed", command));
    }
    // A held task explains itself in more detail, and so do a task that waits for a worker and a ready run.
    let waits =
        || picture.ready_since.is_some() || picture.tasks.iter().any(|task| task.state == TaskState::Ready);
    let told = |blocked: &&Blocked| match blocked.code {
        BlockedCode::DeadLetter => picture.tasks.iter().any(is_held),
        BlockedCode::NoWorker => waits(),
        _ => false,
    };
    if let Some(blocked) = summary.blocked.as_ref().filter(|blocked| !told(blocked)) {
        let (code, moves_when, command) = match blocked.code {
            BlockedCode::NoWorker => {
                ("no_worker", "a worker that can step this workflow starts", Some("rhythm worker".to_owned()))
            }
            BlockedCode::NoVersion => (
                "no_version",
                "a process that has this version starts; it is offered again every few seconds",
                Some(format!("rhythm runs retry {run}")),
            ),
            BlockedCode::Quarantined => (
                "quarantined",
                "the cause is mended and the run is retried",
                Some(format!("rhythm runs retry {run}")),
            ),
            BlockedCode::DeadLetter => {
                let letter = picture.dead.iter().find(|letter| letter.held);
                let mut nodes = picture.row.awaiting().iter().filter_map(|name| Blocked::marked(name));
                let (moves_when, command) = match (letter, nodes.next()) {
                    (Some(letter), _) => (REQUEUED, format!("rhythm dead requeue {}", letter.task)),
                    (None, Some((node, _))) => (TRIED_AGAIN, try_again(run, node)),
                    (None, None) => (REQUEUED, format!("rhythm dead list --run {run}")),
                };
                ("dead_letter", moves_when, Some(command))
            }
        };
        let what = format!("it is blocked: {}", blocked.detail);
        reasons.push(reason(code, what, Some(blocked.since), moves_when, command));
    }
    let grace = Grace::of(picture.row.awaiting());
    let until = grace.and_then(|grace| picture.timers.iter().find(|timer| timer.timer == Some(grace.timer)));
    let until = until.map(|timer| format!(" until {}", timer.due_at)).unwrap_or_default();
    if grace.is_some_and(|grace| !grace.cancelled) {
        let command = Some(format!("rhythm runs cancel {run}"));
        let what = format!("its deadline has passed and it may clean up{until}; then it fails");
        let moves_when = match summary.cancelling {
            true => "its clean-up ends; another cancel ends it at once",
            false => "its clean-up ends; it is ended at once when it is cancelled twice",
        };
        reasons.push(reason("cleaning_up", what, Some(summary.updated_at), moves_when, command));
    } else if summary.cancelling {
        let command = Some(format!("rhythm runs cancel {run}"));
        let what = format!("it was asked to stop and is cleaning up{until}");
        let moves_when = "its clean-up ends; a second cancel ends it at once";
        reasons.push(reason("cancelling", what, Some(summary.updated_at), moves_when, command));
    }
    reasons
}

fn ready(picture: &Picture, workers: &[WorkerRow]) -> Option<Reason> {
    if let Some(row) = picture.claimed_by.as_deref().and_then(|holder| gone(workers, holder)) {
        let what = format!("it is held by {}", last_words(row));
        let (moves_when, command) = taken_over(live(workers).next().is_some(), "rhythm worker".to_owned());
        return Some(reason("worker_gone", what, Some(row.beat_at), moves_when, command));
    }
    if let Some(holder) = &picture.claimed_by {
        let what = format!("worker {holder} is stepping it right now");
        return Some(reason("stepping", what, picture.ready_since, "that commit is written", None));
    }
    let since = picture.ready_since?;
    let able = |worker: &&WorkerRow| {
        let card = &worker.card;
        card.kinds.contains(&picture.summary.kind) || card.workflows.contains(&picture.summary.workflow)
    };
    let count = live(workers).filter(able).count();
    Some(if count == 0 {
        let what = "it is ready, but no live worker can step it";
        reason("no_worker", what, Some(since), "such a worker starts", Some("rhythm worker".into()))
    } else {
        let what = format!("it is ready and waits for one of {count} workers to take it");
        reason("ready", what, Some(since), "a worker claims it, usually within a second", None)
    })
}

fn live(workers: &[WorkerRow]) -> impl Iterator<Item = &WorkerRow> {
    workers.iter().filter(|worker| worker.live)
}

/// Returns the worker that holds a claim, if it is known and no longer live.
fn gone<'a>(workers: &'a [WorkerRow], holder: &str) -> Option<&'a WorkerRow> {
    workers.iter().find(|worker| worker.card.id.as_str() == holder && !worker.live)
}

fn last_words(row: &WorkerRow) -> String {
    format!("worker {}, which is gone: its last heartbeat was at {}", row.card.id, row.beat_at)
}

/// Describes how the claim of a dead worker is freed: by any live process of the world, if there is one.
fn taken_over(somebody: bool, command: String) -> (&'static str, Option<String>) {
    match somebody {
        true => ("its claim is taken back and another worker takes it over, in a few seconds", None),
        false => ("another worker starts and takes it over", Some(command)),
    }
}

fn is_held(task: &TaskSummary) -> bool {
    task.state == TaskState::Held
}

/// Explains a held task, with the failure of its dead letter.
fn held_task(task: &TaskSummary, picture: &Picture) -> Reason {
    let mut reason = task_reason(task, &[], &[]);
    if let Some(letter) = picture.dead.iter().find(|letter| letter.task == task.id) {
        reason.what.push_str(&format!(", after {}", letter.failure));
    }
    reason
}

fn task_reason(task: &TaskSummary, queues: &[QueueRow], workers: &[WorkerRow]) -> Reason {
    let number = task.id.as_str().rsplit_once(':').and_then(|(_, number)| number.parse().ok());
    let about = task.run.as_ref().and(number).map_or(About::Run, |number| About::Task(CommandId(number)));
    task_state_reason(task, queues, workers).about(about)
}

fn task_state_reason(task: &TaskSummary, queues: &[QueueRow], workers: &[WorkerRow]) -> Reason {
    let queue = &task.options.queue;
    let options = &task.options;
    let names = ("task", task.name.as_str(), task.id.as_str());
    let title = label::told(names, options.label.as_deref(), &options.item_mark());
    let since = Some(task.since);
    let attempt = format!("attempt {} of {}", task.attempt, task.options.policy().max_attempts);
    match task.state {
        TaskState::Running => {
            if let Some(row) = task.worker.as_deref().and_then(|holder| gone(workers, holder)) {
                let what = format!("{title}, which is held by {}", last_words(row));
                let serving = live(workers).any(|worker| worker.card.queues.contains(queue));
                let (moves_when, command) =
                    taken_over(serving, format!("rhythm worker --queue {}", quoted(queue)));
                return reason("worker_gone", what, Some(row.beat_at), moves_when, command);
            }
            let worker = task.worker.as_deref().unwrap_or("somebody");
            let mut what = format!("{title}, which is running on worker {worker}, {attempt}");
            if task.cancel_requested {
                what.push_str(", asked to stop");
            }
            reason("task_running", what, since, "the attempt ends or times out", None)
        }
        TaskState::Delayed => {
            let what = match task.attempt {
                1 => format!("{title}, which is due at {}", task.since),
                _ => format!("{title}, which is tried again at {}, {attempt}", task.since),
            };
            reason("task_delayed", what, since, "that time comes", None)
        }
        TaskState::Held => {
            let what = format!("{title}, which is out of attempts and held");
            let command = Some(format!("rhythm dead requeue {}", task.id));
            reason("dead_letter", what, since, REQUEUED, command)
        }
        _ => {
            let paused = queues.iter().any(|row| row.name == *queue && row.paused);
            let serving: Vec<&WorkerRow> =
                live(workers).filter(|worker| worker.card.queues.contains(queue)).collect();
            let knows = serving.iter().any(|worker| worker.card.tasks.contains(&task.name));
            if paused {
                let command = Some(format!("rhythm queues resume {}", quoted(queue)));
                let what = format!("{title}; queue {queue} is paused");
                reason("queue_paused", what, since, "the queue is resumed", command)
            } else if serving.is_empty() {
                let what = format!("{title}; queue {queue} has no worker");
                let command = Some(format!("rhythm worker --queue {}", quoted(queue)));
                reason("no_worker", what, since, "a worker for that queue starts", command)
            } else if !knows {
                let what = format!("{title}; no worker of queue {queue} has a handler for it");
                let moves_when = format!("a worker that registers {} starts", task.name);
                reason("unknown_task", what, since, moves_when, Some("rhythm workers".into()))
            } else {
                let what = format!("{title}; queue {queue} has workers, none was free yet");
                reason("task_ready", what, since, "a worker has room", Some("rhythm queues list".into()))
            }
        }
    }
}

fn timer_reason(timer: &TimerRow) -> Reason {
    let due = timer.due_at;
    match timer.what.as_str() {
        "start" => reason("delayed_start", format!("it starts at {due}"), None, "that time comes", None),
        "deadline" => reason(
            "deadline",
            format!("its deadline is {due}"),
            None,
            "that time comes: the run fails then",
            None,
        ),
        what => reason("timer", format!("{what} fires at {due}"), None, "that time comes", None),
    }
    .about(timer.timer.map_or(About::Run, About::Timer))
}

fn child_reason(child: &RunSummary) -> Reason {
    let names = ("workflow", child.workflow.as_str(), child.id.as_str());
    let label = child.labels.get(label::CHILD_LABEL).map(String::as_str);
    let what = format!("{}, which is {}", label::told(names, label, ""), child.status.as_str());
    let command = Some(format!("rhythm explain {}", child.id));
    let about = child.parent.as_ref().map_or(About::Run, |parent| About::Child(parent.child));
    reason("child", what, Some(child.created_at), "the child ends", command).about(about)
}

fn awaited(run: &RunId, name: &str, since: Timestamp) -> Reason {
    match name.strip_prefix("@approval:") {
        Some(number) => {
            let what = format!("a decision on approval {number}");
            let about = number.parse().map_or(About::Run, |number| About::Approval(CommandId(number)));
            let command = Some(format!("rhythm approvals approve {run}/{number}"));
            reason("approval", what, Some(since), "somebody decides", command).about(about)
        }
        None => {
            let what = format!("signal {name}");
            let command = Some(format!("rhythm runs signal {run} {} --payload null", quoted(name)));
            let reason = reason("signal", what, Some(since), "the signal arrives", command);
            reason.about(About::Signal(name.to_owned()))
        }
    }
}

/// The names of signals a run waits for.
fn signals_awaited(picture: &Picture) -> Vec<&str> {
    let names = picture.row.awaiting().iter().map(String::as_str);
    names.filter(|name| !name.starts_with('@') && !Compensation::is_mark(name)).collect()
}

/// Returns why a signal of this name does not move the run now: it is kept until the run awaits that name,
/// which never happens for a misspelt one. `None` if the run awaits it, or has not come to rest.
pub fn kept_signal(picture: &Picture, name: &str) -> Option<String> {
    let awaited = signals_awaited(picture);
    // A run that is not at rest may be about to await it.
    let rests = picture.summary.status == Status::Waiting && picture.ready_since.is_none();
    if awaited.contains(&name) || !rests {
        return None;
    }
    Some(match awaited.is_empty() {
        true => format!("the run waits for no signal now; {name:?} is kept until it does"),
        false => format!(
            "the run does not wait for signal {name:?}, which is kept; it waits for {}",
            awaited.join(", ")
        ),
    })
}

/// Signals in the inbox that the run does not await, one reason per name.
fn kept_signals(picture: &Picture) -> Vec<Reason> {
    let name = |message: &Message| match &message.body {
        MessageBody::Signal(signal) => Some((signal.name.clone(), message.at)),
        _ => None,
    };
    let mut seen = std::collections::BTreeSet::new();
    let signals = picture.inbox.iter().filter_map(name).filter(|(name, _)| seen.insert(name.clone()));
    let told = signals.filter_map(|(name, at)| {
        let why = kept_signal(picture, &name)?;
        let command = match signals_awaited(picture).as_slice() {
            [one] => {
                Some(format!("rhythm runs signal {} {} --payload null", picture.summary.id, quoted(one)))
            }
            _ => None,
        };
        let moves_when = "the run comes to await it; a misspelt one is sent again under its right name";
        let what = format!("signal {name} has arrived: {why}");
        Some(reason("signal_kept", what, Some(at), moves_when, command))
    });
    told.collect()
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,=".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn stuck(picture: &Picture) -> Reason {
    let run = &picture.summary.id;
    let what = "it waits, but nothing that is open can wake it up";
    let command = Some(format!("rhythm verify {run}"));
    reason("stuck", what, Some(picture.summary.updated_at), "somebody cancels or repairs it", command)
}
