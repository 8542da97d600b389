//! I1: what a caller was told happened is there.

use rhythm::{Event, EventData, RunId, Status, TaskId, TaskState};
use rhythm_core::message::{Message, MessageBody};

use super::{Dump, RunDump};
use crate::client_log::{Answer, Call, Operation, Outcome};
use crate::load::message_id;

pub fn check<'a>(calls: impl IntoIterator<Item = &'a Outcome>, dump: &Dump) -> Vec<String> {
    let mut wrong = Vec::new();
    for outcome in calls {
        let call = &outcome.call;
        match &outcome.answer {
            Answer::Ok => {
                let missing = missing(call, dump);
                wrong.extend(missing.map(|what| format!("{} was acknowledged, but {what}", call.name)));
            }
            // A question that was not put in time is answered by its timer.
            Answer::Failed(_) if call.operation == Operation::Decide => {}
            // The load asks for nothing impossible; only a message that was sent again may come too late.
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
        Operation::Signal => {
            let ended_otherwise = matches!(run.picture.summary.status, Status::Failed | Status::Cancelled);
            let there = has(run, call) || ended_otherwise;
            (!there).then(|| format!("run {} has neither consumed nor kept it", call.target))
        }
        Operation::Decide => {
            let is_decision = |row: &Event| matches!(row.data, EventData::ApprovalDecided(_));
            let waits = |message: &Message| matches!(message.body, MessageBody::ApprovalDecided(_));
            let there = run.history.iter().any(is_decision) || run.picture.inbox.iter().any(waits);
            (!there).then(|| format!("nobody has decided in run {}", call.target))
        }
        Operation::Cancel => {
            let there = has(run, call) || run.picture.summary.status.is_final();
            (!there).then(|| format!("run {} goes on as if nothing had been asked", call.target))
        }
    }
}

/// Whether the call's message was consumed or waits.
fn has(run: &RunDump, call: &Call) -> bool {
    let id = message_id(call);
    run.history.iter().any(|event| event.message.as_ref() == Some(&id))
        || run.picture.inbox.iter().any(|message| message.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
