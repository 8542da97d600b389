//! `parallel` over long lists: the snapshot does not grow with the list.

use rhythm_core::failure::codes as failures;
use rhythm_core::fold::{Advance, End, Fold, RunState};
use rhythm_core::message::Message;
use rhythm_core::program::Snapshot;
use rhythm_core::time::Timestamp;
use serde_json::{Value, json};

use super::stage::{Script, Stage, WAYS, Way, script};
use crate::machine::memory::{FORMAT, Memory};

fn graph(config: &Value) -> Value {
    json!({"nodes": [{"id": "p", "type": "parallel", "config": config}]})
}

fn records(count: usize) -> Vec<Value> {
    let text = "x".repeat(80);
    (0..count).map(|n| json!({"id": format!("order-{n}"), "n": n, "note": text})).collect()
}

/// Answers each item with the item itself.
fn over(items: &[Value]) -> Script {
    script().inputs(json!(items)).with("p", items.iter().cloned())
}

#[test]
fn thousands_of_records_with_and_without_a_bound_come_back_in_their_order() {
    let items = records(1_500);
    for (way, bound) in [
        (Way::Straight, json!({"concurrency": 50})),
        (Way::Reloaded, json!({"concurrency": 7})),
        (Way::Straight, json!({})),
    ] {
        let mut config = json!({"items": "$inputs", "task": "echo"});
        config.as_object_mut().unwrap().extend(bound.as_object().unwrap().clone());
        let mut stage = Stage::new(&graph(&config), over(&items), way);
        let mut largest = 0;
        while stage.end.is_none() {
            stage.deliver(0);
            largest = largest.max(stage.state.snapshot.as_ref().unwrap().bytes.len());
        }
        let Some(End::Completed(output)) = &stage.end else { panic!("{:?}", stage.end) };
        let given: Value = serde_json::from_slice(output.resolve(&stage.blobs).unwrap()).unwrap();
        assert_eq!(given, json!(items));
        assert!(largest < 160 * 1024, "{largest}");
    }
}

#[test]
fn failures_among_many_results_stand_where_they_belong() {
    let items = records(400);
    for way in WAYS {
        let config = json!({"items": "$inputs", "workflow": "kid", "concurrency": 9, "settle": true});
        let mut stage = Stage::new(&graph(&config), over(&items), way);
        stage.play();
        let Some(End::Completed(output)) = &stage.end else { panic!("{:?}", stage.end) };
        let given: Value = serde_json::from_slice(output.resolve(&stage.blobs).unwrap()).unwrap();
        assert_eq!(given.as_array().unwrap().len(), 400);
    }
}

fn fold(stage: &Stage, messages: &[Message], together: bool) -> RunState {
    let mut blobs = stage.blobs.clone();
    'again: loop {
        let mut fold = Fold::new(&stage.program, stage.facts.clone());
        let mut state = stage.state.clone();
        for (place, message) in messages.iter().enumerate() {
            let more = if together { messages.len() - place - 1 } else { 0 };
            match fold.advance(&mut state, message, (Timestamp(9), &blobs), more).unwrap() {
                Advance::NeedBlobs(wanted) => {
                    let found =
                        wanted.iter().map(|blob| (blob.hash.clone(), stage.blobs[&blob.hash].clone()));
                    blobs.extend(found.collect::<Vec<_>>());
                    continue 'again;
                }
                Advance::Advanced(advanced) => state = advanced.state,
            }
        }
        assert!(fold.settle(&mut state).is_empty(), "a graph's values leave with their message");
        return state;
    }
}

#[test]
fn answers_that_start_the_next_items_come_to_the_same_together_and_one_by_one() {
    let items = records(900);
    let config = json!({"items": "$inputs", "task": "echo", "concurrency": 200});
    let mut stage = Stage::new(&graph(&config), over(&items), Way::Reloaded);
    stage.deliver(0);
    for _ in 0..3 {
        let messages: Vec<Message> = stage.pending.iter().map(|(_, message)| message.clone()).collect();
        assert_eq!(fold(&stage, &messages, true), fold(&stage, &messages, false));
        for _ in 0..messages.len() {
            stage.deliver(0);
        }
    }
}

#[test]
fn a_run_has_at_most_50_000_tasks_under_way() {
    let many = json!({"items": "$inputs", "task": "echo", "concurrency": 1000});
    let workers: Vec<String> = (0..51).map(|n| format!("w{n}")).collect();
    let nodes: Vec<Value> =
        workers.iter().map(|id| json!({"id": id, "type": "parallel", "config": many})).collect();
    let script = script().inputs(json!((0..1_001).collect::<Vec<_>>()));
    let mut stage = Stage::new(&json!({"nodes": nodes}), script, Way::Reloaded);
    stage.deliver(0);
    let Some(End::Failed(failure)) = &stage.end else { panic!("{:?}", stage.end) };
    assert_eq!(failure.code, failures::LIMIT_EXCEEDED);
    assert!(failure.message.contains("50,000"), "{}", failure.message);
}

#[test]
fn a_snapshot_of_the_format_before_goes_on() {
    let items = records(3);
    let config = json!({"items": "$inputs", "task": "echo", "concurrency": 1});
    let mut stage = Stage::new(&graph(&config), over(&items), Way::Reloaded);
    stage.deliver(0);
    stage.deliver(0);
    let snapshot = stage.state.snapshot.clone().unwrap();
    assert_eq!(snapshot.format, FORMAT);
    // For a short list the older format differs only by two missing counts.
    let text = String::from_utf8(snapshot.open().unwrap().to_vec()).unwrap();
    let at_hand = text.find(",\"at_hand\":").unwrap();
    let end = at_hand + text[at_hand + 1..].find([',', '}']).unwrap() + 1;
    let older = format!("{}{}", &text[..at_hand], &text[end..]);
    let older = Snapshot::seal(1, older.into_bytes());
    assert!(Memory::load(&older).is_ok() && Memory::load(&Snapshot::seal(3, text.into_bytes())).is_err());
    stage.state.snapshot = Some(older);
    stage.play();
    let Some(End::Completed(output)) = &stage.end else { panic!("{:?}", stage.end) };
    assert_eq!(output.text(), Some(json!(items).to_string().as_str()));
}
