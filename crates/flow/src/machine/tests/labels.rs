//! Labels and items, by which people tell pieces of work apart.

use rhythm_core::event::EventData;
use rhythm_core::failure::Failure;
use rhythm_core::fold::{Divergence, replay};
use rhythm_core::lineage::Lineage;

use super::*;
use crate::inspect::describe;

type Sign = (&'static str, String, Option<u64>);

/// Returns kind, label and item of everything the history says was started.
fn signs(events: &[Event]) -> Vec<Sign> {
    let sign = |event: &Event| {
        let label = |label: &Option<String>| label.clone().unwrap_or_default();
        Some(match &event.data {
            EventData::StepScheduled(step) => ("task", label(&step.label), step.item),
            EventData::ChildStarted(child) => ("child", label(&child.label), child.item),
            EventData::TimerScheduled(timer) => ("timer", label(&timer.label), None),
            EventData::SignalRequested(signal) => ("signal", label(&signal.label), None),
            _ => return None,
        })
    };
    events.iter().filter_map(sign).collect()
}

fn sign(kind: &'static str, label: &str, item: Option<u64>) -> Sign {
    (kind, label.to_owned(), item)
}

/// Returns name, label and item of everything the run waits for, read from its snapshot.
fn awaited(run: &Rehearsal) -> Vec<(String, String, Option<u64>)> {
    let described = describe(&run.flow, run.state.snapshot.as_ref().unwrap()).unwrap();
    let waits = described.waiting_for.into_iter();
    waits.map(|wait| (wait.name, wait.label.unwrap_or_default(), wait.item)).collect()
}

#[test]
fn the_history_tells_the_label_of_everything_that_is_started() {
    let mut run = Rehearsal::of(
        "Timer.delay(9, { label: \"Cool down\" })\nTask.run(\"plain\", {})\nawait Promise.all([\
         Task.run(\"charge\", {}, { label: \"Charge the card\" }), \
         Workflow.run(\"ship\", {}, { label: \"Ship it\" }), \
         Task.delay(5, { label: \"A moment\" }), \
         Signal.next(\"ok\", { label: \"The manager's word\" }), \
         Signal.when(\"no\", { timeout: 60, label: \"A veto\" })])",
    );
    let started = run.start("null");
    let expected = [
        sign("task", "", None),
        sign("task", "Charge the card", None),
        sign("child", "Ship it", None),
        sign("timer", "A moment", None),
        sign("timer", "", None),
        sign("signal", "A veto", None),
        sign("signal", "The manager's word", None),
    ];
    // The timer was dropped before it was started, because nothing awaits it.
    assert_eq!(signs(&started.events), expected);
    assert_eq!(task(&started, 1).options.label.as_deref(), Some("Charge the card"));
    let waits = awaited(&run);
    let found = |name: &str| waits.iter().find(|wait| wait.0 == name).map(|wait| wait.1.as_str());
    assert_eq!(
        (found("ship"), found("ok"), found("no")),
        (Some("Ship it"), Some("The manager's word"), Some("A veto"))
    );
    assert!(waits.iter().any(|wait| wait.1 == "A moment"), "{waits:?}");
    let history = started.events;
    let again = replay(Lineage::of(&run.flow, run.facts()), &history, |_| Ok::<_, Divergence>(Blobs::new()));
    assert_eq!(again.unwrap(), run.state);
}

#[test]
fn items_of_a_map_have_its_label_and_their_place() {
    for of in ["Task", "Workflow"] {
        let source = format!(
            "return await {of}.map(\"pay\", [5, 6, 7], {{ concurrency: 2, label: \"Pay a bill\", retries: {{ max_attempts: 2, jitter: 0 }} }})"
        );
        let mut run = Rehearsal::of(&source);
        let kind = if of == "Task" { "task" } else { "child" };
        let first = run.start("null");
        assert_eq!(signs(&first.events), [0, 1].map(|item| sign(kind, "Pay a bill", Some(item))));
        if of == "Task" {
            let third = run.complete(3, "1");
            assert_eq!(signs(&third.events), [sign(kind, "Pay a bill", Some(2))]);
            let options = &task(&third, 0).options;
            assert_eq!((options.label.as_deref(), options.item), (Some("Pay a bill"), Some(2)));
        } else {
            // A retried child belongs to the same item.
            let failure = Failure::new("BUSY", "busy");
            let failed = ChildFailed { child: CommandId(3), failure };
            assert_eq!(run.send("child:3", MessageBody::ChildFailed(failed)).commands.len(), 1);
            assert_eq!(awaited(&run)[1], ("pay".to_owned(), "Pay a bill".to_owned(), Some(1)));
            assert_eq!(signs(&run.fire(4).events), [sign(kind, "Pay a bill", Some(1))]);
        }
    }
}

#[test]
fn a_child_that_is_tried_again_keeps_its_label() {
    let mut run = Rehearsal::of(
        "await Workflow.run(\"ship\", {}, { label: \"Ship it\", retries: { max_attempts: 2, jitter: 0 } })",
    );
    run.start("null");
    let failed = ChildFailed { child: CommandId(1), failure: Failure::new("BUSY", "busy") };
    run.send("child:1", MessageBody::ChildFailed(failed));
    assert_eq!(signs(&run.fire(2).events), [sign("child", "Ship it", None)]);
}

#[test]
fn what_is_no_label_throws() {
    let long = "x".repeat(101);
    for call in [
        format!("Task.run(\"a\", {{}}, {{ label: \"{long}\" }})"),
        "Task.run(\"a\", {}, { label: 5 })".to_owned(),
        "Task.run(\"a\", {}, { label: \"\" })".to_owned(),
        "Task.map(\"a\", [1], { label: [] })".to_owned(),
        format!("Timer.delay(1, {{ label: \"{long}\" }})"),
        "Signal.next(\"a\", { label: null })".to_owned(),
        "Signal.when(\"a\", { label: true })".to_owned(),
        "Signal.next(\"a\", { timeout: 5 })".to_owned(),
    ] {
        let mut run = Rehearsal::of(&format!("return await {call}"));
        assert_eq!(failure_code(&run.start("null")), "WRONG_ARG_TYPE", "{call}");
    }
    let mut run =
        Rehearsal::of(&format!("await Task.run(\"a\", {{}}, {{ label: \"{}\" }})", "ü".repeat(100)));
    assert!(run.start("null").end.is_none());
}

#[test]
fn many_handles_of_one_label_are_written_once() {
    let source = "let all = []\nfor (const n of inputs) { all = all.concat([Workflow.run(\"ship\", n, { label: \"Ship it\" })]) }\nawait Promise.all(all)";
    let mut run = Rehearsal::of(source);
    let list = format!("[{}]", (0..300).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    run.start(&list);
    assert_eq!(run.snapshot().matches("Ship it").count(), 1);
    assert!(awaited(&run).iter().all(|wait| wait.1 == "Ship it"));
}

#[test]
fn a_history_written_before_items_were_numbered_still_verifies() {
    let mut run = Rehearsal::of("return await Task.map(\"pay\", [5, 6])");
    let mut history = run.start("null").events;
    for event in &mut history {
        if let EventData::StepScheduled(step) = &mut event.data {
            assert!(step.item.take().is_some());
        }
    }
    let facts = run.facts().clone();
    let again = |history: &[Event]| {
        replay(Lineage::of(&run.flow, &facts), history, |_| Ok::<_, Divergence>(Blobs::new()))
    };
    assert_eq!(again(&history).unwrap(), run.state);
    // A wrong number is not the same as a missing one.
    for event in &mut history {
        if let EventData::StepScheduled(step) = &mut event.data {
            step.item = Some(7);
        }
    }
    assert!(matches!(again(&history), Err(Divergence::Different { .. })));
}
