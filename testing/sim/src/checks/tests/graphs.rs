//! Checkers of graphs: token moves, tasks asked for by nodes, and failures.

use rhythm_core::event::NodeToken;

use super::*;

#[test]
fn tokens_objects_to_what_is_emitted_consumed_or_counted_wrongly_and_to_an_end_with_some_left() {
    let moved = |token: u64, what: &str, counter: (u64, u64)| NodeToken {
        token,
        from: None,
        to: "a".into(),
        hop: 0,
        op_key: format!("{what}:{token}"),
        counter_before: counter.0,
        counter_after: counter.1,
        visit: None,
        command: None,
        payload: None,
    };
    let emit = |token, counter| EventData::NodeEmitted(moved(token, "emit", counter));
    let consume = |token, counter| EventData::NodeConsumed(moved(token, "consume", counter));
    let completed = || EventData::WorkflowCompleted(Completed { output: Payload::null() });
    let see = |rows: Vec<EventData>| {
        let mut check = tokens::Tokens::default();
        let events = rows.into_iter().zip(1..).map(|(data, seq)| event(seq, None, data)).collect();
        committed(&mut check, CommitItem { events, ..item("c1", 1) })
    };
    see(vec![emit(1, (0, 1)), emit(2, (1, 2)), consume(1, (2, 1)), consume(2, (1, 0)), completed()]).unwrap();
    see(vec![emit(1, (0, 1)), emit(1, (1, 2))]).unwrap_err();
    see(vec![consume(1, (1, 0))]).unwrap_err();
    // Not even when it was consumed before and the new row has another key.
    let again = EventData::NodeEmitted(moved(1, "again", (0, 1)));
    see(vec![emit(1, (0, 1)), consume(1, (1, 0)), again]).unwrap_err();
    see(vec![emit(1, (0, 1)), consume(1, (1, 0)), consume(1, (0, 0))]).unwrap_err();
    see(vec![emit(1, (0, 1)), emit(2, (1, 3))]).unwrap_err();
    see(vec![emit(1, (0, 1)), completed()]).unwrap_err();
}

#[test]
fn asked_and_causes_hold_a_graph_to_its_nodes() {
    let graph = r#"{"nodes": [{"id": "a", "type": "task", "config": {"task": "work", "ms": 5}},
        {"id": "d", "type": "delay", "config": {"for": "700ms"}}]}"#;
    let graph = || BTreeMap::from([("flow".to_owned(), Sketch::of(graph).unwrap())]);
    let asks = |name: &str, input: &str| {
        let mut check = asked::Asked::new(graph());
        see(&mut check, &Applied::CreateRuns(&created(), &[Creation::Created]), &Luck::default()).unwrap();
        runs_claimed(&mut check, 1, Vec::new()).unwrap();
        let mut item = with_task(TaskOptions::default());
        (item.tasks[0].name, item.tasks[0].input) = (name.into(), Payload::parse(input.to_owned()).unwrap());
        committed(&mut check, item)
    };
    asks("work", r#"{"config": {"task": "work", "ms": 5}, "input": 1}"#).unwrap();
    asks("work", r#"{"config": {"task": "work", "ms": 6}, "input": 1}"#).unwrap_err();
    asks("other", r#"{"config": {"task": "work", "ms": 5}, "input": 1}"#).unwrap_err();

    let fails = |message: &str, code: &str| {
        let told = TaskFailed { task: CommandId(1), failure: Failure::new("FLAKY", "no luck") };
        let failure = Failure::permanent(code, message);
        let mut scene = Scene::new(Status::Failed);
        let failed =
            Event { cause: Some(1), ..event(3, None, EventData::WorkflowFailed(Failed { failure })) };
        scene.history = vec![started(), event(2, None, EventData::StepFailed(told)), failed];
        causes::Causes::new(graph()).ended(&scene.view())
    };
    fails("FLAKY: no luck; still to be undone: a", "node_failed:a").unwrap();
    fails("DOOMED: never", "node_failed:a").unwrap_err();
    fails("FLAKY: no luck", "exceeded_max_hops").unwrap_err();
}
