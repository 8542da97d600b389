//! Failures that a program has read, as they are reported to the world.

use rhythm_core::failure::Failure;
use rhythm_core::fold::{Advanced, End};
use rhythm_core::id::CommandId;
use rhythm_core::message::{MessageBody, TaskFailed};

use super::Rehearsal;

fn fail(run: &mut Rehearsal, task: u64) -> Advanced {
    let failure = Failure::permanent("BROKEN", "it broke");
    let body = TaskFailed { task: CommandId(task), failure };
    run.send(&format!("task:{task}"), MessageBody::TaskFailed(body))
}

/// Returns the tasks whose failures were settled, and whether each was handled.
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

/// A failing transition is undone as a whole, including the catch: a retry runs the task again.
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

/// Returns the settled tasks, and the distinct results of settling them.
fn all_settled(advanced: &Advanced) -> (Vec<u64>, Vec<bool>) {
    let mut settled = settled(advanced);
    settled.sort_unstable();
    let mut fates: Vec<bool> = settled.iter().map(|(_, handled)| *handled).collect();
    fates.dedup();
    (settled.into_iter().map(|(task, _)| task).collect(), fates)
}

/// Returns a program whose group is decided by a failure while the run waits for something else, and is
/// awaited afterwards.
fn decided_early(group: &str) -> String {
    format!(
        "let g = {group}\nawait Signal.when(\"go\")\ntry {{ await g }} catch (e) {{ await Signal.when(\"on\") }}\nawait g"
    )
}

#[test]
fn a_failure_that_decided_a_group_is_handled_once_the_group_is_caught() {
    let a = "Task.run(\"a\", null)";
    let b = "Task.run(\"b\", null)";
    for (group, failing, read) in [
        (format!("Promise.all([{a}, {b}])"), &[1][..], &[1, 2][..]),
        (format!("Promise.race([{a}, {b}])"), &[2], &[1, 2]),
        (format!("Promise.any([{a}, {b}])"), &[1, 2], &[1, 2]),
        (format!("Promise.allSettled([{a}, {b}])"), &[1, 2], &[1, 2]),
        (format!("Promise.all([Promise.all([{a}]), {b}])"), &[1], &[1, 3]),
        (format!("Promise.allSettled([Promise.any([{a}]), {b}])"), &[1, 3], &[1, 3]),
        (format!("Promise.all([Task.timeout({a}, 60), Promise.race([{b}])])"), &[1], &[1, 4]),
        ("Task.map(\"a\", [1, 2, 3], { concurrency: 2 })".to_owned(), &[2], &[2, 3]),
        (format!("Promise.all([Task.map(\"a\", [1, 2], {{ concurrency: 1 }}), {b}])"), &[2], &[2, 3]),
    ] {
        let mut run = Rehearsal::of(&decided_early(&group));
        run.start("null");
        for task in failing {
            assert_eq!(all_settled(&fail(&mut run, *task)).0, [0; 0], "nothing has awaited {group}");
        }
        let caught = run.signal("s1", "go", "null");
        let (mut tasks, fates) = all_settled(&caught);
        // Only tasks have dead letters.
        tasks.retain(|task| read.contains(task));
        assert_eq!((tasks.as_slice(), fates.as_slice()), (read, &[true][..]), "{group}");
        assert!(!run.snapshot().contains("unread"), "it was read: {}", run.snapshot());
    }
}

#[test]
fn a_failure_that_decided_a_group_early_can_fail_the_run() {
    let source = "let g = Promise.all([Task.run(\"a\", null), Task.run(\"b\", null)])\nawait Signal.when(\"go\")\nawait g";
    let mut run = Rehearsal::of(source);
    run.start("null");
    fail(&mut run, 2);
    let failed = run.signal("s1", "go", "null");
    assert!(matches!(failed.end, Some(End::Failed(_))));
    assert_eq!(all_settled(&failed), (vec![1, 2], vec![false]));
}

#[test]
fn a_group_that_settled_is_read_through_the_groups_around_it() {
    let source = "let g = Promise.any([Promise.all([Task.run(\"a\", null), Task.run(\"b\", null)]), Task.run(\"c\", null)])\n\
         let r = await g\nawait Signal.when(r)";
    let mut run = Rehearsal::of(source);
    run.start("null");
    assert_eq!(settled(&fail(&mut run, 1)), [], "another may succeed");
    assert_eq!(all_settled(&run.complete(4, "\"go\"")), (vec![1, 2], vec![true]));
}

#[test]
fn what_a_settled_group_keeps_of_its_members_goes_with_it() {
    let source = "let g = Promise.all([Task.run(\"a\", null), Task.run(\"b\", null)])\nawait Signal.when(\"go\")\ng = null\nawait Signal.when(\"on\")";
    let mut run = Rehearsal::of(source);
    run.start("null");
    fail(&mut run, 1);
    assert!(run.snapshot().contains(r#""unread":{"3":"1-2"}"#), "{}", run.snapshot());
    assert_eq!(settled(&run.signal("s1", "go", "null")), [], "nothing can await it any more");
    assert!(!run.snapshot().contains("unread"), "{}", run.snapshot());
}

/// A wide group stores ranges of numbers.
#[test]
fn a_wide_group_that_failed_early_keeps_few_bytes() {
    let source = "let h = []\nlet n = 0\nwhile (n < 5000) { h = h.concat([Task.run(\"t\", n)]) n = n + 1 }\nlet g = Promise.all(h)\nh = []\n\
         await Signal.when(\"go\")\ntry { await g } catch (e) { await Signal.when(\"on\") }";
    let mut run = Rehearsal::of(source);
    run.start("null");
    fail(&mut run, 77);
    assert!(run.snapshot().len() < 1_000, "{}", run.snapshot().len());
    assert_eq!(run.signal("s1", "go", "null").settled.len(), 5_000);
}

#[test]
fn items_of_a_map_that_was_read_already_are_handled_as_they_fail() {
    let source = "let m = Task.map(\"a\", [1, 2, 3], { concurrency: 1 })\nlet g = Promise.all([Task.run(\"b\", null), m])\n\
         try { await g } catch (e) { await Signal.when(\"on\") }";
    let mut run = Rehearsal::of(source);
    run.start("null");
    let caught = fail(&mut run, 3);
    assert!(all_settled(&caught).0.contains(&2), "an item under way is read with the map: {caught:?}");
    run.complete(2, "1");
    assert_eq!(settled(&fail(&mut run, 6)), [(6, true)], "a later one, too");
}

#[test]
fn a_map_nobody_awaits_settles_no_failure() {
    let source = "let m = Task.map(\"a\", [1, 2], { concurrency: 1 })\nawait Signal.when(\"go\")\nreturn 1";
    let mut run = Rehearsal::of(source);
    run.start("null");
    assert_eq!(settled(&fail(&mut run, 2)), []);
    assert_eq!(settled(&run.signal("s1", "go", "null")), []);
}
