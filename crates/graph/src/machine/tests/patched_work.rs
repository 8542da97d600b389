//! Patches that meet work under way: joins with tokens, approvals, many tasks at once, loops. A forbidden
//! change is refused with the code for its reason.

use serde_json::{Value, json};

use super::stage::{Stage, Way, play, script, stage};

fn set(path: &str, value: Value) -> Value {
    json!({"op": "add", "path": path, "value": value})
}

fn remove(place: usize) -> Value {
    json!({"op": "remove", "path": format!("/nodes/{place}")})
}

/// After five seconds the token of b waits at d. w is under way, c is not.
fn diamond() -> Value {
    json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "w"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "w", "type": "delay", "config": {"for": "10s"}, "dependents": ["c"]},
        {"id": "c", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]})
}

#[test]
fn a_join_with_tokens_is_a_live_node_and_one_that_is_cut_off_is_unreachable() {
    let none = || json!([]);
    for (what, operations, told) in [
        (
            "the join",
            vec![set("/nodes/1/dependents", none()), set("/nodes/3/dependents", none()), remove(4)],
            "live_node_removed",
        ),
        (
            "who is on the way to it",
            vec![set("/nodes/0/dependents", json!(["b"])), remove(2)],
            "live_node_removed",
        ),
        ("the edge to who is waited for", vec![set("/nodes/2/dependents", json!(["d"]))], "join_unreachable"),
        (
            "the edge of who has sent",
            vec![set("/nodes/4/dependencies", json!(["c"])), set("/nodes/1/dependents", none())],
            "join_unreachable",
        ),
        ("its waiting", vec![set("/nodes/4/wait_for_all", json!(false))], "join_unreachable"),
        (
            "who is waited for, and the waiting for it",
            vec![
                set("/nodes/4/dependencies", json!(["b"])),
                set("/nodes/4/wait_for_all", json!(true)),
                set("/nodes/2/dependents", none()),
                remove(3),
            ],
            "adopted",
        ),
        (
            "who has sent and has ended",
            vec![
                set("/nodes/0/dependents", json!(["w"])),
                set("/nodes/4/dependencies", json!(["c"])),
                set("/nodes/4/wait_for_all", json!(true)),
                remove(1),
            ],
            "join_unreachable",
        ),
    ] {
        let stage = stage(&diamond(), script().patched(5, "user:ann", json!(operations)));
        assert_eq!(stage.patches(), [told], "{what}");
        assert_eq!(stage.outcome().status, "completed", "{what}");
    }
}

/// Without waiting for any answer, the loop runs for more nodes than one step may begin.
#[test]
fn a_node_whose_token_is_in_the_queue_between_two_steps_is_live() {
    let graph = json!({"limits": {"max_hops": 5000}, "nodes": [
        {"id": "a", "type": "loop", "loop": {"max_iterations": 1200, "timeout_path": ["b"]}},
        {"id": "b", "type": "delay", "config": {"for": 0}}]});
    let gone = json!([remove(0)]);
    let mut stage = Stage::new(&graph, script().patched(0, "user:ann", gone), Way::Reloaded);
    stage.deliver(0);
    assert_eq!(stage.outcome().waiting.len(), 0, "only the queue has tokens");
    stage.play();
    assert_eq!((stage.patches(), stage.outcome().status), (vec!["live_node_removed"], "completed"));
}

fn asking() -> Value {
    json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["m"]},
        {"id": "m", "type": "human", "dependents": ["yes"], "rejection_path": ["no"]},
        {"id": "yes", "type": "task"}, {"id": "no", "type": "task"}, {"id": "new", "type": "task", "dependencies": ["yes"]}]})
}

#[test]
fn a_decision_goes_where_the_graph_of_now_leads() {
    for (decision, path, last) in
        [("approve", "/nodes/1/dependents", "no"), ("reject", "/nodes/1/rejection_path", "new")]
    {
        let decided = json!({"decision": decision, "by": "ann", "after": 60});
        let patch = json!([set(path, json!([last]))]);
        let stage = stage(&asking(), script().decides("m", [decided]).patched(5, "user:ann", patch));
        assert_eq!(stage.patches(), ["adopted"]);
        assert_eq!(stage.outcome().order, ["a", "m", last]);
    }
}

#[test]
fn a_question_nobody_has_decided_is_live_though_it_has_no_token() {
    let gone = json!([set("/nodes/0/dependents", json!(["yes", "no"])), remove(1)]);
    let decided = json!({"decision": "approve", "by": "ann", "after": 60});
    let stage = stage(&asking(), script().decides("m", [decided]).patched(5, "user:ann", gone));
    assert_eq!((stage.patches(), stage.outcome().status), (vec!["live_node_removed"], "completed"));
}

#[test]
fn a_join_that_waits_for_a_decision_keeps_it_within_reach() {
    let graph = json!({"nodes": [
        {"id": "a", "type": "task", "dependents": ["b", "m"]}, {"id": "b", "type": "task", "dependents": ["d"]},
        {"id": "m", "type": "human", "dependents": ["c"]}, {"id": "c", "type": "task", "dependents": ["d"]},
        {"id": "d", "type": "task", "dependencies": ["b", "c"]}]});
    let decided = json!({"decision": "approve", "by": "ann", "after": 60});
    let cut = json!([set("/nodes/2/dependents", json!(["d"]))]);
    let stage = stage(&graph, script().decides("m", [decided]).patched(5, "user:ann", cut));
    assert_eq!(
        (stage.patches(), stage.outcome().order.last().unwrap().as_str()),
        (vec!["join_unreachable"], "d")
    );
}

fn parallel() -> Value {
    json!({"nodes": [
        {"id": "p", "type": "parallel", "dependents": ["b"],
            "config": {"items": [1, 2, 3, 4], "task": "old", "concurrency": 2}},
        {"id": "b", "type": "task", "dependents": []}, {"id": "c", "type": "task", "dependencies": ["b"]}]})
}

#[test]
fn items_under_way_and_those_after_them_keep_the_config_their_node_began_with() {
    let patch = json!([
        set("/nodes/0/config/task", json!("new")),
        set("/nodes/0/config/items", json!([9])),
        set("/nodes/0/config/concurrency", json!(1)),
        set("/nodes/0/dependents", json!(["c"]))
    ]);
    let stage =
        stage(&parallel(), script().with("p", [1, 2, 3, 4].map(Value::from)).patched(0, "user:ann", patch));
    assert_eq!(stage.patches(), ["adopted"]);
    let items: Vec<(&str, &Value)> =
        stage.calls.iter().map(|(task, call)| (task.as_str(), &call["input"])).collect();
    let all = json!([1, 2, 3, 4]);
    let each = |place: usize| ("old", &all[place]);
    assert_eq!(
        items,
        [each(0), each(1), each(2), each(3), ("c", &json!({"p": all}))],
        "it leads where the graph of now leads"
    );
}

#[test]
fn a_node_whose_items_are_under_way_is_live() {
    let gone = json!([set("/nodes/1/dependencies", json!([])), remove(0)]);
    let stage = stage(&parallel(), script().patched(0, "user:ann", gone));
    assert_eq!((stage.patches(), stage.outcome().order.len()), (vec!["live_node_removed"], 5));
}

fn looping(waits: &str) -> Value {
    json!({"nodes": [
        {"id": "a", "type": "delay", "config": {"for": waits}, "dependents": ["l"]},
        {"id": "l", "type": "task", "dependents": ["b"], "loop": {"max_iterations": 9, "loop_back_to": "a", "timeout_path": ["t"]}},
        {"id": "b", "type": "task", "dependents": []}, {"id": "t", "type": "task"}]})
}

#[test]
fn a_loop_that_may_have_fewer_passes_than_it_has_had_is_left_after_the_next() {
    let fewer = json!([set("/nodes/1/loop/max_iterations", json!(2))]);
    // Three passes have been made by then.
    let outcome = play(&looping("10s"), script().patched(35, "user:ann", fewer));
    assert_eq!((outcome.order, outcome.elapsed), (["l", "l", "l", "l", "t"].map(str::to_owned).to_vec(), 40));
}

#[test]
fn a_node_that_is_no_loop_any_more_goes_on_and_counts_from_one_when_it_is_one_again() {
    let gone = json!([{"op": "remove", "path": "/nodes/1/loop"}]);
    let outcome = play(&looping("10s"), script().patched(35, "user:ann", gone.clone()));
    assert_eq!((outcome.order, outcome.elapsed), (["l", "l", "l", "l", "b"].map(str::to_owned).to_vec(), 40));
}
