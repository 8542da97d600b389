//! Messages out of order, twice, late or to unknown handles; and the events of each.

use rhythm_core::failure::Failure;

use super::*;

#[test]
fn a_duplicate_changes_nothing_and_asks_for_nothing() {
    let mut run = Rehearsal::of("let a = await task(\"a\")\nlet b = await task(\"b\", a)\nreturn [a, b]");
    run.start("null");
    let before = run.state.snapshot.clone();
    let again = run.start("null");
    assert!(again.commands.is_empty() && again.end.is_none());
    assert_eq!(run.state.snapshot, before);
    run.complete(1, "5");
    let before = run.state.snapshot.clone();
    for output in ["5", "6"] {
        let again = run.complete(1, output);
        assert!(again.commands.is_empty() && again.end.is_none());
        assert_eq!(run.state.snapshot, before);
    }
    assert_eq!(output(&run.complete(2, "7")), "[5,7]");
}

#[test]
fn unknown_messages_are_ignored() {
    let mut run = Rehearsal::of("let t = Task.run(\"a\", {})\nlet x = await Signal.next(\"s\")\nreturn x");
    run.start("null");
    let before = run.state.snapshot.clone();
    run.complete(99, "1");
    run.fire(1);
    let failure = Failure::new("X", "y");
    run.send("c", MessageBody::ChildFailed(ChildFailed { child: CommandId(1), failure: failure.clone() }));
    run.send("t", MessageBody::TaskFailed(TaskFailed { task: CommandId(2), failure }));
    run.send("p", MessageBody::Patch(Patched { operations: Payload::null(), reason: String::new() }));
    run.signal("s1", "other", "1");
    assert_eq!(run.state.snapshot, before);
    assert_eq!(output(&run.signal("s2", "s", "2")), "2");
}

#[test]
fn a_signal_delivered_twice_is_one_signal() {
    let mut run =
        Rehearsal::of("let a = await Signal.next(\"s\")\nlet b = await Signal.next(\"s\")\nreturn [a, b]");
    run.start("null");
    run.signal("m1", "s", "1");
    run.signal("m1", "s", "1");
    assert_eq!(output(&run.signal("m2", "s", "2")), "[1,2]");
}

#[test]
fn an_answer_nobody_awaits_settles_its_handle_and_runs_nothing() {
    let mut run =
        Rehearsal::of("let a = Task.run(\"a\", {})\nlet b = await task(\"b\")\nlog(b)\nlet x = await a");
    run.start("null");
    let settled = run.complete(1, "7");
    assert_eq!(kinds(&settled.events), ["step_completed"]);
    assert!(run.snapshot().contains(r#""done":7"#), "{}", run.snapshot());
    let ended = run.complete(2, "8");
    assert_eq!(kinds(&ended.events), ["step_completed", "log", "workflow_completed"]);
}

#[test]
fn a_message_before_the_start_does_not_start_the_run() {
    let mut run = Rehearsal::of("return 1");
    run.complete(1, "5");
    assert_eq!(output(&run.start("null")), "1");
}

#[test]
fn only_reachable_signals_are_asked_for_and_each_wait_once() {
    let mut run = Rehearsal::of(
        "Signal.next(\"lost\")\nlet kept = Signal.next(\"kept\")\nawait Promise.race([Signal.next(\"a\"), \
         Signal.when(\"b\", { timeout: 1 })])\nawait Timer.delay(1)",
    );
    let started = run.start("null");
    assert_eq!(run.state.awaiting.iter().map(String::as_str).collect::<Vec<_>>(), ["a", "b", "kept"]);
    assert_eq!(
        kinds(&started.events),
        [
            "workflow_started",
            "parallel_started",
            "timer_scheduled",
            "signal_requested",
            "signal_requested",
            "signal_requested"
        ]
    );
    let raced = run.signal("m", "a", "1");
    assert_eq!(run.state.awaiting.iter().map(String::as_str).collect::<Vec<_>>(), ["kept"]);
    // The timeout's timer is cancelled together with its race.
    let timers: Vec<_> =
        raced.commands.iter().filter(|command| matches!(command, Command::CancelTimer(_))).collect();
    assert_eq!(timers.len(), 1);
    assert_eq!(kinds(&raced.events), ["signal_received", "parallel_completed", "timer_scheduled"]);
}

#[test]
fn groups_are_in_the_history_with_their_members() {
    let mut run = Rehearsal::of("await all([task(\"a\"), task(\"b\")])");
    let started = run.start("null");
    assert_eq!(
        kinds(&started.events),
        ["workflow_started", "parallel_started", "step_scheduled", "step_scheduled"]
    );
    assert_eq!(started.events[1].data.to_json(), r#"{"group":3,"members":[1,2]}"#);
    run.complete(2, "2");
    let ended = run.complete(1, "1");
    assert_eq!(kinds(&ended.events), ["step_completed", "parallel_completed", "workflow_completed"]);
}

#[test]
fn logs_keep_words_as_message_and_the_rest_as_data() {
    let mut run = Rehearsal::of(
        "log(\"a\", \"b\")\nlog(\"n\", { x: 1 })\nlog(5)\nlog(\"many\", 1, [2])\nlog(\"h\", Task.run(\"t\", {}))",
    );
    let ended = run.start("null");
    let logs: Vec<_> =
        ended.events.iter().filter(|e| e.data.kind() == "log").map(|e| e.data.to_json()).collect();
    assert_eq!(
        logs,
        [
            r#"{"message":"a b","data":null}"#,
            r#"{"message":"n {\"x\":1}","data":{"x":1}}"#,
            r#"{"message":"5","data":5}"#,
            r#"{"message":"many 1 [2]","data":[1,[2]]}"#,
            r#"{"message":"h [handle]","data":"[handle 1]"}"#,
        ]
    );
}

#[test]
fn a_long_log_line_is_cut_and_kept_whole_in_its_data() {
    let source = format!("log({:?}, 1)", "é".repeat(5000));
    let ended = Rehearsal::of(&source).start("null");
    let rhythm_core::event::EventData::Log(log) = &ended.events[1].data else { panic!() };
    assert!(log.message.len() <= 4100 && log.message.ends_with(".."));
    assert!(log.data.text().unwrap().len() > 10_000);
}

#[test]
fn an_answer_no_program_can_hold_is_an_error_at_its_await() {
    let source = "try { await task(\"a\") } catch (e) { return e.code }";
    for (answer, code) in [("1e999", "\"NUMBER_ERROR\""), (r#""\ud800""#, "\"TYPE_ERROR\"")] {
        let mut run = Rehearsal::of(source);
        run.start("null");
        assert_eq!(output(&run.complete(1, answer)), code);
    }
    let mut run = Rehearsal::of(source);
    run.start("null");
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(failure_code(&run.complete(1, &deep)), "LIMIT_EXCEEDED");
}

#[test]
fn what_an_uncaught_error_carries_goes_into_the_failure() {
    let cases = [
        ("throw { message: \"m\", code: \"C\", orderId: 7 }", None, Some(r#"{"orderId":7}"#)),
        ("throw { message: \"m\", code: \"C\", data: [1] }", Some("[1]"), None),
        ("throw { message: \"m\", code: \"C\", data: 1, x: 2 }", Some("1"), Some(r#"{"x":2}"#)),
        ("throw { message: \"m\", code: \"C\", h: Timer.delay(1) }", None, Some(r#"{"h":"[handle 1]"}"#)),
        ("throw { message: \"m\", code: \"C\" }", None, None),
    ];
    for (source, data, fields) in cases {
        let ended = Rehearsal::of(source).start("null");
        let Some(End::Failed(failure)) = &ended.end else { panic!("{source}") };
        assert_eq!((&*failure.code, &*failure.message, &*failure.kind), ("C", "m", "C"));
        assert_eq!(failure.data.as_ref().and_then(|data| data.text()), data, "{source}");
        assert_eq!(failure.fields.as_ref().and_then(|fields| fields.text()), fields, "{source}");
    }
    let ended = Rehearsal::of("await Promise.any([])").start("null");
    let Some(End::Failed(failure)) = &ended.end else { panic!() };
    assert_eq!(failure.fields.as_ref().and_then(|fields| fields.text()), Some(r#"{"errors":[]}"#));
}
