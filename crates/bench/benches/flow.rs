//! The `.flow` language: compiling, stepping, scenarios, with the wanted time at each.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use rhythm_core::fold::{Advance, RunState, advance};
use rhythm_core::message::{Message, MessageBody, Start, TaskCompleted};
use rhythm_core::program::{Program, RunFacts, Step, StepInput};
use rhythm_core::{Actor, Blobs, CommandId, MessageId, Payload, RunId, TenantId, Timestamp, Version};
use rhythm_flow::{Defaults, Flow, compile, examine};
use rhythm_scenario::{Options, Sandbox, Scenario, run_all};

fn compiled(source: &str) -> Flow {
    let examined = examine(source, false);
    assert!(!examined.checked.has_errors(), "{:?}", examined.checked.diagnostics);
    let code = compile(&examined.file, source, Defaults::from(&examined.settings)).unwrap();
    Flow::new(code).unwrap()
}

/// A thousand lines of typical code; wanted below 20 ms.
fn thousand_lines() -> String {
    let mut text = String::from("let total = 0\n");
    for number in 0..142 {
        text += &format!(
            "// part {number}\nlet order{number} = await Task.run(\"load\", {{ id: Inputs.ids[{number}], retry: true }})\n\
             if (order{number}.status == \"paid\" && order{number}.total > 10) {{\n  \
             try {{ await Task.run(\"ship\", {{ order: order{number}, note: \"part {number}\" }}, {{ retries: 3, timeout: \"30s\" }}) }} \
             catch (e) {{ log(\"failed\", e.code) }}\n  total = total + order{number}.total * 1.19\n}}\n\n"
        );
    }
    text + "return { total, done: true }\n"
}

fn compiling(criterion: &mut Criterion) {
    let source = thousand_lines();
    let lines = source.lines().count();
    assert!((990..=1010).contains(&lines), "{lines}");
    criterion.bench_function("compile 1,000 lines (wanted: 20 ms)", |bench| {
        bench.iter(|| compiled(black_box(&source)));
    });
}

/// A task answers, the loop goes round and the next task is asked for; wanted below 10 microseconds.
fn stepping(criterion: &mut Criterion) {
    let flow = compiled("while (true) { await Task.run(\"next\", {}) }");
    let facts = RunFacts {
        run: RunId::new("run-1"),
        tenant: TenantId::default(),
        workflow: "bench".into(),
        version: Version::of(b"bench"),
        created_at: Timestamp(0),
    };
    let at = Timestamp(20);
    let message =
        |id: &str, body| Message { id: MessageId::new(id), at, actor: Actor::system(), trace: None, body };
    let start = message("start", MessageBody::Start(Start { input: Payload::null() }));
    let blobs = Blobs::new();
    let Ok(Advance::Advanced(started)) = advance(&flow, &facts, &RunState::default(), &start, at, &blobs)
    else {
        panic!("it does not start");
    };
    let state = started.state;
    let body = TaskCompleted { task: CommandId(1), attempt: 1, output: Payload::null() };
    let message = message("task:1", MessageBody::TaskCompleted(body));
    criterion.bench_function("step a no-op await (wanted: 10 us)", |bench| {
        bench.iter(|| {
            let (facts, snapshot, message, blobs) = (&facts, state.snapshot.as_ref(), &message, &blobs);
            let step = flow.step(StepInput { facts, snapshot, message, at, blobs });
            assert!(matches!(black_box(step), Ok(Step::Transition(_))));
        });
    });
    criterion.bench_function("step it with the fold around (wanted: 10 us)", |bench| {
        bench.iter(|| black_box(advance(&flow, &facts, &state, &message, at, &blobs)).is_ok());
    });
}

/// A thousand small scenarios, straight through, in parallel on every core; wanted below 3 s.
fn scenarios(criterion: &mut Criterion) {
    let small = serde_json::json!({
        "source": "let a = await Task.run(\"a\", {})\nlet [b, c] = await Promise.all([Task.run(\"b\", { a }), Timer.delay(5)])\n\
                   let s = await Signal.when(\"go\", { timeout: 60 })\nreturn [a, b, c, s]",
        "tasks": {"a": [{"err": {"message": "no"}}, {"ok": 1}], "b": [{"ok": 2, "after": 3}]},
        "signals": [{"name": "go", "payload": 3, "at": 10}],
        "expect": {"output": [1, 2, null, 3], "elapsed": 10},
    });
    let scenario: Scenario = serde_json::from_value(small).unwrap();
    let thousand = vec![scenario; 1_000];
    let mut group = criterion.benchmark_group("scenarios");
    group.sample_size(10).measurement_time(Duration::from_secs(20));
    for three_ways in [false, true] {
        let ways = if three_ways { ", three ways" } else { "" };
        group.bench_function(format!("1,000 of them{ways} (wanted: 3 s)"), |bench| {
            let options = Options { three_ways, jobs: None, seed: 0, sandbox: Sandbox::Here };
            bench.iter(|| {
                run_all(&thousand, &options, |report| assert!(report.passed, "{:?}", report.problems))
            });
        });
    }
    group.finish();
}

criterion_group!(flow, compiling, stepping, scenarios);
criterion_main!(flow);
