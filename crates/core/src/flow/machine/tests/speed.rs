//! How long a step takes. Not run by default: `cargo test --release -p rhythm-core speed -- --ignored --nocapture`.

use super::*;

#[test]
#[ignore = "a measurement"]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stderr)]
fn a_step_that_only_waits_takes_a_few_microseconds() {
    // The clock measures the machine here; no program sees it.
    let source = "workflow(ctx, inputs) {\n  let total = 0\n  let order = { id: inputs.id, lines: [1, 2, 3] }\n  while (true) {\n    \
                  let r = await task(\"next\", { order.id, total })\n    total = total + r.n\n  }\n}";
    let mut run = Rehearsal::of(source);
    run.start("{\"id\": \"o-1\"}");
    let rounds = 200_000_u64;
    let begun = std::time::Instant::now();
    for task in 1..=rounds {
        run.complete(task, "{\"n\": 1}");
    }
    let each = begun.elapsed().as_nanos() as f64 / rounds as f64 / 1000.0;
    eprintln!("a step: {each:.2} microseconds, snapshot {} bytes: {}", run.snapshot().len(), run.snapshot());

    let mut run = Rehearsal::of("let n = 0\nlet s = 0\nwhile (n < 300000) { n = n + 1 s = s + n }\nreturn s");
    let begun = std::time::Instant::now();
    run.start("null");
    eprintln!("a statement: {:.0} nanoseconds", begun.elapsed().as_nanos() as f64 / 900_000.0);
}
