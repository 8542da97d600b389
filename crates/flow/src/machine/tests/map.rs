//! `Task.map` and `Workflow.map`: a limit on open items, results in the order of the list, and a snapshot
//! whose size does not depend on the length of the list.

use rhythm_core::event::EventData;
use rhythm_core::failure::Failure;
use rhythm_core::fold::{Divergence, replay};
use rhythm_core::lineage::Lineage;
use rhythm_core::program::Program as _;

use super::fan_out::fold;
use super::*;

fn answer(task: u64, output: &str) -> Message {
    let body =
        MessageBody::TaskCompleted(TaskCompleted { task: CommandId(task), attempt: 1, output: json(output) });
    let (id, at) = (MessageId::new(format!("task:{task}")), Timestamp(1_000));
    Message { id, at, actor: Actor::system(), trace: None, body }
}

fn fail(task: u64) -> MessageBody {
    let failure = Failure::permanent("NO", "it failed");
    MessageBody::TaskFailed(TaskFailed { task: CommandId(task), failure })
}

fn inputs(advanced: &Advanced) -> Vec<String> {
    let tasks = advanced.commands.iter().filter_map(|command| match command {
        Command::RunTask(task) => Some(task.input.text().unwrap().to_owned()),
        Command::StartChild(child) => Some(child.input.text().unwrap().to_owned()),
        _ => None,
    });
    tasks.collect()
}

#[test]
fn so_many_are_open_at_a_time_and_results_are_in_the_order_of_the_list() {
    let mut run = Rehearsal::of(
        "let all = await Task.map(\"echo\", [10, 20, 30, 40, 50], { concurrency: 2, key: \"k\" })\nreturn all",
    );
    // A number has no field that could be the key.
    assert_eq!(failure_code(&run.start("null")), "WRONG_ARG_TYPE");
    let mut run = Rehearsal::of(
        "let all = await Task.map(\"echo\", [{ k: \"a\" }, { k: 2 }, { k: \"c\" }], { concurrency: 2, key: \"k\", queue: \"q\" })\nreturn all",
    );
    let started = run.start("null");
    assert_eq!(inputs(&started), [r#"{"k":"a"}"#, r#"{"k":2}"#]);
    let options = &task(&started, 1).options;
    assert_eq!((options.key.as_deref(), options.queue.as_str()), (Some("2"), "q"));
    assert_eq!(inputs(&run.complete(3, "\"second\"")), [r#"{"k":"c"}"#]);
    assert!(run.complete(3, "\"again\"").commands.is_empty());
    run.complete(4, "\"third\"");
    assert_eq!(output(&run.complete(2, "\"first\"")), r#"["first","second","third"]"#);
}

#[test]
fn ten_are_open_unless_the_call_says_otherwise_and_a_thousand_at_most() {
    let mut run = Rehearsal::of("return await Task.map(\"echo\", inputs)");
    let list = format!("[{}]", (0..30).map(|n: u32| n.to_string()).collect::<Vec<_>>().join(","));
    assert_eq!(inputs(&run.start(&list)).len(), 10);
    for (options, code) in [
        ("{ concurrency: 0 }", "WRONG_ARG_TYPE"),
        ("{ concurrency: 1001 }", "WRONG_ARG_TYPE"),
        ("{ concurrency: \"2\" }", "WRONG_ARG_TYPE"),
        ("{ at_once: 2 }", "WRONG_ARG_TYPE"),
    ] {
        let mut run = Rehearsal::of(&format!("return await Task.map(\"echo\", [1], {options})"));
        assert_eq!(failure_code(&run.start("null")), code, "{options}");
    }
    let mut run = Rehearsal::of("return await Task.map(\"echo\", { a: 1 })");
    assert_eq!(failure_code(&run.start("null")), "WRONG_ARG_TYPE");
    let mut run = Rehearsal::of("return await Task.map(\"echo\", [Task.run(\"x\", 1)])");
    assert_eq!(failure_code(&run.start("null")), "WRONG_ARG_TYPE");
    let mut run = Rehearsal::of("return await Workflow.map(\"kid\", [1], { queue: \"q\" })");
    assert_eq!(failure_code(&run.start("null")), "WRONG_ARG_TYPE");
    assert_eq!(output(&Rehearsal::of("return await Task.map(\"echo\", [])").start("null")), "[]");
}

#[test]
fn after_a_failure_nothing_new_starts_and_it_throws() {
    let source = |options: &str| {
        format!(
            "let m = Task.map(\"echo\", [1, 2, 3, 4, 5], {options})\ntry {{ return await m }} catch (e) {{ await Timer.delay(9) return e.code }}"
        )
    };
    let mut run = Rehearsal::of(&source("{ concurrency: 3 }"));
    run.start("null");
    let failed = run.send("task:3", fail(3));
    assert!(inputs(&failed).is_empty());
    assert!(!failed.commands.contains(&Command::CancelTask(CommandId(2))), "it goes on");
    assert!(run.complete(2, "1").commands.is_empty(), "and nobody asks for it");
    let mut run = Rehearsal::of(&source("{ concurrency: 3, cancel: true }"));
    run.start("null");
    let failed = run.send("task:3", fail(3));
    let cancelled: Vec<_> =
        failed.commands.iter().filter(|command| matches!(command, Command::CancelTask(_))).collect();
    assert_eq!(cancelled, [&Command::CancelTask(CommandId(2)), &Command::CancelTask(CommandId(4))]);

    let mut run = Rehearsal::of(
        "let all = await Task.map(\"echo\", [1, 2, 3], { concurrency: 1, settle: true })\nreturn [all[0].error.code, all[1], all[2].status]",
    );
    run.start("null");
    assert_eq!(inputs(&run.send("task:2", fail(2))), ["2"]);
    run.complete(3, "7");
    assert_eq!(
        output(&run.send("task:4", fail(4))),
        r#"["NO",{"status":"completed","result":7,"error":null},"failed"]"#
    );
}

#[test]
fn a_map_that_loses_a_race_starts_nothing_new() {
    for (option, stops) in [("", false), (", cancel: true", true)] {
        let mut run = Rehearsal::of(&format!(
            "let m = Task.map(\"echo\", [1, 2, 3, 4], {{ concurrency: 2{option} }})\nlet first = await Promise.race([m, Signal.next(\"go\")])\nawait \
             Signal.next(\"on\")\ntry {{ await m }} catch (e) {{ return e.code }}"
        ));
        run.start("null");
        let lost = run.signal("s:1", "go", "1");
        let cancels =
            lost.commands.iter().filter(|command| matches!(command, Command::CancelTask(_))).count();
        assert_eq!(cancels > 0, stops, "{option}");
        assert!(run.complete(2, "1").commands.is_empty());
        assert_eq!(output(&run.signal("s:2", "on", "1")), r#""CANCELLED""#);
    }
    let mut run = Rehearsal::of(
        "let m = Task.map(\"echo\", [1, 2, 3, 4], { concurrency: 2 })\ntry { await m } catch (e) { await Timer.delay(5) }",
    );
    run.start("null");
    run.send("cancel", MessageBody::Cancel(Cancel::because("enough")));
    assert!(run.complete(2, "1").commands.is_empty(), "a run that was cancelled starts no more");
}

#[test]
fn a_run_that_ends_without_its_map_drops_the_rest_and_says_so() {
    let mut run = Rehearsal::of(
        "Task.map(\"echo\", [1, 2, 3, 4, 5], { concurrency: 2 })\nawait Signal.next(\"go\")\nreturn 1",
    );
    run.start("null");
    // No variable holds the map, and it continues anyway.
    assert_eq!(inputs(&run.complete(2, "1")), ["3"]);
    let ended = run.signal("s", "go", "1");
    let warnings: Vec<_> = ended.events.iter().filter(|event| event.data.kind() == "warning").collect();
    let EventData::Warning(warning) = &warnings[0].data else { panic!("{warnings:?}") };
    assert_eq!(warning.code, "UNSTARTED_ITEMS");
    assert!(warning.message.contains("2 of 5 items were not started"), "{}", warning.message);
    assert_eq!(output(&ended), "1");
}

#[test]
fn children_are_tried_again_one_by_one() {
    let mut run = Rehearsal::of(
        "return await Workflow.map(\"kid\", [\"a\", \"b\", \"c\"], { concurrency: 1, retries: { max_attempts: 2, initial_delay: 1 } })",
    );
    assert_eq!(inputs(&run.start("null")), ["\"a\""]);
    let failure = || Failure::new("NO", "it failed");
    let failed =
        |child| MessageBody::ChildFailed(ChildFailed { child: CommandId(child), failure: failure() });
    let again = run.send("child:2", failed(2));
    assert!(matches!(again.commands[..], [Command::StartTimer(_)]));
    assert_eq!(inputs(&run.fire(3)), ["\"a\""]);
    let done =
        |child| MessageBody::ChildCompleted(ChildCompleted { child: CommandId(child), output: json("1") });
    assert_eq!(inputs(&run.send("child:4", done(4))), ["\"b\""]);
    assert_eq!(inputs(&run.send("child:5", done(5))), ["\"c\""]);
    assert_eq!(output(&run.send("child:6", done(6))), "[1,1,1]");
}

/// Sends results in an order close to that of the list.
fn play(run: &mut Rehearsal, count: u64, at_once: u64, text: usize) -> (usize, Option<End>, Vec<Event>) {
    let (mut largest, mut history) = (0, Vec::new());
    let (mut next, mut open): (u64, std::collections::VecDeque<u64>) = (at_once, (0..at_once).collect());
    let mut end = None;
    while !open.is_empty() {
        let mut commit = Vec::new();
        for turn in 0..open.len().min(200) {
            let place = if turn % 3 == 0 { open.pop_back() } else { open.pop_front() }.unwrap();
            let output = format!("{{\"n\":{place},\"t\":\"{}\"}}", "x".repeat(text));
            commit.push(answer(place + 2, &output));
        }
        for _ in 0..commit.len() {
            if next < count {
                open.push_back(next);
                next += 1;
            }
        }
        let written = fold(run, &commit, 200);
        largest = largest.max(written.largest);
        history.extend(written.history);
        end = written.end;
    }
    (largest, end, history)
}

#[test]
fn a_list_of_many_thousand_items_keeps_the_snapshot_small() {
    let source = "let list = inputs.list\nlet all = await Task.map(\"echo\", list, { concurrency: 300 })\nlet sum = 0\nlet place = 0\nfor (let \
                  one of all) { if (one.n != place) { throw \"order\" } place = place + 1 sum = sum + one.n }\nreturn [all.length, \
                  sum, all[4321].n]";
    let mut run = Rehearsal::of(source);
    let list: Vec<String> = (0..6_000).map(|n| format!("{{\"id\":\"order-{n}\",\"n\":{n}}}")).collect();
    let input = run.returned(&format!("{{\"list\":[{}]}}", list.join(",")));
    run.send("start", MessageBody::Start(Start { input }));
    let (largest, end, _) = play(&mut run, 6_000, 300, 100);
    assert!(largest < 64 * 1024, "{largest}");
    let Some(End::Completed(output)) = &end else { panic!("{end:?}") };
    assert_eq!(output.text(), Some("[6000,17997000,4321]"));
}

#[test]
fn messages_folded_together_are_those_folded_one_by_one_and_the_history_tells_it_again() {
    let source = "let all = await Task.map(\"echo\", inputs, { concurrency: 40 })\nreturn [all.length, all.pluck(\"n\").sum()]";
    let list = format!("[{}]", (0..900).map(|n| format!("\"item {n}\"")).collect::<Vec<_>>().join(","));
    let run = || {
        let mut run = Rehearsal::of(source);
        let history = run.start(&list).events;
        (run, history)
    };
    let ((mut together, _), (mut apart, mut history)) = (run(), run());
    let messages: Vec<Message> = (0..900_u64)
        .map(|place| answer(place + 2, &format!("{{\"n\":{place},\"t\":\"{}\"}}", "y".repeat(90))))
        .collect();
    for part in messages.chunks(120) {
        let (at_once, one_by_one) = (fold(&mut together, part, 60), fold(&mut apart, part, 1));
        assert_eq!(together.state, apart.state);
        assert_eq!(at_once.history, one_by_one.history);
        assert_eq!(at_once.end, one_by_one.end);
        history.extend(one_by_one.history);
        let refs = together.flow.blob_refs(together.state.snapshot.as_ref().unwrap()).unwrap();
        assert!(refs.iter().all(|blob| together.stored.contains_key(&blob.hash)));
    }
    let folded =
        replay(Lineage::of(&apart.flow, &apart.facts), &history, |_| Ok::<_, Divergence>(Blobs::new()));
    assert_eq!(folded.unwrap(), apart.state);
}

#[test]
fn results_too_large_for_a_segment_stand_where_they_belong() {
    let mut run = Rehearsal::of(
        "let all = await Task.map(\"page\", [1, 2, 3, 4], { concurrency: 4 })\nawait Task.run(\"wait\", 1)\nreturn [all[0], all[1].length, all[2], all[3].length]",
    );
    run.start("null");
    let large = format!("\"{}\"", "z".repeat(70_000));
    run.complete(3, &large);
    run.complete(5, &large);
    run.complete(2, "1");
    run.complete(4, "3");
    assert_eq!(output(&run.complete(6, "null")), "[1,70000,3,70000]");
}

#[test]
fn a_run_has_at_most_50_000_tasks_under_way() {
    let loops = |count: u32| {
        format!(
            "let n = 0\nlet h = []\nwhile (n < {count}) {{ h = h.concat([Task.run(\"echo\", n)]) n = n + 1 }}\nawait Signal.next(\"go\")"
        )
    };
    let mut run = Rehearsal::of(&loops(50_000));
    assert!(run.start("null").end.is_none());
    let mut run = Rehearsal::of(&loops(50_001));
    let started = run.start("null");
    let Some(End::Failed(failure)) = &started.end else { panic!() };
    assert_eq!(failure.code, "LIMIT_EXCEEDED");
    assert!(
        failure.message.contains("50,000") && failure.message.contains("Task.map"),
        "{}",
        failure.message
    );
}

#[test]
fn a_damaged_map_is_refused() {
    let mut run = Rehearsal::of("return await Task.map(\"echo\", [1, 2, 3, 4, 5], { concurrency: 2 })");
    run.start("null");
    run.complete(3, "\"b\"");
    let good = run.snapshot();
    for (from, to) in [
        ("\"count\":5", "\"count\":6"),
        ("\"next\":3", "\"next\":9"),
        ("\"places\":\"0.2\"", "\"places\":\"0\""),
        ("\"places\":\"0.2\"", "\"places\":\"0.4\""),
        ("\"task\":\"echo\",\"items\"", "\"tasks\":\"echo\",\"items\""),
        ("\"results\":[[1,\"b\"]]", "\"results\":{}"),
    ] {
        assert!(good.contains(from), "{from} is not in {good}");
        run.set_snapshot(&good.replace(from, to));
        let sent = run.try_send("task:2", answer(2, "1").body);
        assert!(matches!(sent, Err(ProgramError::BadSnapshot(_))), "{from} -> {to}: {sent:?}");
    }
}
