//! Values for the requests of conformance tests; tests change them with struct update syntax.

use std::collections::BTreeMap;

use rhythm_core::cron::{CatchUp, Overlap};
use rhythm_core::message::{Cancel, SignalReceived, TaskCompleted};
use rhythm_core::{
    Actor, Blocked, BlockedCode, CommandId, Failure, Message, MessageBody, MessageId, Millis, Payload, RunId,
    TaskOptions, Timestamp, Version, WorkflowKind,
};
use rhythm_engine::world::*;

use super::EVER;

pub fn secs(count: u64) -> Millis {
    Millis::from_secs(count)
}

pub fn days(count: u64) -> Millis {
    Millis::from_secs(count * 24 * 3600)
}

pub fn json(text: &str) -> Payload {
    Payload::parse(text.to_owned()).unwrap()
}

pub fn failure(code: &str) -> Failure {
    Failure::new(code, "it did not work")
}

pub fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.into(),
        workflow: "drill".to_owned(),
        version: Version::of(b"drill"),
        kind: WorkflowKind::Drill,
        input: json(r#"{"n":1}"#),
        priority: 0,
        delay: Millis::ZERO,
        deadline: None,
        labels: BTreeMap::new(),
        parent: None,
        actor: Actor("user:ann".to_owned()),
        trace: Some("00-trace-of-the-creator-01".to_owned()),
    }
}

/// Returns a child of another run.
pub fn run_below(parent: &str, child: u64) -> NewRun {
    let (run, child) = (RunId::new(parent), CommandId(child));
    NewRun { id: run.child(child), parent: Some(Parent { run, child }), ..new_run(parent) }
}

/// Returns a standalone task.
pub fn new_task(id: &str) -> NewTask {
    NewTask {
        id: id.into(),
        run: None,
        name: "work".to_owned(),
        input: json(r#"{"n":1}"#),
        options: TaskOptions::default(),
        actor: Actor("user:ann".to_owned()),
        trace: None,
        claim: false,
    }
}

/// Returns task `number` of a run.
pub fn task_of(run: &RunId, number: u64) -> NewTask {
    let number = CommandId(number);
    NewTask { id: run.task(number), run: Some((run.clone(), number)), ..new_task("") }
}

pub fn in_queue(queue: &str) -> TaskOptions {
    TaskOptions { queue: queue.to_owned(), ..TaskOptions::default() }
}

pub fn delayed(delay: Millis) -> TaskOptions {
    TaskOptions { delay, ..TaskOptions::default() }
}

pub fn message(id: &str, body: MessageBody) -> Message {
    // The world sets the time; an absurd one here shows whether it does.
    let at = Timestamp(7);
    Message { id: id.into(), at, actor: Actor("user:bob".to_owned()), trace: None, body }
}

pub fn signal(id: &str, name: &str) -> Message {
    let payload = json(&format!("{id:?}"));
    message(id, MessageBody::Signal(SignalReceived { name: name.to_owned(), payload }))
}

pub fn cancel(id: &str) -> Message {
    message(id, MessageBody::Cancel(Cancel::because("enough")))
}

/// Returns the final message of a completed task of a run.
pub fn result_of(task: &ClaimedTask) -> Message {
    let number = task.run.as_ref().expect("a task of a run").1;
    let body = TaskCompleted { task: number, attempt: task.attempt, output: json("\"done\"") };
    let message = message("", MessageBody::TaskCompleted(body));
    Message { id: MessageId::task(number), ..message }
}

/// A completed task, with the message for its run if it has one.
pub fn completed(task: &ClaimedTask) -> FinishedTask {
    let outcome = TaskOutcome::Completed { output: json("\"done\"") };
    let message = task.run.as_ref().map(|_| result_of(task));
    FinishedTask { task: task.id.clone(), claim: task.claim, outcome, message }
}

pub fn claim_of(task: &ClaimedTask) -> TaskClaim {
    TaskClaim { task: task.id.clone(), claim: task.claim }
}

pub fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

pub fn blocked(code: BlockedCode) -> Blocked {
    Blocked { code, since: Timestamp(1_000), detail: "as the test says".to_owned() }
}

pub fn card(worker: &str) -> WorkerRegistration {
    WorkerRegistration {
        id: worker.into(),
        host: "stage".to_owned(),
        pid: 1,
        version: "0".to_owned(),
        queues: vec!["default".to_owned()],
        tasks: vec!["work".to_owned()],
        kinds: vec![WorkflowKind::Drill],
        workflows: vec![],
        concurrency: 4,
        silence: EVER,
    }
}

pub fn schedule(name: &str, next_at: Timestamp) -> Schedule {
    Schedule {
        name: name.to_owned(),
        cron: "0 9 * * *".to_owned(),
        zone: "Europe/Berlin".to_owned(),
        target: ScheduleTarget::Workflow { workflow: "drill".to_owned(), input: json("[1]") },
        catch_up: CatchUp::One,
        overlap: Overlap::Skip,
        declared: false,
        paused: false,
        next_at: Some(next_at),
        last_at: None,
        last_started: None,
        fired: 0,
        missed: 0,
    }
}

pub fn definition(workflow: &str, source: &str) -> Definition {
    Definition {
        workflow: workflow.to_owned(),
        version: Version::of(source.as_bytes()),
        kind: WorkflowKind::Drill,
        source: source.to_owned(),
        compiled: vec![0, 159, 146, 150, 255],
        format: 3,
    }
}
