//! What a program makes of failures, as the world hears of it.

use super::Rehearsal;
use crate::failure::Failure;
use crate::fold::{Advanced, End};
use crate::id::CommandId;
use crate::message::{MessageBody, TaskFailed};

fn fail(run: &mut Rehearsal, task: u64) -> Advanced {
    let failure = Failure::permanent("BROKEN", "it broke");
    let body = TaskFailed { task: CommandId(task), failure };
    run.send(&format!("task:{task}"), MessageBody::TaskFailed(body))
}

/// The tasks whose failures were settled, and whether they were handled.
fn settled(advanced: &Advanced) -> Vec<(u64, bool)> {
    advanced.settled.iter().map(|settled| (settled.task.0, settled.handled)).collect()
}

#[test]
fn a_failure_that_is_caught_is_handled() {
    let mut run =
        Rehearsal::of("try { await Task.run(\"a\", null) } catch (e) { await Signal.when(\"go\") }");
    run.start("null");
    assert_eq!(settled(&fail(&mut run, 1)), [(1, true)]);
}

#[test]
fn a_failure_that_nobody_catches_fails_the_run() {
    let mut run = Rehearsal::of("await Task.run(\"a\", null)");
    run.start("null");
    let advanced = fail(&mut run, 1);
    assert!(matches!(advanced.end, Some(End::Failed(_))));
    assert_eq!(settled(&advanced), [(1, false)]);
}

/// All that a failing transition did is undone, the catch too: a retry runs the task again.
#[test]
fn a_failure_that_is_thrown_again_fails_the_run() {
    let mut run =
        Rehearsal::of("try { await Task.run(\"a\", null) } catch (e) { throw \"no: \" + e.message }");
    run.start("null");
    assert_eq!(settled(&fail(&mut run, 1)), [(1, false)]);
}

#[test]
fn a_failure_that_is_a_value_is_handled() {
    let source = "let r = await Task.run(\"a\", null, { settle: true })\nawait Signal.when(r.status)";
    let mut run = Rehearsal::of(source);
    run.start("null");
    assert_eq!(settled(&fail(&mut run, 1)), [(1, true)]);
}

#[test]
fn a_failure_is_undecided_until_it_is_awaited() {
    let source = "let a = Task.run(\"a\", null)\nawait Signal.when(\"go\")\ntry { await a } catch (e) { await Signal.when(\"on\") }";
    let mut run = Rehearsal::of(source);
    run.start("null");
    assert_eq!(settled(&fail(&mut run, 1)), []);
    assert_eq!(settled(&run.signal("s1", "go", "null")), [(1, true)]);
}

#[test]
fn a_failure_that_nothing_awaits_is_never_settled() {
    let mut run = Rehearsal::of("let a = Task.run(\"a\", null)\nawait Signal.when(\"go\")\nreturn 1");
    run.start("null");
    assert_eq!(settled(&fail(&mut run, 1)), []);
    let ended = run.signal("s1", "go", "null");
    assert!(matches!(ended.end, Some(End::Completed(_))));
    assert_eq!(settled(&ended), []);
}

#[test]
fn any_absorbs_failures_that_came_before_its_success() {
    let source = "let r = await Promise.any([Task.run(\"a\", null), Task.run(\"b\", null), Task.run(\"c\", null)])\nawait Signal.when(r)";
    let mut run = Rehearsal::of(source);
    run.start("null");
    assert_eq!(settled(&fail(&mut run, 1)), [], "another may succeed");
    let numbers: Vec<u64> = settled(&run.complete(2, "\"go\"")).into_iter().map(|(task, _)| task).collect();
    assert_eq!(numbers, [1, 3], "what failed, and what has lost and may fail yet");
}

#[test]
fn a_race_absorbs_the_failures_of_its_losers() {
    let source =
        "let r = await Promise.race([Task.run(\"a\", null), Task.run(\"b\", null)])\nawait Signal.when(r)";
    let mut run = Rehearsal::of(source);
    run.start("null");
    assert_eq!(settled(&run.complete(2, "\"go\"")), [(1, true)]);
}

#[test]
fn a_group_that_goes_on_with_a_success_settles_its_members_before_it_is_awaited() {
    let source = "let g = Promise.any([Task.run(\"a\", null), Task.run(\"b\", null)])\nawait Signal.when(\"go\")\nlet r = await g\nawait Signal.when(r)";
    let mut run = Rehearsal::of(source);
    run.start("null");
    fail(&mut run, 1);
    assert_eq!(settled(&run.complete(2, "\"on\"")), [(1, true)]);
}

#[test]
fn all_that_succeeds_settles_nothing() {
    let source = "let r = await Promise.all([Task.run(\"a\", null), Task.run(\"b\", null)])\nawait Signal.when(\"go\")";
    let mut run = Rehearsal::of(source);
    run.start("null");
    run.complete(1, "1");
    assert_eq!(settled(&run.complete(2, "2")), []);
}
