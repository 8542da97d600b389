//! I3 and I9: rules for one run's history.

use std::collections::{BTreeMap, BTreeSet};

use rhythm::{Event, EventData};

/// Returns everything that is wrong with this history.
pub fn check(history: &[Event]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, event) in history.iter().enumerate() {
        if event.seq != place as u64 + 1 {
            wrong.push(format!("row {} stands at place {}", event.seq, place + 1));
        }
    }
    let mut messages = BTreeSet::new();
    for event in history {
        if let Some(message) = &event.message
            && !messages.insert(message)
        {
            wrong.push(format!("message {message} was consumed twice (again in row {})", event.seq));
        }
    }
    wrong.extend(check_tasks(history));
    wrong.extend(check_timers(history));
    wrong.extend(check_end(history));
    wrong
}

fn check_tasks(history: &[Event]) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut scheduled, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for event in history {
        let task = match &event.data {
            EventData::StepScheduled(step) => {
                if !scheduled.insert(step.task) {
                    wrong.push(format!("task {} was scheduled twice", step.task));
                }
                continue;
            }
            EventData::StepCompleted(done) => done.task,
            EventData::StepFailed(failed) => failed.task,
            _ => continue,
        };
        if !answered.insert(task) {
            wrong.push(format!("task {task} answered twice"));
        }
        if !scheduled.contains(&task) {
            wrong.push(format!("task {task} answered without being scheduled"));
        }
    }
    wrong
}

fn check_timers(history: &[Event]) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut due, mut fired) = (BTreeMap::new(), BTreeSet::new());
    for event in history {
        match &event.data {
            EventData::TimerScheduled(timer) => {
                let before = due.insert(timer.timer, timer.fire_at);
                if before.is_some() {
                    wrong.push(format!("timer {} was set twice", timer.timer));
                }
            }
            EventData::TimerFired(timer) => {
                if !fired.insert(timer.timer) {
                    wrong.push(format!("timer {} fired twice", timer.timer));
                }
                match due.get(&timer.timer) {
                    Some(due) if event.at >= *due => {}
                    Some(due) => {
                        let early = due.since(event.at);
                        wrong.push(format!("timer {} fired {early} early", timer.timer));
                    }
                    None => wrong.push(format!("timer {} fired without being set", timer.timer)),
                }
            }
            _ => {}
        }
    }
    wrong
}

/// Checks that only a reopening follows an end.
fn check_end(history: &[Event]) -> Vec<String> {
    let mut wrong = Vec::new();
    if history.first().is_some_and(|event| !begins(&event.data)) {
        wrong.push(format!("it begins with {}", history[0].data.kind()));
    }
    for pair in history.windows(2) {
        if ends(&pair[0].data) && !matches!(pair[1].data, EventData::Reopened(_)) {
            let (end, next) = (pair[0].data.kind(), pair[1].data.kind());
            wrong.push(format!("{next} follows its end ({end}, row {})", pair[0].seq));
        }
    }
    wrong
}

/// Returns whether a run may begin with this row: its start, or a row that ended, paused or resumed it
/// before.
fn begins(data: &EventData) -> bool {
    matches!(
        data,
        EventData::WorkflowStarted(_)
            | EventData::CancelRequested(_)
            | EventData::DeadlineReached(_)
            | EventData::Paused(_)
    )
}

fn ends(data: &EventData) -> bool {
    matches!(
        data,
        EventData::WorkflowCompleted(_) | EventData::WorkflowFailed(_) | EventData::WorkflowCancelled(_)
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn event(seq: u64, at: i64, message: Option<&str>, kind: &str, data: &str) -> Event {
        let data = EventData::from_parts(kind, data).unwrap();
        let message = message.map(Into::into);
        let (at, actor) = (rhythm::Timestamp(at), rhythm::Actor("test".into()));
        Event { seq, at, cause: None, message, actor, trace: None, data }
    }

    fn good() -> Vec<Event> {
        vec![
            event(1, 0, Some("start"), "workflow_started", r#"{"input":null}"#),
            event(2, 0, None, "step_scheduled", r#"{"task":1,"name":"work","queue":"default","input":null}"#),
            event(3, 5, Some("task:1"), "step_completed", r#"{"task":1,"attempt":1,"output":null}"#),
            event(4, 5, None, "timer_scheduled", r#"{"timer":2,"fire_at":50}"#),
            event(5, 50, Some("timer:2"), "timer_fired", r#"{"timer":2}"#),
            event(6, 50, None, "workflow_completed", r#"{"output":null}"#),
        ]
    }

    #[test]
    fn a_sound_history_passes() {
        assert_eq!(check(&good()), Vec::<String>::new());
        assert_eq!(check(&[]), Vec::<String>::new());
    }

    #[test]
    fn each_fault_in_a_history_is_named() {
        let mut gap = good();
        gap.remove(2);
        assert!(check(&gap)[0].contains("row 4 stands at place 3"), "{:?}", check(&gap));
        let mut twice = good();
        twice.insert(
            3,
            event(4, 5, Some("task:1"), "step_completed", r#"{"task":1,"attempt":1,"output":null}"#),
        );
        let found = check(&twice).join("\n");
        assert!(found.contains("consumed twice") && found.contains("task 1 answered twice"), "{found}");
        let mut early = good();
        early[4].at = rhythm::Timestamp(49);
        assert!(check(&early)[0].contains("early"));
        let mut after = good();
        after.push(event(7, 60, None, "marker", r#"{"name":"x"}"#));
        assert!(check(&after)[0].contains("follows its end"));
    }
}
