//! Measures the time of a step. Run by hand: `cargo test --release -p rhythm-flow speed -- --ignored
//! --nocapture`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stderr)]
// The clock only measures; no program sees it.

use std::time::{Duration, Instant};

use rhythm_core::program::{Program, Step, StepInput};

use super::*;

/// Returns the fastest of many rounds, because on a busy machine the others include the load of other
/// processes.
fn fastest(rounds: usize, mut round: impl FnMut()) -> Duration {
    let times = (0..rounds).map(|_| {
        let begun = Instant::now();
        round();
        begun.elapsed()
    });
    times.min().unwrap_or_default()
}

#[test]
#[ignore = "a measurement"]
fn a_step_that_only_waits_takes_a_few_microseconds() {
    let source = "workflow(ctx, inputs) {\n  let total = 0\n  let order = { id: inputs.id, lines: [1, 2, 3] }\n  while (true) {\n    \
                  let r = await task(\"next\", { order.id, total })\n    total = total + r.n\n  }\n}";
    let mut run = Rehearsal::of(source);
    run.start("{\"id\": \"o-1\"}");
    let snapshot = run.state.snapshot.clone().unwrap();
    let output = json("{\"n\": 1}");
    let body = MessageBody::TaskCompleted(TaskCompleted { task: CommandId(1), attempt: 1, output });
    let at = Timestamp(20);
    let message = Message { id: MessageId::new("task:1"), at, actor: Actor::system(), trace: None, body };
    let blobs = Blobs::new();
    let step = fastest(300, || {
        for _ in 0..200 {
            let input = StepInput {
                facts: &run.facts,
                snapshot: Some(&snapshot),
                message: &message,
                at,
                blobs: &blobs,
            };
            assert!(matches!(run.flow.step(input), Ok(Step::Transition(_))));
        }
    });
    eprintln!(
        "a step: {:.2} microseconds, snapshot of {} bytes",
        step.as_nanos() as f64 / 200_000.0,
        snapshot.bytes.len()
    );

    let folded = fastest(300, || {
        for _ in 0..200 {
            let advanced = advance(&run.flow, &run.facts, &run.state, &message, at, &blobs);
            assert!(matches!(advanced, Ok(Advance::Advanced(_))));
        }
    });
    eprintln!("with the fold around it: {:.2} microseconds", folded.as_nanos() as f64 / 200_000.0);

    let loops = fastest(20, || {
        let ended =
            Rehearsal::of("let n = 0\nlet s = 0\nwhile (n < 10000) { n = n + 1 s = s + n }\nreturn s")
                .start("null");
        assert!(ended.end.is_some());
    });
    eprintln!("a statement: {:.0} nanoseconds", loops.as_nanos() as f64 / 30_000.0);
}
