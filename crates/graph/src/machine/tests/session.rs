//! Messages folded together give the same history, commands and snapshot as one by one.

use rhythm_core::fold::{Advance, Advanced, Fold, RunState};
use rhythm_core::message::Message;
use rhythm_core::time::Timestamp;
use serde_json::{Value, json};

use super::stage::{Stage, Way, script};

fn fold(stage: &Stage, messages: &[Message], together: bool) -> (RunState, Vec<Advanced>) {
    let mut fold = Fold::new(&stage.program, stage.facts.clone());
    let (mut state, mut blobs, mut all) = (stage.state.clone(), stage.blobs.clone(), Vec::new());
    for (place, message) in messages.iter().enumerate() {
        let more = if together { messages.len() - place - 1 } else { 0 };
        let step = fold.advance(&mut state, message, (Timestamp(9), &blobs), more);
        let Ok(Advance::Advanced(mut advanced)) = step else { panic!("{step:?}") };
        state = advanced.state.clone();
        blobs.extend(advanced.blobs.iter().map(|(reference, bytes)| (reference.hash.clone(), bytes.clone())));
        // Between the messages of one commit the snapshot may be out of date.
        advanced.state.snapshot = None;
        all.push(*advanced);
        if all.last().is_some_and(|advanced| advanced.end.is_some()) {
            break;
        }
    }
    let settled = fold.settle(&mut state);
    assert!(settled.is_empty(), "a graph's values leave with their message");
    (state, all)
}

fn fan(width: usize, more: &Value) -> Value {
    let workers: Vec<String> = (0..width).map(|n| format!("w{n}")).collect();
    let mut nodes = vec![json!({"id": "a", "type": "task", "dependents": workers})];
    nodes.extend(workers.iter().map(|id| {
        let mut node = json!({"id": id, "type": "task", "dependents": ["z"]});
        node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        node
    }));
    nodes.push(json!({"id": "z", "type": "task", "dependencies": workers}));
    json!({"limits": {"max_fanout": 1000}, "nodes": nodes})
}

#[test]
fn answers_of_a_fan_come_to_the_same_together_and_one_by_one() {
    let branch = json!({"branch": {"rules": [
        {"condition": {"type": "cel", "expression": "output.n > 0"}, "next_nodes": ["z"]}], "default": []}});
    let undo = json!({"compensator": {"action": "undo"}});
    let large = json!({"n": 1, "x": "y".repeat(20_000)});
    for (more, answer) in
        [(json!({}), json!({"n": 1})), (branch, json!({"n": 0})), (undo, json!({"n": 1})), (json!({}), large)]
    {
        let graph = fan(12, &more);
        let mut script = script().silent("z");
        for n in 0..12 {
            script = script.with(&format!("w{n}"), [answer.clone()]);
        }
        let mut stage = Stage::new(&graph, script, Way::Reloaded);
        stage.deliver(0);
        stage.deliver(0);
        let mut messages: Vec<Message> = stage.pending.iter().map(|(_, message)| message.clone()).collect();
        messages.insert(5, messages[2].clone());
        let (one_by_one, together) = (fold(&stage, &messages, false), fold(&stage, &messages, true));
        assert_eq!(one_by_one, together, "{more}");
    }
}

#[test]
fn most_answers_of_a_fan_are_taken_without_writing_the_snapshot() {
    let mut stage = Stage::new(&fan(50, &json!({})), script(), Way::Reloaded);
    stage.deliver(0);
    stage.deliver(0);
    let snapshot = stage.state.snapshot.clone().unwrap();
    let mut session = rhythm_core::program::Program::session(&stage.program, &snapshot).unwrap();
    let messages: Vec<Message> = stage.pending.iter().map(|(_, message)| message.clone()).collect();
    let noted = messages.iter().filter(|message| {
        let (facts, at, blobs) = (&stage.facts, Timestamp(9), &stage.blobs);
        let input = rhythm_core::program::StepInput { facts, snapshot: None, message, at, blobs };
        session.note(input).is_some()
    });
    assert_eq!(noted.count(), 49, "the last one runs the join");
}
