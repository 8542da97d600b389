//! Builds requests from shapes and from the ledger.

use std::collections::BTreeMap;

use rhythm_core::fold::Settled;
use rhythm_core::message::{ApprovalDecided, Patched, TaskFailed};
use rhythm_core::{
    BlockedCode, CommandId, CommitId, Message, MessageBody, MessageId, Payload, RunId, TaskId, TaskOptions,
    TimerSpec, Timestamp, WorkflowKind,
};
use rhythm_engine::world::*;

use super::super::play::*;
use super::ledger::Ledger;
use super::moves::*;

const INPUTS: [&str; 3] = [r#"{"n":1}"#, "null", r#"["ü", 1.50]"#];
pub const WORKFLOWS: [(&str, WorkflowKind); 3] =
    [("drill", WorkflowKind::Drill), ("other", WorkflowKind::Drill), ("coded", WorkflowKind::Code)];
pub const QUEUES: [&str; 2] = ["default", "mail"];
pub const HANDLERS: [&str; 2] = ["work", "play"];
const SIGNALS: [&str; 2] = ["go", "stop"];

/// Returns a version of the first workflow.
pub fn registered(version: u8) -> Definition {
    definition(WORKFLOWS[0].0, &format!("source {version}"))
}

pub fn run_named(id: RunId, shape: &RunShape) -> NewRun {
    let (workflow, kind) = WORKFLOWS[usize::from(shape.workflow)];
    let labels: BTreeMap<_, _> =
        shape.labelled.then(|| ("team".to_owned(), "blue".to_owned())).into_iter().collect();
    NewRun {
        workflow: workflow.to_owned(),
        kind,
        input: input(shape.input),
        priority: shape.priority,
        delay: shape.delay,
        deadline: shape.deadline,
        labels,
        ..new_run(id.as_str())
    }
}

pub fn task_named(id: TaskId, shape: &TaskShape) -> NewTask {
    let options = TaskOptions {
        queue: QUEUES[usize::from(shape.queue)].to_owned(),
        priority: shape.priority,
        delay: shape.delay,
        deadline: shape.deadline,
        ..TaskOptions::default()
    };
    let name = HANDLERS[usize::from(shape.handler)].to_owned();
    NewTask { name, input: input(shape.input), options, ..new_task(id.as_str()) }
}

fn input(number: u8) -> Payload {
    json(INPUTS[usize::from(number)])
}

pub fn mail(shape: &MailShape) -> Message {
    let id = format!("m{}", shape.id);
    let number = CommandId(u64::from(shape.id));
    match shape.kind {
        MailKind::Go => signal(&id, SIGNALS[0]),
        MailKind::Stop => signal(&id, SIGNALS[1]),
        MailKind::Cancel => cancel(&id),
        MailKind::Approval => {
            let (decision, by) = ("yes".to_owned(), "ann".to_owned());
            let data = Payload::null();
            let body = ApprovalDecided { approval: number, decision, by, comments: String::new(), data };
            message(&id, MessageBody::ApprovalDecided(body))
        }
        MailKind::Patch => {
            let body = Patched { operations: json("[]"), reason: "a mistake".to_owned() };
            message(&id, MessageBody::Patch(body))
        }
    }
}

/// The end of an attempt, with the message for its run.
pub fn finished(task: &ClaimedTask, shape: OutcomeShape) -> FinishedTask {
    let failed = || {
        let number = task.run.as_ref()?.1;
        let body = MessageBody::TaskFailed(TaskFailed { task: number, failure: failure("BROKEN") });
        Some(Message { id: MessageId::task(number), ..message("", body) })
    };
    let (outcome, message) = match shape {
        OutcomeShape::Completed => {
            let told = task.run.is_some().then(|| result_of(task));
            (TaskOutcome::Completed { output: json("\"done\"") }, told)
        }
        OutcomeShape::Retry(delay) => (TaskOutcome::Retry { failure: failure("BROKEN"), delay }, None),
        // No run waits for a standalone task, so none is held.
        OutcomeShape::Exhausted { hold } if hold && task.run.is_some() => {
            (TaskOutcome::Exhausted { failure: failure("BROKEN"), hold }, None)
        }
        OutcomeShape::Exhausted { .. } => {
            (TaskOutcome::Exhausted { failure: failure("BROKEN"), hold: false }, failed())
        }
        OutcomeShape::Cancelled => (TaskOutcome::Cancelled { failure: failure("CANCELLED") }, failed()),
        OutcomeShape::Released => (TaskOutcome::Released, None),
    };
    FinishedTask { task: task.id.clone(), claim: task.claim, outcome, message }
}

pub fn release(claimed: &ClaimedRun, shape: ReleaseShape) -> ReleasedRun {
    let outcome = match shape {
        ReleaseShape::Idle { unseen } => {
            ReleaseOutcome::Idle { arrived: claimed.run.arrived.saturating_sub(u64::from(unseen)) }
        }
        ReleaseShape::Later { after, blocked: marked } => {
            ReleaseOutcome::Later { after, blocked: marked.then(|| blocked(BlockedCode::NoVersion)) }
        }
        ReleaseShape::Aside { no_version: true } => ReleaseOutcome::Aside(blocked(BlockedCode::NoVersion)),
        ReleaseShape::Aside { no_version: false } => ReleaseOutcome::Aside(blocked(BlockedCode::Quarantined)),
    };
    ReleasedRun { run: claimed.run.id.clone(), claim: claimed.claim, outcome }
}

/// Adds the transition that a shape describes to a draft that has consumed its messages.
pub fn item(
    ledger: &Ledger,
    who: Who,
    now: Timestamp,
    place: usize,
    draft: Draft,
    shape: &StepShape,
) -> CommitItem {
    let run = draft.item.run.clone();
    // Numbers are never reused: even a run whose id was used before creates new tasks.
    let first = ledger.moves * 100 + place as u64 * 10;
    let mut draft = draft.marker("stepped").awaiting(&awaited(shape.awaiting));
    for (nth, task) in shape.tasks.iter().enumerate() {
        let number = CommandId(first + nth as u64);
        let new = NewTask { claim: task.claim, ..task_named(run.task(number), task) };
        draft.item.tasks.push(NewTask { run: Some((run.clone(), number)), ..new });
    }
    for (nth, after) in shape.timers.iter().enumerate() {
        let timer = CommandId(first + 3 + nth as u64);
        draft.item.timers.push(TimerSpec { timer, fire_at: now.plus(*after), label: None });
    }
    for (nth, child) in shape.children.iter().enumerate() {
        let number = CommandId(first + 6 + nth as u64);
        let parent = Some(Parent { run: run.clone(), child: number });
        draft.item.children.push(NewRun { parent, ..run_named(run.child(number), child) });
    }
    for each in &shape.mail {
        draft = draft.tell(&ledger.run(who, each.to), mail(each));
    }
    let item = &mut draft.item;
    item.commit = CommitId(format!("c{first}"));
    item.cancel_tasks =
        shape.cancel_tasks.iter().filter_map(|pick| ledger.task_of(who, &run, *pick)).collect();
    item.cancel_timers =
        shape.cancel_timers.iter().filter_map(|pick| ledger.timer_of(who, &run, *pick)).collect();
    item.cancel_open = shape.cancel_open.then(|| cancel(&format!("cancel-{first}")));
    for (pick, handled) in &shape.settled {
        let task = ledger.task_of(who, &run, *pick);
        let number = task.and_then(|task| task.as_str().rsplit_once(':')?.1.parse().ok());
        item.settled.extend(number.map(|number| Settled { task: CommandId(number), handled: *handled }));
    }
    item.more = shape.more;
    let mut item = match shape.end {
        EndShape::Waits => draft,
        EndShape::Completed => draft.completed(),
        EndShape::Failed => draft.failed(),
        EndShape::Cancelled => draft.cancelled(),
    }
    .item;
    spoil(&mut item, shape.wrong);
    item
}

/// Usually turns a valid commit into a refused one.
fn spoil(item: &mut CommitItem, wrong: Wrong) {
    let off = |number: u64, up: bool| if up { number + 1 } else { number.saturating_sub(1) };
    match wrong {
        Wrong::Nothing | Wrong::Worker | Wrong::Repeat => {}
        // Far off: the run may have reached the next revision, and no caller knows a revision it has not
        // read.
        Wrong::Revision(true) => item.revision += 1_000,
        Wrong::Revision(false) => item.revision = item.revision.saturating_sub(1),
        // A holder of a claim cannot have seen more deliveries than there are.
        Wrong::Arrived(up) => item.arrived = off(item.arrived, up && item.fence == Fence::Fused),
        Wrong::Claim(up) => match &mut item.fence {
            Fence::Claim(claim) => *claim = off(*claim, up),
            Fence::Fused => item.finished.iter_mut().for_each(|task| task.claim = off(task.claim, up)),
        },
    }
}

fn awaited(bits: u8) -> Vec<&'static str> {
    let wanted = |place: &usize| bits & (1 << place) != 0;
    (0..SIGNALS.len()).filter(wanted).map(|place| SIGNALS[place]).collect()
}
