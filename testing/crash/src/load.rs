//! The load: workflows that together use steps, retries, timers, signals, children, failures, cancellation
//! and a graph, and the calls a client makes with them. The name of a call depends only on the client and a
//! number, so a killed client continues where its log ends.

mod review;

use rhythm::{
    Client, EngineError, EnqueueTask, Payload, RunId, StartRun, Status, TaskId, TenantId, WorkflowKind,
};
use rhythm_core::drill::{Instruction, Plan};
use rhythm_core::message::{Actor, Cancel, Message, MessageBody, SignalReceived};
use rhythm_core::{MessageId, Timestamp};
use rhythm_engine::definitions::{Refused, define};
use rhythm_engine::world::{Deliver, Delivered, Delivery, World, WorldError};
use serde_json::{Value, json};

use crate::client_log::{Answer, Call, Operation};

/// Signal that runs of the load wait for.
pub const SIGNAL: &str = "go";

/// Registers every workflow of the load. `millis` is the duration of each step.
pub async fn register(client: &Client, millis: u64) -> Result<(), EngineError> {
    for (name, source) in drills(millis) {
        client.register(name, WorkflowKind::Drill, &source.to_string()).await?;
        let flow = define(&flow_name(name), WorkflowKind::Flow, &flow(&source));
        client.register_defined(flow.map_err(unsound)?).await?;
    }
    let graph = define(review::NAME, WorkflowKind::Graph, &review::graph(millis).to_string());
    client.register_defined(graph.map_err(unsound)?).await?;
    Ok(())
}

fn unsound(refused: Refused) -> EngineError {
    EngineError::World(WorldError::Broken(format!(
        "a workflow of the load is refused: {:?}",
        refused.diagnostics
    )))
}

/// Returns the name of a drill's flow. Every drill exists also as a flow that does the same.
fn flow_name(drill: &str) -> String {
    format!("flow-{drill}")
}

pub fn is_flow(workflow: &str) -> bool {
    workflow.starts_with("flow-")
}

pub fn is_graph(workflow: &str) -> bool {
    workflow == review::NAME
}

/// Number of tasks a completed run of the graph has asked for, independent of faults.
pub const TASKS_OF_GRAPH: usize = review::TASKS;

fn flow(drill: &Value) -> String {
    let mut plan: Plan = serde_json::from_value(drill.clone()).unwrap_or_default();
    for step in &mut plan.steps {
        if let Instruction::Child { workflow, .. } = step {
            *workflow = flow_name(workflow);
        }
    }
    plan.to_flow()
}

fn drills(millis: u64) -> Vec<(&'static str, Value)> {
    let work = json!({"name": "work", "input": {"millis": millis}});
    let soon = json!({"max_attempts": 3, "initial_delay": "20ms"});
    let flaky = json!({"name": "work", "input": {"failing": 2}, "options": {"retries": soon}});
    let hopeless = json!({"name": "work", "input": {"failing": 9}, "options": {"retries": soon}});
    vec![
        ("steps", json!({"steps": [{"repeat": {"times": 5, "task": work}}]})),
        ("retrying", json!({"steps": [{"task": flaky}, {"try_task": hopeless}, {"task": work}]})),
        (
            "mixed",
            json!({"steps": [
                {"task": work}, {"sleep": "30ms"}, {"parallel": [work, work]}, {"signal": {"name": SIGNAL}},
                {"child": {"workflow": "small"}}, {"task_within": {"task": work, "timeout": "10m"}},
            ]}),
        ),
        ("signalled", json!({"steps": [{"signal": {"name": SIGNAL}}, {"task": work}]})),
        (
            "endless",
            json!({"steps": [{"task": work}, {"signal": {"name": "never"}}], "cleanup": [{"task": work}]}),
        ),
        ("parent", json!({"steps": [{"child": {"workflow": "small"}}, {"child": {"workflow": "small"}}]})),
        ("small", json!({"steps": [{"task": work}, {"sleep": "10ms"}]})),
        ("failing", json!({"steps": [{"task": work}, {"task": hopeless}]})),
    ]
}

/// Returns the status in which a run of the load must end; None for other workflows.
pub fn ending(workflow: &str) -> Option<Status> {
    match workflow.strip_prefix("flow-").unwrap_or(workflow) {
        "steps" | "retrying" | "mixed" | "signalled" | "parent" | "small" | review::NAME => {
            Some(Status::Completed)
        }
        "endless" => Some(Status::Cancelled),
        "failing" => Some(Status::Failed),
        _ => None,
    }
}

/// Number of different scripts; after that they repeat.
const SCRIPTS: u64 = 9;
/// Number of the script that starts the graph.
const GRAPH: u64 = 7;
/// Distance in scripts between the start of a graph and the answer to its question, which the graph asks only
/// after some time.
const LATER: u64 = 12;

/// Returns the calls of a client at one number, in order. Later calls use the run the first one created.
pub fn script(client: &str, number: u64) -> Vec<Call> {
    let key = format!("{client}-{number}");
    let start = |workflow: &str| {
        let target = RunId::for_key(&TenantId::default(), workflow, &key).to_string();
        call(&key, Operation::Start, target, workflow)
    };
    let run = |drill: &str| match number / SCRIPTS % 2 {
        1 => start(&flow_name(drill)),
        _ => start(drill),
    };
    let and = |first: Call, operation: Operation| {
        let target = first.target.clone();
        vec![first, call(&key, operation, target, &key)]
    };
    let mut calls = match number % SCRIPTS {
        0 => vec![run("steps")],
        1 => and(run("mixed"), Operation::Signal),
        2 => vec![run("retrying")],
        3 => {
            let task = TaskId::for_key(&TenantId::default(), "work", &key).to_string();
            vec![call(&key, Operation::Enqueue, task, "work")]
        }
        4 => and(run("signalled"), Operation::Signal),
        5 => and(run("endless"), Operation::Cancel),
        6 => vec![run("parent")],
        GRAPH => vec![start(review::NAME)],
        _ => vec![run("failing")],
    };
    let before = number.checked_sub(LATER).filter(|before| before % SCRIPTS == GRAPH);
    calls.extend(before.map(|before| {
        let key = format!("{client}-{before}");
        let target = RunId::for_key(&TenantId::default(), review::NAME, &key).to_string();
        call(&key, Operation::Decide, target, &key)
    }));
    calls
}

fn call(key: &str, operation: Operation, target: String, detail: &str) -> Call {
    let word = match operation {
        Operation::Start => "start",
        Operation::Signal => "signal",
        Operation::Cancel => "cancel",
        Operation::Decide => "decide",
        Operation::Enqueue => "enqueue",
    };
    Call { name: format!("{word}:{key}"), operation, target, detail: detail.to_owned() }
}

/// Makes a call, which may be repeated any number of times because all its ids come from the call. Returns an
/// error when the world is broken, which the caller cannot handle.
pub async fn perform(client: &Client, call: &Call) -> Result<Answer, WorldError> {
    let done = match call.operation {
        Operation::Decide => match review::decide(client, call).await {
            Ok(answer) => return Ok(answer),
            Err(error) => Err(error),
        },
        Operation::Start => {
            let (id, workflow) = (Some(RunId::new(&call.target)), call.detail.clone());
            client.start_run(StartRun { id, workflow, ..StartRun::default() }).await.map(drop)
        }
        Operation::Enqueue => {
            let (id, name) = (Some(TaskId::new(&call.target)), call.detail.clone());
            let input = Payload::of(&json!({"millis": 1})).unwrap_or_default();
            client.enqueue_task(EnqueueTask { id, name, input, ..EnqueueTask::default() }).await.map(drop)
        }
        Operation::Signal => {
            let body = SignalReceived { name: SIGNAL.into(), payload: Payload::null() };
            deliver(&**client.world(), client.tenant(), call, MessageBody::Signal(body)).await
        }
        Operation::Cancel => {
            let body = Cancel::because("asked to");
            deliver(&**client.world(), client.tenant(), call, MessageBody::Cancel(body)).await
        }
    };
    match done {
        Ok(()) => Ok(Answer::Ok),
        Err(EngineError::World(error @ WorldError::Broken(_))) => Err(error),
        Err(EngineError::World(error)) if error.is_passing() => Ok(Answer::Unknown(error.to_string())),
        Err(error) => Ok(Answer::Failed(error.to_string())),
    }
}

/// Returns the id of the message a call sends.
pub fn message_id(call: &Call) -> MessageId {
    let word = if call.operation == Operation::Cancel { "cancel" } else { "signal" };
    MessageId::new(format!("{word}:{}", call.detail))
}

/// Delivers a message as the client does. A cancellation also gets an id here, so that it can be repeated.
async fn deliver(
    world: &dyn World,
    tenant: &TenantId,
    call: &Call,
    body: MessageBody,
) -> Result<(), EngineError> {
    let (id, actor) = (message_id(call), Actor("crash-client".into()));
    let message = Message { id, at: Timestamp::default(), actor, trace: None, body };
    let deliveries = vec![Delivery { to: RunId::new(&call.target), message }];
    let answers = world.deliver(Deliver { tenant: tenant.clone(), deliveries }).await?;
    match answers.first() {
        Some(Delivered::Accepted | Delivered::Duplicate) => Ok(()),
        Some(Delivered::Ended) => Err(EngineError::Ended(call.target.clone())),
        Some(Delivered::Full) => Err(EngineError::InboxFull(call.target.clone())),
        Some(Delivered::NotFound) | None => Err(EngineError::UnknownRun(call.target.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workflow_of_the_load_is_a_drill_and_a_flow_or_a_graph_and_every_call_has_a_name_of_its_own() {
        let mut names_known = std::collections::BTreeSet::new();
        for (name, source) in drills(1) {
            assert!(ending(name).is_some() && ending(name) == ending(&flow_name(name)), "{name}");
            assert!(rhythm_core::drill::Drill::parse(source.to_string().as_bytes()).is_ok(), "{name}");
            let checked = rhythm_flow::examine(&flow(&source), false).checked;
            assert!(!checked.has_errors(), "{name}: {:?}", checked.diagnostics);
            names_known.extend([name.to_owned(), flow_name(name)]);
        }
        let graph = define(review::NAME, WorkflowKind::Graph, &review::graph(1).to_string());
        assert!(graph.is_ok() && ending(review::NAME).is_some(), "{:?}", graph.err());
        names_known.insert(review::NAME.to_owned());
        let calls: Vec<Call> = (0..4 * SCRIPTS).flat_map(|number| script("c", number)).collect();
        let names: std::collections::BTreeSet<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names.len(), calls.len());
        let starts = || calls.iter().filter(|call| call.operation == Operation::Start);
        assert!(starts().all(|call| names_known.contains(&call.detail)));
        assert!(starts().any(|call| call.detail.starts_with("flow-")));
        let decided = calls.iter().filter(|call| call.operation == Operation::Decide);
        let asked = |target: &str| starts().any(|call| call.detail == review::NAME && call.target == target);
        assert!(decided.clone().count() == 2 && decided.clone().all(|call| asked(&call.target)));
    }
}
