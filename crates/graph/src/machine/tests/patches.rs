//! Patches of a run: adopted whole and immediately, or refused with the reason while the run goes on
//! unchanged.

use rhythm_core::event::EventData;
use rhythm_core::id::MessageId;
use rhythm_core::message::{MessageBody, Patched, Replay};
use serde_json::{Value, json};

use super::stage::{Stage, WAYS, Way, code, payload, play, script, stage};
use crate::machine::WaitingFor;

fn chain() -> Value {
    json!({"nodes": [{"id": "a", "type": "task", "dependents": ["b"]}, {"id": "b", "type": "task", "dependents": []}]})
}

fn insert_c() -> Value {
    json!([
        {"op": "add", "path": "/nodes/-", "value": {"id": "c", "type": "task"}},
        {"op": "add", "path": "/nodes/1/dependents/-", "value": "c"}])
}

#[test]
fn a_node_that_failed_begins_anew_with_its_tokens_and_the_config_of_now() {
    for way in WAYS {
        let graph = json!({"nodes": [{"id": "a", "type": "task", "dependents": ["b"]},
            {"id": "b", "type": "task", "config": {"size": 1}, "retry": 1}]});
        let mut stage = Stage::new(&graph, script().with("a", [json!(7)]).failing("b", "X"), way);
        stage.play();
        assert_eq!(code(&stage.outcome()), "node_failed:b");
        let task = stage.program.waiting(stage.state.snapshot.as_ref().unwrap()).unwrap()[0].command.unwrap();
        stage.reopen();
        let operations = payload(&json!([{"op": "replace", "path": "/nodes/1/config/size", "value": 2}]));
        let patch = Patched { operations, reason: "larger".into() };
        stage.expect(stage.now, MessageId::new("p"), MessageBody::Patch(patch));
        let replay = |node: &str| {
            MessageBody::Replay(Replay { node: node.into(), command: task, reason: "larger".into() })
        };
        stage.expect(stage.now, MessageId::new("other"), replay("a"));
        stage.expect(stage.now, MessageId::new("again"), replay("b"));
        stage.play();
        assert_eq!(stage.calls.len(), 3, "only the one that failed: {:?}", stage.calls);
        assert_eq!(stage.calls[2].1, json!({"config": {"size": 2}, "input": 7}));
    }
}

#[test]
fn a_node_that_is_held_begins_anew_with_its_tokens() {
    for way in WAYS {
        let graph = json!({"nodes": [{"id": "f", "type": "filter", "on_exhausted": "hold",
            "config": {"items": "$inputs.n", "condition": "true"}}]});
        let mut stage = Stage::new(&graph, script().inputs(json!({"n": 3})), way);
        stage.play();
        let held = stage.program.waiting(stage.state.snapshot.as_ref().unwrap()).unwrap();
        assert!(matches!(&held[0].what, WaitingFor::Held(why) if why.contains("a number")), "{held:?}");
        let operations = payload(&json!([{"op": "replace", "path": "/nodes/0/config/items", "value": [1]}]));
        let patch = Patched { operations, reason: "a list".into() };
        stage.expect(stage.now, MessageId::new("p"), MessageBody::Patch(patch));
        let (node, command, reason) = ("f".to_owned(), held[0].command.unwrap(), "a list".to_owned());
        let replay = MessageBody::Replay(Replay { node, command, reason });
        stage.expect(stage.now, MessageId::new("again"), replay);
        stage.play();
        assert_eq!(stage.outcome().output, json!([1]));
    }
}

#[test]
fn a_patch_changes_where_later_results_go() {
    let stage = stage(&chain(), script().patched(0, "user:ann", insert_c()).with("c", [json!("new")]));
    assert_eq!(stage.patches(), ["adopted"]);
    assert_eq!(
        (stage.outcome().order, stage.outcome().output),
        (vec!["a".into(), "b".into(), "c".into()], json!("new"))
    );
}

#[test]
fn what_undoes_a_patch_is_kept_with_it() {
    let mut stage =
        Stage::new(&chain(), script().patched(0, "user:ann", insert_c()).silent("a"), Way::Reloaded);
    stage.play();
    let adopted = stage.history.iter().find_map(|event| match &event.data {
        EventData::PatchAdopted(adopted) => Some(adopted.clone()),
        _ => None,
    });
    let adopted = adopted.unwrap();
    assert_eq!((adopted.author.as_str(), adopted.reason.as_str()), ("user:ann", "a test"));
    let inverse: Value = serde_json::from_str(adopted.inverse.text().unwrap()).unwrap();
    let undone = crate::patch::apply(&crate::patch::apply(&chain(), &insert_c()).unwrap(), &inverse);
    assert_eq!(undone.unwrap(), chain());
    let both = script().patched(0, "user:ann", insert_c()).patched(0, "user:ann", inverse);
    let stage = super::stage::stage(&chain(), both);
    assert_eq!(
        (stage.patches(), stage.outcome().order),
        (vec!["adopted", "adopted"], vec!["a".into(), "b".into()])
    );
}

#[test]
fn what_is_no_good_patch_is_refused_and_the_run_goes_on() {
    for (operations, refused) in [
        (json!({"op": "add"}), "malformed_patch"),
        (json!([{"op": "explode", "path": "/"}]), "malformed_patch"),
        (json!([{"op": "remove", "path": "/nodes/9"}]), "inapplicable_patch"),
        (json!([{"op": "test", "path": "/nodes/0/id", "value": "z"}]), "inapplicable_patch"),
        (json!([{"op": "add", "path": "/nodes/1/dependents/-", "value": "ghost"}]), "invalid_graph"),
        (json!([{"op": "remove", "path": "/nodes/0"}]), "live_node_removed"),
    ] {
        let stage = stage(&chain(), script().patched(0, "user:ann", operations.clone()));
        assert_eq!(stage.patches(), [refused], "{operations}");
        assert_eq!((stage.outcome().status, stage.outcome().order.len()), ("completed", 2));
    }
    let copies: Vec<Value> =
        (0..40).map(|n| json!({"op": "copy", "from": "", "path": format!("/x{n}")})).collect();
    assert_eq!(
        stage(&chain(), script().patched(0, "user:ann", json!(copies))).patches(),
        ["inapplicable_patch"]
    );
}

#[test]
fn a_node_nobody_is_at_may_be_removed_until_somebody_is() {
    let removal = json!([{"op": "remove", "path": "/nodes/1"}, {"op": "replace", "path": "/nodes/0/dependents", "value": []}]);
    let stage = stage(&chain(), script().patched(0, "user:ann", removal.clone()));
    assert_eq!((stage.patches(), stage.outcome().order), (vec!["adopted"], vec!["a".to_owned()]));
    let mut late = Stage::new(&chain(), script().silent("b").patched(5, "user:ann", removal), Way::Reloaded);
    late.play();
    assert_eq!((late.patches(), late.outcome().waiting), (vec!["live_node_removed"], vec!["b".to_owned()]));
}

fn diamond() -> Value {
    json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "w"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "w", "type": "delay", "config": {"for": "10s"}, "dependents": ["c"]},
        {"id": "c", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]})
}

#[test]
fn a_join_with_tokens_keeps_what_it_waits_for_within_reach() {
    // c would still be waited for, but no path would lead to it.
    let cut = json!([{"op": "replace", "path": "/nodes/2/dependents", "value": ["x"]},
        {"op": "add", "path": "/nodes/-", "value": {"id": "x", "type": "task", "branch":
            {"rules": [{"condition": {"type": "cel", "expression": "false"}, "next_nodes": []}], "default": []}}},
        {"op": "add", "path": "/nodes/3/dependencies", "value": ["x"]},
        {"op": "add", "path": "/nodes/5/dependents", "value": []}]);
    let stage = stage(&diamond(), script().patched(5, "user:ann", cut));
    assert_eq!(stage.patches(), ["join_unreachable"]);
    assert_eq!(stage.outcome().order, ["a", "b", "c", "d"]);
    // The token of b would never be consumed.
    let deaf = json!([{"op": "replace", "path": "/nodes/4/dependencies", "value": ["c"]},
        {"op": "replace", "path": "/nodes/1/dependents", "value": []}]);
    assert_eq!(
        super::stage::stage(&diamond(), script().patched(5, "user:ann", deaf)).patches(),
        ["join_unreachable"]
    );
}

#[test]
fn a_join_may_be_told_not_to_wait_any_longer() {
    let patient = json!([{"op": "replace", "path": "/nodes/4/dependencies", "value": ["b"]},
        {"op": "add", "path": "/nodes/4/wait_for_all", "value": true},
        {"op": "replace", "path": "/nodes/3/dependents", "value": []}]);
    let stage = stage(&diamond(), script().patched(5, "user:ann", patient));
    assert_eq!(
        (stage.patches(), stage.outcome().order),
        (vec!["adopted"], vec!["a".into(), "b".into(), "d".into(), "c".into()])
    );
}

fn agent(more: Value) -> Value {
    let mut node = json!({"id": "a", "type": "agent", "branch": {"type": "agent_driven",
        "available_next_nodes": ["b"], "default": ["b"]}});
    node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"nodes": [node, {"id": "b", "type": "task", "dependents": []}]})
}

fn grow() -> Value {
    json!([{"op": "add", "path": "/nodes/-", "value": {"id": "c", "type": "task"}},
        {"op": "add", "path": "/nodes/0/branch/available_next_nodes/-", "value": "c"}])
}

#[test]
fn a_patch_rides_on_an_agents_answer_and_is_applied_before_it_is_routed() {
    for patch in [grow(), json!({"operations": grow(), "reason": "it needs c"})] {
        let answer = json!({"next_nodes": ["c"], "why": "so", "patch": patch});
        let stage = stage(&agent(json!({})), script().with("a", [answer]));
        assert_eq!((stage.patches(), stage.outcome().order), (vec!["adopted"], vec!["a".into(), "c".into()]));
        assert_eq!(stage.calls[1].1["input"], json!({"next_nodes": ["c"], "why": "so"}));
    }
}

#[test]
fn a_task_that_is_no_agent_patches_nothing() {
    let stage = stage(&chain(), script().with("a", [json!({"patch": insert_c()})]));
    assert_eq!((stage.patches().len(), stage.outcome().order.len()), (0, 2));
}

#[test]
fn an_agent_adds_at_most_five_agents_and_leaves_at_most_five() {
    let add = |count: usize| -> Value {
        let added = (0..count).map(|n| {
            json!({"op": "add", "path": "/nodes/-", "value": {"id": format!("x{n}"), "type": "agent",
            "dependencies": ["b"]}})
        });
        let linked = (0..count)
            .map(|n| json!({"op": "add", "path": "/nodes/1/dependents/-", "value": format!("x{n}")}));
        added.chain(linked).collect()
    };
    for (count, told) in [(4, "adopted"), (5, "excessive_agent_nodes"), (6, "excessive_agent_nodes")] {
        let stage = stage(&agent(json!({})), script().with("a", [json!({"patch": add(count)})]));
        assert_eq!((stage.patches(), stage.outcome().status), (vec![told], "completed"), "{count}");
        let sent = super::stage::stage(&agent(json!({})), script().patched(0, "agent:a", add(count)));
        assert_eq!(sent.patches(), [told]);
    }
    assert_eq!(stage(&agent(json!({})), script().patched(0, "user:ann", add(6))).patches(), ["adopted"]);
}

#[test]
fn an_agent_is_held_to_the_types_and_targets_it_may_use() {
    let types = agent(json!({"agent_config": {"allowed_types": ["http"]}}));
    assert_eq!(
        stage(&types, script().with("a", [json!({"patch": grow()})])).patches(),
        ["unauthorized_patch"]
    );
    let targets = agent(json!({"agent_config": {"allowed_targets": []}}));
    let back = json!([{"op": "add", "path": "/nodes/-", "value": {"id": "c", "type": "task", "dependents": ["b"]}},
        {"op": "add", "path": "/nodes/0/branch/available_next_nodes/-", "value": "c"}]);
    assert_eq!(
        stage(&targets, script().with("a", [json!({"patch": back})])).patches(),
        ["unauthorized_patch"]
    );
    assert_eq!(stage(&targets, script().with("a", [json!({"patch": grow()})])).patches(), ["adopted"]);
}

#[test]
fn where_the_node_wants_it_a_person_decides_about_the_patch_first() {
    let graph = agent(json!({"requires_approval": true, "agent_config": {"approvers": ["ann"]}}));
    let answer = json!({"next_nodes": ["c"], "patch": grow()});
    let waiting = play(&graph, script().with("a", [answer.clone()]));
    assert_eq!((waiting.status, waiting.counter, waiting.waiting), ("waiting", 1, vec!["a".to_owned()]));
    let asked = script().with("a", [answer]).decides("a", [json!({"decision": "approve", "by": "ann"})]);
    let stage = stage(&graph, asked);
    assert_eq!(
        (stage.patches(), stage.outcome().order),
        (vec!["adopted"], vec!["a".into(), "a".into(), "c".into()])
    );
    let refused = script()
        .with("a", [json!({"patch": grow()})])
        .decides("a", [json!({"decision": "reject", "by": "ann"})]);
    let stage = super::stage::stage(&graph, refused);
    assert_eq!((stage.patches(), stage.outcome().status), (vec!["patch_rejected"], "completed"));
}

#[test]
fn a_patched_run_takes_back_only_what_it_still_can() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b"], "compensator": {"action": "undo"}},
        {"id": "b", "type": "task", "dependents": []}]});
    let removal = json!([{"op": "remove", "path": "/nodes/0"}]);
    let mut stage = Stage::new(&graph, script().silent("b").patched(5, "user:ann", removal), Way::Reloaded);
    stage.play();
    assert_eq!(stage.patches(), ["live_node_removed"]);
}

#[test]
fn a_patch_an_agent_sends_by_itself_is_put_before_a_person_too() {
    let graph = json!({"nodes": [
        {"id": "g", "type": "agent", "agent_config": {"requires_approval": true, "approvers": ["ann"]}, "dependents": ["b"]},
        {"id": "b", "type": "task", "dependents": []}]});
    for (decision, patched) in [("approve", "adopted"), ("reject", "patch_rejected")] {
        let script = script().patched(0, "agent:g", insert_c());
        let decided = json!({"decision": decision, "by": "ann"});
        let stage = stage(&graph, script.clone().decides("g", [decided]));
        assert_eq!((stage.patches(), stage.outcome().status), (vec![patched], "completed"));
        let stage = super::stage::stage(&graph, script);
        assert!(stage.patches().is_empty());
        assert_eq!((stage.outcome().status, stage.outcome().waiting), ("waiting", vec!["g".to_owned()]));
        assert!(stage.state.awaiting.iter().any(|name| name.starts_with("@approval:")));
    }
}

#[test]
fn a_condition_that_is_another_one_since_is_asked_anew() {
    let ask = |says: &str| json!({"type": "python_sandbox", "code": format!("def evaluate(output, context):\n    return {says}\n")});
    let rule = |says: &str, to: &str| json!({"condition": ask(says), "next_nodes": [to]});
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "branch": {"rules": [rule("True", "x")], "default": ["x"]}},
        {"id": "x", "type": "task"}, {"id": "z", "type": "task", "dependencies": ["a"]}]});
    for way in WAYS {
        let mut stage = Stage::new(&graph, script().silent("rhythm.sandbox"), way);
        stage.play();
        let put = |path: &str, value: Value| payload(&json!([{"op": "add", "path": path, "value": value}]));
        let patch = |operations| MessageBody::Patch(Patched { operations, reason: "mend".into() });
        // The targets are not part of the question, so it is not asked again.
        stage.expect(0, MessageId::new("p1"), patch(put("/nodes/0/branch/rules/0/next_nodes", json!(["z"]))));
        stage.play();
        assert_eq!(stage.order, ["a", "rhythm.sandbox"]);
        stage.answers("rhythm.sandbox");
        stage.expect(0, MessageId::new("p2"), patch(put("/nodes/0/branch/rules/0", rule("False", "z"))));
        stage.play();
        assert_eq!(stage.patches(), ["adopted", "adopted"]);
        assert_eq!(stage.order[..4], ["a", "rhythm.sandbox", "rhythm.sandbox", "rhythm.sandbox"]);
        assert!(stage.calls[2].1["code"].as_str().unwrap().contains("False"), "{:?}", stage.calls);
    }
}

#[test]
fn the_answer_of_an_agent_waits_for_the_decision_about_what_it_sent_before() {
    let graph = json!({"nodes": [
        {"id": "g", "type": "agent", "requires_approval": true, "dependents": ["b"]},
        {"id": "b", "type": "task", "dependents": []}]});
    let script = script().with("g", [json!("plain")]).patched(0, "agent:g", insert_c());
    // Requesting an approval counts as an execution too.
    let undecided = stage(&graph, script.clone());
    assert_eq!(
        (undecided.outcome().order, undecided.outcome().counter),
        (vec!["g".to_owned(), "g".to_owned()], 1)
    );
    for (decision, order) in [("approve", vec!["g", "g", "b", "c"]), ("reject", vec!["g", "g", "b"])] {
        let decided = script.clone().decides("g", [json!({"decision": decision, "by": "ann", "after": 3})]);
        assert_eq!(play(&graph, decided).order, order, "{decision}");
    }
}
