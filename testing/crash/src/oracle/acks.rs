//! I1: every acknowledged call took effect.

use rhythm::{RunId, Status, TaskId, TaskState};
use rhythm_core::MessageId;

use super::{Dump, RunDump};
use crate::client_log::{Answer, Call, Operation, Outcome};
use crate::load::message_id;

pub fn check<'a>(calls: impl IntoIterator<Item = &'a Outcome>, dump: &Dump) -> Vec<String> {
    let mut wrong = Vec::new();
    for outcome in calls {
        let call = &outcome.call;
        let mut acknowledged = |missing: Option<String>| {
            wrong.extend(missing.map(|what| format!("{} was acknowledged, but {what}", call.name)));
        };
        match &outcome.answer {
            Answer::Ok => acknowledged(missing(call, dump)),
            Answer::Delivered(id) => acknowledged(unheard(call, id, dump)),
            // If no client answers a question in time, its timer answers it.
            Answer::Early | Answer::Over => {}
            // The load asks for nothing impossible. Only a repeated message may be refused because it comes
            // too late.
            Answer::Failed(why) => {
                let message = matches!(call.operation, Operation::Signal | Operation::Cancel);
                if outcome.sent <= 1 || !message {
                    wrong.push(format!("{} was refused: {why}", call.name))
                }
            }
            Answer::Unknown(_) => {}
        }
    }
    wrong
}

fn missing(call: &Call, dump: &Dump) -> Option<String> {
    if call.operation == Operation::Enqueue {
        let Some(task) = dump.tasks.get(&TaskId::new(&call.target)) else {
            return Some(format!("task {} is not there", call.target));
        };
        let done = task.state == TaskState::Completed;
        return (!done).then(|| format!("task {} is {:?}: {:?}", call.target, task.state, task.failure));
    }
    let Some(run) = dump.runs.get(&RunId::new(&call.target)) else {
        return Some(format!("run {} is not there", call.target));
    };
    match call.operation {
        Operation::Start | Operation::Enqueue => None,
        Operation::Decide => Some("nothing says which message it was".into()),
        Operation::Signal => {
            let ended_otherwise = matches!(run.picture.summary.status, Status::Failed | Status::Cancelled);
            let there = has(run, &message_id(call)) || ended_otherwise;
            (!there).then(|| format!("run {} has neither consumed nor kept it", call.target))
        }
        Operation::Cancel => {
            let there = has(run, &message_id(call)) || run.picture.summary.status.is_final();
            (!there).then(|| format!("run {} goes on as if nothing had been asked", call.target))
        }
    }
}

/// Checks that the decision itself is there. The timer leaves a row of the same kind, but without a message.
fn unheard(call: &Call, id: &str, dump: &Dump) -> Option<String> {
    let run = dump.runs.get(&RunId::new(&call.target));
    let there = run.is_some_and(|run| has(run, &MessageId::new(id)));
    (!there).then(|| format!("run {} has neither consumed nor kept {id}", call.target))
}

/// Returns whether a message was consumed or waits.
fn has(run: &RunDump, id: &MessageId) -> bool {
    run.history.iter().any(|event| event.message.as_ref() == Some(id))
        || run.picture.inbox.iter().any(|message| message.id == *id)
}

#[cfg(test)]
mod tests {
    use rhythm::{Client, Rhythm, WorkflowKind};

    use super::*;
    use crate::oracle::history::tests::event;

    fn outcome(answer: Answer, sent: u32) -> Outcome {
        of(Operation::Start, answer, sent)
    }

    fn of(operation: Operation, answer: Answer, sent: u32) -> Outcome {
        let call = Call { name: "start:a".into(), operation, target: "r".into(), detail: "steps".into() };
        Outcome { call, answer, sent, interval: (0, None) }
    }

    #[test]
    fn an_acknowledged_start_without_its_run_is_a_violation_and_an_unknown_one_is_not() {
        let found = check([&outcome(Answer::Ok, 1)], &Dump::default());
        assert_eq!(found, ["start:a was acknowledged, but run r is not there"]);
        let unknown = Answer::Unknown("the caller was killed".into());
        assert_eq!(check([&outcome(unknown, 1)], &Dump::default()), Vec::<String>::new());
    }

    #[test]
    fn only_a_message_that_was_sent_again_may_be_refused() {
        let refused = || Answer::Failed("run r has ended".into());
        for (operation, sent, wrong) in
            [(Operation::Signal, 1, 1), (Operation::Signal, 2, 0), (Operation::Start, 2, 1)]
        {
            assert_eq!(check([&of(operation, refused(), sent)], &Dump::default()).len(), wrong);
        }
    }

    /// A run whose question was answered by a message and then by its timer.
    async fn decided(client: &Client) -> (RunId, RunDump) {
        client.register("drill", WorkflowKind::Drill, r#"{"steps": []}"#).await.unwrap();
        let run = client.start("drill", &()).await.unwrap();
        let row = |by: &str| format!(r#"{{"approval":9,"decision":"approve","by":"{by}"}}"#);
        let history = vec![
            event(1, 0, Some("approval:9"), "approval_decided", &row("crash-client")),
            event(2, 0, None, "approval_decided", &row("system")),
        ];
        let picture = client.picture(&run).await.unwrap();
        (run, RunDump { picture, history })
    }

    #[tokio::test]
    async fn a_decision_that_was_delivered_is_missing_when_only_the_timer_has_decided() {
        let client = Rhythm::open("sqlite::memory:").await.unwrap().client();
        let (run, of_run) = decided(&client).await;
        let mut dump = Dump::default();
        dump.runs.insert(run.clone(), of_run);
        let mut call = of(Operation::Decide, Answer::Delivered("approval:9".into()), 1);
        call.call.target = run.to_string();
        assert_eq!(check([&call], &dump), Vec::<String>::new());
        dump.runs.get_mut(&run).unwrap().history.remove(0);
        let found = check([&call], &dump);
        assert!(found.len() == 1 && found[0].contains("neither consumed nor kept approval:9"), "{found:?}");
        call.answer = Answer::Over;
        assert_eq!(check([&call], &dump), Vec::<String>::new(), "nothing was promised");
    }

    #[test]
    fn a_decision_may_come_early_or_late_but_is_never_refused() {
        let refused = of(Operation::Decide, Answer::Failed("no such run".into()), 2);
        assert_eq!(check([&refused], &Dump::default()).len(), 1);
    }
}
