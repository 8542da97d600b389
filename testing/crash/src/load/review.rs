//! The graph of the load: a branch, two paths that join, all of it twice in a loop, then an approval. A
//! client answers it if it comes in time, otherwise a timer does.

use std::time::Duration;

use rhythm::{Client, EngineError, RunId};
use rhythm_core::message::{Actor, ApprovalDecided, Message, MessageBody};
use rhythm_core::{CommandId, EventData, MessageId, Payload, Timestamp};
use rhythm_engine::world::{Deliver, Delivered, Delivery};
use serde_json::{Value, json};

use crate::client_log::{Answer, Call};

pub const NAME: &str = "graph-review";

/// Passes of the loop, and tasks of a complete run: four in each pass and one at the end.
const PASSES: usize = 2;
pub const TASKS: usize = 4 * PASSES + 1;

/// Number of times a call looks for the question.
const GLANCES: u32 = 8;
const GLANCE: Duration = Duration::from_millis(50);

pub fn graph(millis: u64) -> Value {
    let work = json!({"task": "work", "millis": millis});
    let soon = json!({"max_attempts": 3, "backoff_ms": 20});
    json!({"nodes": [
        {"id": "begin", "type": "task", "config": work, "dependents": ["checked", "pause"]},
        {"id": "checked", "type": "task", "config": work, "branch": {
            "rules": [{"condition": {"type": "cel", "expression": "output.attempt > 0"}, "next_nodes": ["meet"]}],
            "default": ["never"]}},
        {"id": "never", "type": "task", "config": work, "dependents": ["meet"]},
        {"id": "pause", "type": "delay", "config": {"for": "20ms"}, "dependents": ["flaky"]},
        {"id": "flaky", "type": "task", "config": {"task": "work", "failing": 1}, "retry": soon,
            "dependents": ["meet"]},
        {"id": "meet", "type": "task", "config": work, "dependencies": ["checked", "never", "flaky"], "loop": {
            "max_iterations": PASSES, "loop_back_to": "begin", "timeout_path": ["review"]}},
        {"id": "review", "type": "human", "human_config": {"timeout": "1s", "escalation_policy": "auto_approve"},
            "dependents": ["end"], "rejection_path": ["end"]},
        {"id": "end", "type": "task", "config": work, "wait_for_all": false}]})
}

/// Answers the question of a run if it appears within a moment. A client does not wait longer, because a
/// timer answers as well.
pub async fn decide(client: &Client, call: &Call) -> Result<Answer, EngineError> {
    let run = RunId::new(&call.target);
    for _ in 0..GLANCES {
        match question(client, &run).await? {
            Question::Open(approval) => return answer(client, &run, approval).await,
            Question::Answered | Question::RanOut => return Ok(Answer::Over),
            Question::ToCome => tokio::time::sleep(GLANCE).await,
        }
    }
    Ok(Answer::Early)
}

/// Delivers the answer. A message that is in the inbox while its question is open is consumed before the run
/// can end. A message after the timer's answer may be removed with the run.
async fn answer(client: &Client, run: &RunId, approval: CommandId) -> Result<Answer, EngineError> {
    let accepted = deliver(client, run, approval).await?;
    Ok(match question(client, run).await? {
        Question::Open(_) | Question::Answered if accepted => {
            Answer::Delivered(MessageId::approval(approval).0)
        }
        _ => Answer::Over,
    })
}

enum Question {
    ToCome,
    Open(CommandId),
    /// Answered by a message.
    Answered,
    /// Answered by its timer.
    RanOut,
}

async fn question(client: &Client, run: &RunId) -> Result<Question, EngineError> {
    let mut question = Question::ToCome;
    for event in client.history(run).await? {
        match event.data {
            EventData::ApprovalCreated(created) => question = Question::Open(created.approval),
            // A second answer changes nothing.
            EventData::ApprovalDecided(_) if !matches!(question, Question::Open(_)) => {}
            EventData::ApprovalDecided(_) if event.message.is_some() => question = Question::Answered,
            EventData::ApprovalDecided(_) => question = Question::RanOut,
            _ => {}
        }
    }
    Ok(question)
}

/// Delivers the decision. Returns false when the run has ended.
async fn deliver(client: &Client, run: &RunId, approval: CommandId) -> Result<bool, EngineError> {
    let decided = ApprovalDecided {
        approval,
        decision: "approve".into(),
        by: "crash-client".into(),
        comments: String::new(),
        data: Payload::null(),
    };
    let (id, actor) = (MessageId::approval(approval), Actor("crash-client".into()));
    let body = MessageBody::ApprovalDecided(decided);
    let message = Message { id, at: Timestamp::default(), actor, trace: None, body };
    let deliveries = vec![Delivery { to: run.clone(), message }];
    let answers = client.world().deliver(Deliver { tenant: client.tenant().clone(), deliveries }).await?;
    match answers.first() {
        Some(Delivered::Accepted | Delivered::Duplicate) => Ok(true),
        Some(Delivered::Ended) => Ok(false),
        Some(Delivered::Full) => Err(EngineError::InboxFull(run.to_string())),
        Some(Delivered::NotFound) | None => Err(EngineError::UnknownRun(run.to_string())),
    }
}
