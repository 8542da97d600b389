//! Runs from start to end on the reference world, one process driven by hand.

mod rig;

use rhythm_core::{BlobRef, BlockedCode, CommandId, EventData, Millis, Payload, RunId, Status, WorkflowKind};
use rhythm_engine::client::{Decide, Decision, RetryRun, StartRun};
use rhythm_engine::error::EngineError;
use rhythm_engine::explain::explain;
use rhythm_engine::world::{Control, Controlled, DeadQuery, RunQuery, Upkeep, World};
use serde_json::json;

use rig::{Rig, failing, permanent, task};

#[tokio::test]
async fn sequential_tasks_run_in_order_and_their_outputs_are_kept() {
    let rig = Rig::new();
    let mut count = 0;
    rig.stage.on("a", move |_, _| {
        count += 1;
        Ok(json!(count))
    });
    let run = rig.start(json!({"steps": [{"repeat": {"times": 5, "task": task("a")}}]})).await;
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([1, 2, 3, 4, 5]));
    // One commit for the start and one, fused, for each result.
    assert_eq!(rig.picture(&run).await.summary.revision, 6);
}

#[tokio::test]
async fn parallel_tasks_join() {
    let rig = Rig::new();
    let run = rig
        .start(json!({"steps": [{"parallel": [
            {"name": "a", "input": 1}, {"name": "b", "input": 2}, {"name": "c", "input": 3},
        ]}]}))
        .await;
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([[1, 2, 3]]));
}

#[tokio::test]
async fn hundreds_of_results_in_many_workers_join_once() {
    let rig = Rig::new();
    let other = rig.another("w2", |config| config);
    let calls: Vec<_> = (0..300).map(|n| json!({"name": "a", "input": n})).collect();
    let run = rig.start(json!({"steps": [{"parallel": calls}]})).await;
    for _ in 0..200 {
        rig.one.round().await;
        other.round().await;
    }
    let output = rig.output(&run).await;
    assert_eq!(output[0].as_array().unwrap().len(), 300);
    assert_eq!(rig.stage.calls().len(), 300);
}

#[tokio::test]
async fn a_failed_attempt_is_retried_after_its_delay_and_listed() {
    let rig = Rig::new();
    let mut tries = 0;
    rig.stage.on("a", move |context, _| {
        tries += 1;
        assert_eq!(context.attempt(), tries);
        if tries < 3 { failing("LUCK")(context, json!(null)) } else { Ok(json!("done")) }
    });
    let run = rig.start(json!({"steps": [{"task": task("a")}]})).await;
    rig.settle().await;
    assert_eq!(rig.stage.calls().len(), 1);
    rig.run_for(Millis(500)).await;
    assert_eq!(rig.stage.calls().len(), 1, "the first delay is about a second");
    rig.run_for(Millis(10_000)).await;
    assert_eq!(rig.output(&run).await, json!(["done"]));
    let attempts = rig.client.world().attempts(rig.client.tenant(), &run).await.unwrap();
    assert_eq!(attempts.iter().map(|row| row.attempt).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_task_out_of_attempts_fails_the_run_and_requeueing_it_opens_the_run_again() {
    let rig = Rig::new();
    rig.stage.on("b", failing("DOWN"));
    let run =
        rig.start(json!({"steps": [{"task": task("a")}, {"task": task("b")}, {"task": task("c")}]})).await;
    rig.run_for(Millis(20_000)).await;
    assert_eq!(rig.failure(&run).await, "DOWN");
    assert_eq!(rig.stage.calls(), ["a", "b", "b", "b"]);
    let query = DeadQuery { tenant: rig.client.tenant().clone(), limit: 10, ..DeadQuery::default() };
    let dead = rig.client.world().list_dead(query.clone()).await.unwrap().rows;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].failure.code, "DOWN");
    rig.stage.on("b", |_, _| Ok(json!("up")));
    rig.client.requeue_dead(&dead[0].task).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([null, "up", null]));
    assert!(rig.client.world().list_dead(query).await.unwrap().rows.is_empty());
    assert!(rig.kinds(&run).await.contains(&"reopened".to_owned()));
}

/// Numbers used by a failing transition are not used again when the run is reopened.
#[tokio::test]
async fn what_a_failing_run_asked_for_is_done_and_not_mixed_up_with_its_next_life() {
    let rig = Rig::new();
    let steps = json!([{"spawn": task("a")}, {"log": "x"}, {"fail": {"code": "OH", "message": "no"}}]);
    let run = rig.start(json!({"steps": steps})).await;
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "OH");
    assert_eq!(rig.stage.calls(), ["a"]);
    assert_eq!(rig.kinds(&run).await, ["workflow_started", "log", "step_scheduled", "workflow_failed"]);
    rig.client.retry_run(&run, "once more").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.stage.calls(), ["a", "a"]);
    let history = rig.client.history(&run).await.unwrap();
    let asked = history.iter().filter_map(|event| match &event.data {
        EventData::StepScheduled(step) => Some(step.task.0),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>(), [1, 2]);
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_held_task_blocks_its_run_until_it_is_requeued_or_discarded() {
    for discard in [false, true] {
        let rig = Rig::new();
        rig.stage.on("b", permanent("DOWN"));
        let run =
            rig.start(json!({"steps": [{"task": {"name": "b", "options": {"on_exhausted": "hold"}}}]})).await;
        rig.settle().await;
        let blocked = rig.picture(&run).await.summary.blocked.unwrap();
        assert_eq!(blocked.code, BlockedCode::DeadLetter);
        let why = explain(&rig.client, &run).await.unwrap();
        let said: Vec<_> = why.reasons.iter().map(|reason| reason.code).collect();
        assert_eq!(said, ["dead_letter"], "told once");
        assert!(why.summary.contains("out of attempts and held, after DOWN"), "{}", why.summary);
        assert_eq!(why.reasons[0].command, Some(format!("rhythm dead requeue {}", run.task(CommandId(1)))));
        rig.stage.on("b", |_, _| Ok(json!("up")));
        let task = run.task(CommandId(1));
        if discard {
            rig.client.discard_dead(&task).await.unwrap();
            rig.settle().await;
            assert_eq!(rig.failure(&run).await, "DOWN");
        } else {
            rig.client.requeue_dead(&task).await.unwrap();
            rig.settle().await;
            assert_eq!(rig.output(&run).await, json!(["up"]));
        }
    }
}

#[tokio::test]
async fn timers_wake_runs_up_and_are_never_early() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"sleep": "10s"}, {"keep": "awake"}]})).await;
    rig.run_for(Millis(9_999)).await;
    assert_eq!(rig.status(&run).await, Status::Waiting);
    rig.run_for(Millis(1)).await;
    assert_eq!(rig.output(&run).await, json!(["awake"]));
}

#[tokio::test]
async fn a_storm_is_taken_by_short_lines_and_by_long_ones_when_it_is_late() {
    let rig = Rig::new();
    let line = rig.memory.timer_batch_size();
    rig.register("main", json!({"steps": [{"sleep": "10s"}]})).await;
    for _ in 0..3 * line {
        rig.start_named("main").await;
    }
    rig.settle().await;
    rig.pass(Millis::from_secs(10));
    let sweep = async || (rig.one.upkeep.tick(false).await.unwrap().more, rig.one.engine.tick().await.runs);
    assert_eq!(sweep().await, (true, line), "others get their turn");
    rig.pass(Millis::from_secs(27));
    assert_eq!(sweep().await, (true, line));
    rig.pass(Millis::from_secs(2));
    rig.start_named("main").await;
    assert_eq!(sweep().await, (false, line + 1), "it has waited long enough");
}

#[tokio::test]
async fn what_a_sweep_leaves_of_a_storm_is_woken_up_line_by_line() {
    let rig = Rig::new();
    let line = rig.memory.timer_batch_size();
    rig.register("main", json!({"steps": [{"sleep": "10s"}]})).await;
    let mut runs = Vec::new();
    for _ in 0..3 * line {
        runs.push(rig.start_named("main").await);
    }
    rig.settle().await;
    rig.pass(Millis::from_secs(10));
    assert!(rig.one.upkeep.tick(false).await.unwrap().more);
    let wake = async |skip| {
        let woken = rig.one.engine.wake(skip, rig.one.upkeep.line()).await;
        (woken.runs, woken.stale, woken.error)
    };
    assert_eq!(wake(line - 1).await, (line, 0, None), "behind those somebody else is busy with");
    assert_eq!(rig.one.engine.tick().await.runs, line, "those the sweep had made ready");
    assert!(rig.one.upkeep.tick(true).await.unwrap().more, "more than one is due");
    assert_eq!(rig.one.engine.tick().await.runs, 1, "a sweep beside it leaves the others to it");
    assert_eq!(wake(0).await, (line - 1, 0, None));
    assert_eq!(wake(0).await, (0, 0, None));
    assert!(!rig.one.upkeep.tick(true).await.unwrap().more);
    for run in &runs {
        assert_eq!(rig.output(run).await, json!([]));
    }
}

#[tokio::test]
async fn signals_wait_until_asked_for_and_come_in_order() {
    let rig = Rig::new();
    let run = rig
        .start(
            json!({"steps": [{"task": task("a")}, {"signal": {"name": "go"}}, {"signal": {"name": "go"}}]}),
        )
        .await;
    for n in 0..3 {
        rig.client.signal(&run, "go", Payload::of(&n).unwrap(), None).await.unwrap();
    }
    rig.client.signal(&run, "other", Payload::null(), None).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([null, 0, 1]));
}

#[tokio::test]
async fn a_signal_sent_after_a_fused_commit_asked_for_it_early_is_found() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"task": task("a")}, {"signal": {"name": "go"}}]})).await;
    // The signal is in the inbox before the run awaits it in a fused commit, which does not read the inbox.
    let client = rig.client.clone();
    let target = run.clone();
    rig.stage.on("a", move |_, _| {
        let (client, target) = (client.clone(), target.clone());
        futures_util::FutureExt::now_or_never(async move {
            client.signal(&target, "go", Payload::of("early").unwrap(), None).await.unwrap();
        })
        .unwrap();
        Ok(json!("a"))
    });
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!(["a", "early"]));
}

#[tokio::test]
async fn a_repeated_signal_id_is_one_signal() {
    let rig = Rig::new();
    let run = rig
        .start(json!({"steps": [{"signal": {"name": "go"}}, {"signal": {"name": "go", "timeout": "1s"}}]}))
        .await;
    for _ in 0..2 {
        rig.client.signal(&run, "go", Payload::of("x").unwrap(), Some("once".into())).await.unwrap();
        rig.settle().await;
    }
    rig.run_for(Millis(2_000)).await;
    assert_eq!(rig.output(&run).await, json!(["x", null]));
}

#[tokio::test]
async fn runs_signal_runs_in_the_same_commit() {
    let rig = Rig::new();
    rig.register("child", json!({"steps": [{"send": {"to": "$parent", "name": "hi", "payload": 7}}]})).await;
    let run =
        rig.start(json!({"steps": [{"child": {"workflow": "child"}}, {"signal": {"name": "hi"}}]})).await;
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([[], 7]));
}

#[tokio::test]
async fn children_answer_and_their_failure_fails_the_parent_and_both_open_again() {
    let rig = Rig::new();
    rig.stage.on("b", permanent("DOWN"));
    rig.register("child", json!({"steps": [{"task": task("b")}]})).await;
    let run = rig.start(json!({"steps": [{"task": task("a")}, {"child": {"workflow": "child"}}]})).await;
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "DOWN");
    rig.stage.on("b", |_, _| Ok(json!("up")));
    rig.client.retry_run(&run, "mended").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([null, ["up"]]));
}

#[tokio::test]
async fn a_child_of_an_unknown_workflow_fails_with_a_clear_code() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"child": {"workflow": "nobody"}}]})).await;
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "UNKNOWN_WORKFLOW");
}

#[tokio::test]
async fn children_nest_only_so_deep() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"child": {"workflow": "main"}}]})).await;
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "LIMIT_EXCEEDED");
    let query = RunQuery { tenant: rig.client.tenant().clone(), limit: 100, ..RunQuery::default() };
    assert_eq!(rig.client.world().list_runs(query).await.unwrap().rows.len(), 21);
}

#[tokio::test]
async fn cancelling_a_run_cancels_its_tasks_and_children_and_lets_it_clean_up() {
    let rig = Rig::new();
    rig.register("child", json!({"steps": [{"sleep": "1h"}]})).await;
    let run = rig
        .start(json!({
            "steps": [{"spawn": {"name": "a", "options": {"delay": "1h"}}}, {"child": {"workflow": "child"}}],
            "cleanup": [{"task": task("undo")}],
        }))
        .await;
    rig.settle().await;
    rig.client.cancel(&run, "changed my mind").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Cancelled);
    assert_eq!(rig.stage.calls(), ["undo"]);
    let child = run.child(CommandId(2));
    assert_eq!(rig.status(&child).await, Status::Cancelled);
    assert!(rig.picture(&run).await.tasks.is_empty());
    rig.verify(&run).await;
    rig.verify(&child).await;
}

#[tokio::test]
async fn a_run_cancelled_before_it_starts_never_starts() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"task": task("a")}]})).await;
    rig.client.cancel(&run, "no").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Cancelled);
    assert!(rig.stage.calls().is_empty());
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_deadline_fails_the_run() {
    let rig = Rig::new();
    rig.register("main", json!({"steps": [{"sleep": "1h"}]})).await;
    let start = StartRun { workflow: "main".into(), deadline: Some(Millis(5_000)), ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.run_for(Millis(6_000)).await;
    assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
}

#[tokio::test]
async fn a_delayed_start_waits_and_says_so() {
    let rig = Rig::new();
    rig.register("main", json!({"steps": [{"keep": 1}]})).await;
    let start = StartRun { workflow: "main".into(), delay: Millis(5_000), ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.run_for(Millis(4_000)).await;
    assert_eq!(rig.status(&run).await, Status::Pending);
    assert_eq!(explain(&rig.client, &run).await.unwrap().reasons[0].code, "delayed_start");
    rig.run_for(Millis(1_000)).await;
    assert_eq!(rig.output(&run).await, json!([1]));
}

#[tokio::test]
async fn a_paused_run_stands_still_and_goes_on_where_it_was() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"sleep": "1s"}, {"task": task("a")}]})).await;
    rig.settle().await;
    let pause = Control::PauseRun { run: run.clone(), reason: "lunch".into() };
    assert_eq!(rig.client.control(pause.clone()).await.unwrap(), Controlled::Done);
    assert_eq!(rig.client.control(pause).await.unwrap(), Controlled::Unchanged);
    rig.run_for(Millis(5_000)).await;
    assert!(rig.stage.calls().is_empty());
    assert_eq!(explain(&rig.client, &run).await.unwrap().reasons[0].code, "paused");
    rig.client.control(Control::ResumeRun { run: run.clone(), reason: String::new() }).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([null]));
}

#[tokio::test]
async fn paused_workflows_and_queues_hold_work_back() {
    let rig = Rig::new();
    rig.client.control(Control::PauseWorkflow { workflow: "main".into() }).await.unwrap();
    let run = rig.start(json!({"steps": [{"task": task("a")}]})).await;
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Pending);
    assert_eq!(explain(&rig.client, &run).await.unwrap().reasons[0].code, "workflow_paused");
    rig.client.control(Control::PauseQueue { queue: "default".into() }).await.unwrap();
    rig.client.control(Control::ResumeWorkflow { workflow: "main".into() }).await.unwrap();
    rig.settle().await;
    assert!(rig.stage.calls().is_empty());
    assert_eq!(explain(&rig.client, &run).await.unwrap().reasons[0].code, "queue_paused");
    rig.client.control(Control::ResumeQueue { queue: "default".into() }).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([null]));
}

#[tokio::test]
async fn an_approval_is_decided_once() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"approve": {"node": "boss"}}, {"sleep": 1}]})).await;
    rig.settle().await;
    assert_eq!(explain(&rig.client, &run).await.unwrap().reasons[0].code, "approval");
    let decide = |decision| Decide::new(run.clone(), CommandId(1), decision);
    rig.client.decide(&decide(Decision::Approve)).await.unwrap();
    rig.client.decide(&decide(Decision::Approve)).await.unwrap();
    let refused = rig.client.decide(&decide(Decision::Reject)).await.unwrap_err();
    assert_eq!(refused.code(), "APPROVAL002");
    rig.run_for(Millis(2_000)).await;
    assert_eq!(rig.output(&run).await, json!(["approve"]));
}

#[tokio::test]
async fn the_same_key_starts_one_run_and_other_input_is_a_conflict() {
    let rig = Rig::new();
    rig.register("main", json!({"steps": ["measure_input"]})).await;
    let start = |input: i32| StartRun {
        workflow: "main".into(),
        key: Some("order-1".into()),
        input: Payload::of(&input).unwrap(),
        ..StartRun::default()
    };
    let first = rig.client.start_run(start(1)).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.client.start_run(start(1)).await.unwrap(), first);
    assert!(matches!(rig.client.start_run(start(2)).await, Err(EngineError::KeyConflict(_))));
}

#[tokio::test]
async fn large_inputs_and_outputs_travel_as_blobs() {
    let rig = Rig::new();
    rig.stage.on("a", |_, input| Ok(json!(input.as_str().unwrap().len())));
    rig.stage.on("b", |_, _| Ok(json!("y".repeat(200_000))));
    let large = "x".repeat(100_000);
    rig.register("main", json!({"steps": [
        "measure_input", {"task": {"name": "a", "input": large}}, {"spawn": task("b")}, {"task": task("b")},
    ]}))
    .await;
    let input = Payload::of(&large).unwrap();
    let start = StartRun { workflow: "main".into(), input, ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.settle().await;
    let output = rig.output(&run).await;
    assert_eq!(output[0], 100_002);
    assert_eq!(output[1], 100_000);
    assert!(output[2].as_str().unwrap().starts_with("sha256:"));
}

#[tokio::test]
async fn a_run_that_cannot_be_stepped_is_set_aside_and_others_go_on() {
    let rig = Rig::new();
    let bad = rig.start(json!({"steps": [{"task": task("a")}], "no_such_field": 1})).await;
    let good = {
        rig.register("good", json!({"steps": [{"keep": 1}]})).await;
        rig.start_named("good").await
    };
    rig.settle().await;
    assert_eq!(rig.output(&good).await, json!([1]));
    let why = explain(&rig.client, &bad).await.unwrap();
    assert_eq!(why.reasons[0].code, "no_version");
    rig.run_for(Millis(60_000)).await;
    assert_eq!(rig.kinds(&bad).await, ["warning"], "said once, however often it is offered");
}

#[tokio::test]
async fn a_stuck_run_is_found_named_and_reported_once() {
    let rig = Rig::new();
    // A drill that waits for a task that was discarded: nothing open is left.
    rig.stage.on("b", permanent("DOWN"));
    let run =
        rig.start(json!({"steps": [{"task": {"name": "b", "options": {"on_exhausted": "hold"}}}]})).await;
    rig.settle().await;
    let discard = Control::DiscardDead { task: run.task(CommandId(1)), message: None };
    rig.client.control(discard).await.unwrap();
    rig.run_for(Millis::from_secs(15 * 60)).await;
    assert_eq!(explain(&rig.client, &run).await.unwrap().reasons[0].code, "stuck");
    let warnings = rig.kinds(&run).await.iter().filter(|kind| *kind == "warning").count();
    assert_eq!(warnings, 1);
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_run_whose_input_is_lost_is_set_aside_alone_and_can_be_ended() {
    let rig = Rig::new();
    rig.register("main", json!({"steps": ["measure_input"]})).await;
    let lost = Payload::Blob(BlobRef::of(b"nobody stored this"));
    let start = StartRun { workflow: "main".into(), input: lost, ..StartRun::default() };
    let bad = rig.client.start_run(start).await.unwrap();
    rig.register("good", json!({"steps": [{"keep": 1}]})).await;
    let good = rig.start_named("good").await;
    rig.settle().await;
    assert_eq!(rig.output(&good).await, json!([1]));
    let blocked = rig.picture(&bad).await.summary.blocked.unwrap();
    assert_eq!(blocked.code, BlockedCode::Quarantined);
    rig.client.cancel(&bad, "not worth mending").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&bad).await, Status::Cancelled);
}

/// Both for a step that reads the value and for one that only passes it on.
#[tokio::test]
async fn a_run_whose_lost_value_is_stored_again_goes_on_when_it_is_retried() {
    let rig = Rig::new();
    rig.register("looks", json!({"steps": ["measure_input"]})).await;
    rig.register("passes", json!({"steps": [{"keep": 1}]})).await;
    for (workflow, output) in [("looks", json!([70_002])), ("passes", json!([1]))] {
        let content = format!("\"{}\"", workflow[..1].repeat(70_000));
        let lost = BlobRef::of(content.as_bytes());
        let input = Payload::Blob(lost.clone());
        let start = StartRun { workflow: workflow.into(), input, ..StartRun::default() };
        let run = rig.client.start_run(start).await.unwrap();
        rig.settle().await;
        for _ in 0..2 {
            let blocked = rig.picture(&run).await.summary.blocked.expect("it cannot go on");
            assert_eq!(blocked.code, BlockedCode::Quarantined);
            assert_eq!(blocked.detail, format!("blob {} was not found", lost.hash));
            rig.client.retry_run(&run, "perhaps now").await.unwrap();
            rig.settle().await;
        }
        rig.client.world().put_blob(rig.client.tenant(), &lost, content.as_bytes()).await.unwrap();
        rig.client.retry_run(&run, "it is back").await.unwrap();
        rig.settle().await;
        assert_eq!(rig.output(&run).await, output);
        rig.verify(&run).await;
    }
}

#[tokio::test]
async fn a_run_that_lacks_a_value_can_be_ended() {
    let rig = Rig::new();
    let steps = json!({"steps": [{"signal": {"name": "go"}}, {"task": task("a")}]});
    let run = rig.start(steps).await;
    rig.settle().await;
    let lost = Payload::Blob(BlobRef::of(b"nobody stored this"));
    rig.client.signal(&run, "go", lost, None).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.picture(&run).await.summary.blocked.unwrap().code, BlockedCode::Quarantined);
    rig.client.cancel(&run, "not worth it").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Cancelled);
    assert_eq!(rig.stage.calls(), Vec::<String>::new());
    rig.verify(&run).await;
}

/// The flow would catch the cancel, which its history does not tell: it could not be asked.
#[tokio::test]
async fn the_history_of_a_flow_that_ended_without_its_program_says_so_and_is_verified() {
    let rig = Rig::new();
    let source = "try { let got = await Signal.next(\"go\")\nif (got.n > 1) { await Task.run(\"a\", 1) } } catch (e) { await Task.run(\"undo\", 2) }";
    rig.client.register("careful", WorkflowKind::Flow, source).await.unwrap();
    let start = StartRun { workflow: "careful".into(), ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.settle().await;
    let lost = BlobRef::of(b"nobody stored this");
    rig.client.signal(&run, "go", Payload::Blob(lost.clone()), None).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.picture(&run).await.summary.blocked.unwrap().code, BlockedCode::Quarantined);
    rig.client.cancel(&run, "not worth it").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Cancelled);
    assert_eq!(rig.stage.calls(), Vec::<String>::new());
    let history = rig.client.history(&run).await.unwrap();
    let why: Vec<&str> = history.iter().filter_map(|event| event.why_without_program()).collect();
    assert_eq!(why, [format!("blob {} was not found", lost.hash)]);
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_large_signal_travels_as_a_blob() {
    let rig = Rig::new();
    let large = "s".repeat(100_000);
    rig.register("child", json!({"steps": [{"send": {"to": "$parent", "name": "hi", "payload": large}}]}))
        .await;
    let run =
        rig.start(json!({"steps": [{"child": {"workflow": "child"}}, {"signal": {"name": "hi"}}]})).await;
    rig.settle().await;
    let history = rig.client.history(&run).await.unwrap();
    let received = history.iter().find_map(|event| match &event.data {
        EventData::SignalReceived(signal) => Some(&signal.payload),
        _ => None,
    });
    assert!(matches!(received, Some(Payload::Blob(blob)) if blob.bytes == 100_002), "it stayed inline");
    rig.verify(&run).await;
}

#[tokio::test]
async fn a_child_that_could_not_start_is_started_when_its_parent_is_retried() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"child": {"workflow": "late"}}]})).await;
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "UNKNOWN_WORKFLOW");
    rig.client.retry_run(&run, "still nobody").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "UNKNOWN_WORKFLOW");
    rig.register("late", json!({"steps": [{"keep": "here"}]})).await;
    rig.client.retry_run(&run, "registered").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([["here"]]));
}

/// Starts a flow with a deadline of one second.
async fn hurried(rig: &Rig, source: &str) -> RunId {
    rig.client.register("hurried", WorkflowKind::Flow, source).await.unwrap();
    let start = StartRun { workflow: "hurried".into(), deadline: Some(Millis(1_000)), ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.run_for(Millis(1_500)).await;
    run
}

const RESERVED: &str = r#"
    let seat = await Task.run("a", { seat: 12 })
    try {
      await Task.run("slow", {}, { queue: "nobody" })
    } catch (e) {
      if (e.code == "DEADLINE_EXCEEDED") { await Task.run("undo", seat, { queue: inputs.queue }) }
      return "never mind"
    }"#;

#[tokio::test]
async fn a_flow_past_its_deadline_takes_back_what_it_did_and_fails() {
    let rig = Rig::new();
    let run = hurried(&rig, &RESERVED.replace("{ queue: inputs.queue }", "{}")).await;
    assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
    assert_eq!(rig.stage.calls(), ["a", "undo"]);
    assert!(rig.picture(&run).await.tasks.is_empty(), "what was under way is stopped");
    let refused = rig.client.retry_run(&run, "again").await;
    assert!(matches!(refused, Err(EngineError::PastDeadline(_))), "{refused:?}");
    assert_eq!(explain(&rig.client, &run).await.unwrap().reasons[0].command, None);
}

#[tokio::test]
async fn clean_up_after_a_deadline_ends_with_its_grace_and_stops_what_is_open() {
    let rig = Rig::new();
    let source = format!("```\ncleanup_grace: 5s\n```\n{}", RESERVED.replace("inputs.queue", "\"nobody\""));
    let run = hurried(&rig, &source).await;
    let reason = &explain(&rig.client, &run).await.unwrap().reasons[0];
    assert_eq!(reason.code, "cleaning_up");
    assert!(
        reason.what.starts_with("its deadline has passed and it may clean up until 1970-"),
        "{}",
        reason.what
    );
    rig.client.cancel(&run, "enough").await.unwrap();
    rig.run_for(Millis(4_000)).await;
    assert_eq!(rig.status(&run).await, Status::Waiting, "one cancel changes nothing");
    rig.run_for(Millis(1_500)).await;
    assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
    assert!(rig.picture(&run).await.tasks.is_empty(), "the compensation that nobody does is stopped, too");
}

#[tokio::test]
async fn a_second_cancel_ends_clean_up_after_a_deadline() {
    let rig = Rig::new();
    let run = hurried(&rig, &RESERVED.replace("inputs.queue", "\"nobody\"")).await;
    for reason in ["once", "twice"] {
        assert_eq!(rig.status(&run).await, Status::Waiting);
        rig.client.cancel(&run, reason).await.unwrap();
        rig.settle().await;
    }
    assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
    assert!(rig.picture(&run).await.tasks.is_empty());
}

#[tokio::test]
async fn a_run_past_its_deadline_is_opened_again_with_another_and_begins_its_tasks_anew() {
    let rig = Rig::new();
    let calls = rig.stage.calls.clone();
    rig.stage.on("b", move |context, _| match context.attempt() {
        1 if calls.lock().unwrap().len() < 2 => Err(failing_twice()),
        _ => Ok(json!("done")),
    });
    let source = r#"
        let both = Promise.all([Task.run("b", {}, { retries: { initial_delay: "1h" } }), Signal.next("go")])
        return await both"#;
    let run = hurried(&rig, source).await;
    assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
    let reason = &explain(&rig.client, &run).await.unwrap().reasons[0];
    assert_eq!(reason.command, Some(format!("rhythm runs retry {run} --deadline 1h")));
    let wish = RetryRun { reason: "more time".into(), deadline: Some(Millis(60_000)) };
    rig.client.retry_run_with(&run, wish).await.unwrap();
    let summary = rig.picture(&run).await.summary;
    assert_eq!(summary.deadline_at.map(|deadline| deadline.since(summary.created_at)), Some(Millis(61_500)));
    rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
    rig.run_for(Millis(5_000)).await;
    assert_eq!(rig.output(&run).await, json!(["done", null]));
    assert_eq!(rig.stage.calls(), ["b", "b"], "with fresh attempts");
}

fn failing_twice() -> rhythm_core::Failure {
    rhythm_core::Failure::new("BUSY", "not now")
}

#[tokio::test]
async fn a_run_that_is_opened_again_has_as_long_as_it_had() {
    let rig = Rig::new();
    let run = hurried(&rig, "await Signal.next(\"go\")").await;
    for _ in 0..2 {
        assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
        rig.client.retry_run(&run, "again").await.unwrap();
        rig.run_for(Millis(500)).await;
        assert_eq!(rig.status(&run).await, Status::Waiting);
        rig.run_for(Millis(1_000)).await;
    }
    assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
}

#[tokio::test]
async fn a_deadline_cancels_what_the_message_before_it_started() {
    let rig = Rig::new();
    let slow = json!({"name": "a", "options": {"queue": "nobody"}});
    rig.register("main", json!({"steps": [{"signal": {"name": "go"}}, {"task": slow}]})).await;
    let start = StartRun { workflow: "main".into(), deadline: Some(Millis(1_000)), ..StartRun::default() };
    let run = rig.client.start_run(start).await.unwrap();
    rig.settle().await;
    // Both reach the inbox before the run is stepped.
    rig.client.signal(&run, "go", Payload::null(), None).await.unwrap();
    rig.pass(Millis(1_000));
    rig.memory.upkeep(Upkeep::sweep(10)).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "DEADLINE_EXCEEDED");
    assert!(rig.picture(&run).await.tasks.is_empty(), "nothing runs on behind a run that has failed");
}

/// A retry stopped after reopening the child but before its parent: the next retry finds the child's answer.
#[tokio::test]
async fn a_retry_that_stopped_halfway_is_taken_up_again() {
    let rig = Rig::new();
    rig.stage.on("bad", permanent("BROKEN"));
    rig.register("child", json!({"steps": [{"task": task("bad")}]})).await;
    let run = rig.start(json!({"steps": [{"child": {"workflow": "child"}}, {"keep": "on"}]})).await;
    rig.settle().await;
    assert_eq!(rig.failure(&run).await, "BROKEN");
    rig.stage.on("bad", |_, _| Ok(json!("mended")));
    rig.client.retry_run(&run.child(rhythm_core::CommandId(1)), "the first half").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.status(&run).await, Status::Failed);
    rig.client.retry_run(&run, "the second half").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([["mended"], "on"]));
    assert_eq!(rig.stage.calls(), ["bad", "bad"], "what the child did is not done again");
}

/// The child failed again before its parent was reopened: the parent gets only that last failure.
#[tokio::test]
async fn a_reopened_parent_hears_only_of_its_childs_last_life() {
    let rig = Rig::new();
    rig.stage.on("bad", permanent("BROKEN"));
    rig.register("child", json!({"steps": [{"task": task("bad")}]})).await;
    let run = rig.start(json!({"steps": [{"child": {"workflow": "child"}}]})).await;
    rig.settle().await;
    let child = run.child(rhythm_core::CommandId(1));
    rig.client.retry_run(&child, "in vain").await.unwrap();
    rig.settle().await;
    rig.stage.on("bad", |_, _| Ok(json!("mended")));
    rig.client.retry_run(&run, "with its child").await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([["mended"]]));
}

#[tokio::test]
async fn a_snapshot_its_history_does_not_fold_to_is_noticed() {
    use rhythm_engine::world::{ClaimRuns, Commit};
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"signal": {"name": "go"}}, {"signal": {"name": "go"}}]})).await;
    rig.settle().await;
    rig.verify(&run).await;
    rig.client.signal(&run, "go", json_payload("1"), None).await.unwrap();
    let (tenant, worker) = (rhythm_core::TenantId::default(), rhythm_core::WorkerId::new("careless"));
    let request = ClaimRuns {
        tenant: tenant.clone(),
        worker: worker.clone(),
        kinds: vec![rhythm_core::WorkflowKind::Drill],
        workflows: vec![],
        limit: 1,
        of: None,
        hold: Millis(30_000),
        ask: Default::default(),
    };
    let claimed = rig.memory.claim_runs(request).await.unwrap().runs.remove(0);
    // A commit that changes the snapshot and leaves no trace of why in the history.
    let mut item = rhythm_conformance::play::Draft::of(&claimed).only(&[]).item;
    item.more = true;
    let commit = Commit { tenant, worker, hold: Millis(30_000), items: vec![item], released: vec![] };
    rig.memory.commit(std::sync::Arc::new(commit)).await.unwrap();
    let programs = rhythm_engine::programs::Programs::default();
    let verified = rhythm_engine::verify::verify(&rig.client, &programs, &run).await.unwrap();
    assert_eq!(verified.problem.as_deref(), Some("the stored snapshot is not what its history folds to"));
}

fn json_payload(text: &str) -> Payload {
    Payload::parse(text.to_owned()).unwrap()
}

#[tokio::test]
async fn a_fused_step_finds_a_signal_that_came_before_its_run_started() {
    let rig = Rig::new();
    let run = rig.start(json!({"steps": [{"task": task("a")}, {"signal": {"name": "go"}}]})).await;
    // Counted before the first claim: it refuses no fused commit, and no fused commit looks for it.
    rig.client.signal(&run, "go", Payload::of("early").unwrap(), None).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.output(&run).await, json!([null, "early"]));
}

/// A version that is played without becoming current has its files like any other: a patch compiles them again.
#[tokio::test]
async fn files_beside_a_graph_are_stored_however_it_is_registered() {
    let rig = Rig::new();
    let names = ["current", "played"];
    for name in names {
        let source = json!({"nodes": [{"id": "a", "type": "task", "config": {"task": "a"}}]}).to_string();
        let mut defined = rhythm_engine::definitions::define(name, WorkflowKind::Graph, &source).unwrap();
        let content = format!("{{\"of\": \"{name}\"}}").into_bytes();
        let blob = BlobRef::of(&content);
        defined.files.push((blob.clone(), content.clone()));
        match name {
            "current" => drop(rig.client.register_defined(defined).await.unwrap()),
            _ => drop(rig.client.register_beside(defined).await.unwrap()),
        }
        let stored = rig.memory.read_blob(rig.client.tenant(), &blob).await.unwrap();
        assert_eq!(&stored[..], &content[..], "{name}");
    }
    let bad = rhythm_engine::definitions::define("a@b", WorkflowKind::Flow, "return 1").unwrap();
    assert!(matches!(rig.client.register_beside(bad).await, Err(EngineError::Invalid(_))));
}
