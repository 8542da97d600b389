//! Stored state between messages, and the handling of damaged state.

use std::sync::Arc;

use rhythm_core::payload::BlobRef;
use rhythm_core::program::{Program as _, Snapshot};

use super::*;

#[test]
fn a_snapshot_is_one_small_flat_object() {
    let mut run = Rehearsal::of(
        "workflow(ctx, inputs) {\n  let payment = await task(\"chargeCard\", { amount: 100 })\n  await \
         task(\"shipOrder\", { orderId: payment.orderId })\n}",
    );
    run.start("{\"a\": 1}");
    assert_eq!(
        run.snapshot(),
        r#"{"format":4,"position":0,"wait":1,"commands":1,"handles":{"1":{"task":"chargeCard","step":0}}}"#
    );
    run.complete(1, r#"{"orderId": "o-1"}"#);
    assert_eq!(
        run.snapshot(),
        r#"{"format":4,"position":2,"wait":2,"commands":2,"clock":1,"locals":{"payment":{"orderId":"o-1"}},"handles":{"2":{"task":"shipOrder","step":2}}}"#
    );
    run.complete(2, "null");
    assert_eq!(run.snapshot(), r#"{"format":4,"position":3,"stage":"ended"}"#);
}

#[test]
fn everything_a_run_can_hold_is_stored_readably() {
    let mut run = Rehearsal::of(
        "let e\ntry { throw { message: \"m\", code: \"C\" } } catch (x) { e = x }\nlet h = Task.run(\"a\", {}, { \
         settle: true, cancel: true })\nfor (let i of [inputs]) {\n  let i = { \"$x\": h }\n  await Promise.race_kv({ \
         t: h, s: Signal.when(\"go\", { timeout: 5 }), k: Workflow.run(\"kid\", {}) })\n}",
    );
    run.start("[1.50]");
    assert_eq!(
        run.snapshot(),
        concat!(
            r#"{"format":4,"position":7,"wait":6,"commands":6,"input":[1.50],"locals":{"#,
            r#""e":{"$error":{"code":"C","message":"m","type":"C"}},"h":{"$handle":1},"#,
            r##""#items":[[1.5]],"#place":1,"i":[1.5],"i#2":{"$$x":{"$handle":1}}},"handles":{"##,
            r#""1":{"task":"a","settle":true,"cancel":true,"step":4},"2":{"signal":"go","step":7},"#,
            r#""3":{"timer":5010,"step":7},"4":{"timeout":[2,3],"step":7},"5":{"child":"kid","step":7},"#,
            r#""6":{"group":"race_kv","of":[1,4,5],"keys":["t","s","k"],"step":7}}}"#,
        )
    );
    let twice = run.snapshot();
    run.complete(99, "null");
    assert_eq!(run.snapshot(), twice);
    // The next message writes everything again from the state that was read.
    let body = ChildCompleted { child: CommandId(5), output: json("1") };
    run.send("child:5", MessageBody::ChildCompleted(body));
    assert!(run.snapshot().contains(r#""stage":"ended""#), "{}", run.snapshot());
}

#[test]
fn a_snapshot_of_an_older_format_goes_on() {
    let source =
        "let h = [Task.run(\"a\", 1), Task.run(\"b\", 2)]\nlet all = await Promise.all(h)\nreturn all";
    for format in [1, 2, 3] {
        let mut run = Rehearsal::of(source);
        run.start("null");
        let older = run.snapshot().replace("\"format\":4", &format!("\"format\":{format}"));
        run.state.snapshot = Some(Snapshot::seal(format, older.into()));
        run.complete(2, "\"second\"");
        assert!(run.snapshot().contains(&format!("\"since\":{format},")), "{}", run.snapshot());
        assert_eq!(output(&run.complete(1, "\"first\"")), r#"["first","second"]"#);
    }
}

/// An earlier build did not keep all fields that this one keeps; the fields both keep must be equal.
#[test]
fn a_snapshot_that_an_older_format_began_is_compared_without_what_that_did_not_keep() {
    let source = "let g = Promise.all([Task.run(\"a\", 1), Task.run(\"b\", 2)])\ntry { await Signal.next(\"go\") } catch (e) { }\n\
        await Signal.next(\"on\")\nreturn 1";
    let mut run = Rehearsal::of(source);
    run.start("null");
    let failure = rhythm_core::failure::Failure::permanent("NO", "it failed");
    let failed =
        |task| MessageBody::TaskFailed(TaskFailed { task: CommandId(task), failure: failure.clone() });
    run.send("task:1", failed(1));
    run.send("cancel", MessageBody::Cancel(Cancel::because("enough")));
    let folded = run.snapshot();
    assert!(
        folded.contains(r#","thrown":"cancel""#) && folded.contains(r#","unread":{"3":"1-2"}"#),
        "{folded}"
    );
    let began = folded.replace(r#","thrown":"cancel""#, "").replace(r#","unread":{"3":"1-2"}"#, "");
    let began_before = began.replace(r#""commands":"#, r#""since":2,"commands":"#);
    let same = |stored: &str| {
        let seal = |text: &str| Snapshot::seal(4, text.into());
        run.flow.is_same(&seal(&folded), &seal(stored))
    };
    assert!(same(&folded) && same(&began_before), "{began_before}");
    assert!(!same(&began), "this build wrote all of it");
    assert!(!same(&began_before.replace(r#""position":"#, r#""position":1"#)));
}

#[test]
fn outcomes_nobody_can_reach_are_dropped() {
    let mut run = Rehearsal::of(
        "let a = Task.run(\"a\", {})\nlet n = 0\nwhile (n < 50) { let x = await Task.run(\"t\", {}) n = n + 1 }\nlet y = \
         await a",
    );
    run.start("null");
    run.complete(1, "\"kept\"");
    let small = run.snapshot().len();
    for task in 2..50 {
        run.complete(task, "\"gone\"");
    }
    assert!(run.snapshot().len() < small + 20, "{}", run.snapshot());
    assert!(run.snapshot().contains(r#""done":"kept""#) && !run.snapshot().contains("gone"));
}

#[test]
fn a_damaged_snapshot_is_refused_not_misread() {
    let source = "let h = Task.run(\"a\", {})\nlet x = await h";
    let mut run = Rehearsal::of(source);
    run.start("null");
    let good = run.snapshot();
    let damaged = [
        "".to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
        good.replace("\"position\":1", "\"position\":77"),
        good.replace("\"h\":", "\"other\":"),
        good.replace("\"task\":\"a\"", "\"task\":5"),
        good.replace("\"task\":\"a\",", ""),
        good.replace("\"task\":\"a\"", "\"task\":\"a\",\"signal\":\"b\""),
        good.replace("{\"$handle\":1}", "{\"$handle\":1,\"x\":2}"),
        good.replace("{\"$handle\":1}", "{\"$nonsense\":1}"),
        good.replace("\"format\":4", "\"format\":4,\"extra\":true"),
        good.replace("\"1\":{", "\"one\":{"),
        good.replace("\"task\":\"a\"", "\"group\":\"all\",\"of\":[1]"),
        good.replace("\"task\":\"a\"", "\"timeout\":[5,6]"),
        good[..good.len() - 2].to_owned(),
    ];
    for text in damaged {
        assert_ne!(text, good);
        run.set_snapshot(&text);
        let body = TaskCompleted { task: CommandId(1), attempt: 1, output: json("1") };
        let answer = run.try_send("task:1", MessageBody::TaskCompleted(body));
        assert!(matches!(answer, Err(ProgramError::BadSnapshot(_))), "{text}: {answer:?}");
    }
    run.state.snapshot = Some(Snapshot::seal(5, good.into()));
    let answer = run.try_send("x", MessageBody::TimerFired(TimerFired { timer: CommandId(9) }));
    assert_eq!(answer.unwrap_err(), ProgramError::UnknownFormat { found: 5, known: 4 });
}

#[test]
fn a_damaged_program_is_refused_not_run() {
    let run = Rehearsal::of(
        "let a = 1\ntry { a = Math.floor(a + 2) } catch (e) { }\nfor (let x of [a]) { log(x) }",
    );
    let good = run.flow.code().to_json();
    assert!(Flow::load(good.as_bytes()).is_ok());
    for (from, to) in [
        ("\"format\":1", "\"format\":9"),
        ("Math.floor", "Math.sneak"),
        ("{\"set\":[0,0]}", "{\"set\":[99,0]}"),
        ("{\"set\":[0,0]}", "{\"set\":[0,99]}"),
        ("{\"set\":[0,0]}", "{\"jump\":99}"),
        ("{\"chain\":[1,", "{\"chain\":[77,"),
        ("{\"return\":", "{\"evaluate\":"),
        ("\"target\":", "\"targets\":"),
        ("\"places\":[", "\"places\":[[1,1,0,1],"),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good, "{from} is not in {good}");
        assert!(matches!(Flow::load(bad.as_bytes()), Err(ProgramError::BadDefinition(_))), "{bad}");
    }
}

#[test]
fn blobs_are_asked_for_only_when_a_step_looks_inside() {
    let content = format!("{{\"a\":{}}}", "[1,2,3]");
    let blob = BlobRef::of(content.as_bytes());
    let mut run = Rehearsal::of("let x = await task(\"a\")\nawait task(\"b\", x)\nreturn x.a.length");
    run.start("null");
    let body = TaskCompleted { task: CommandId(1), attempt: 1, output: Payload::Blob(blob.clone()) };
    let asked = run.send("task:1", MessageBody::TaskCompleted(body));
    assert_eq!(task(&asked, 0).input, Payload::Blob(blob.clone()));
    assert!(run.snapshot().contains(&format!(r#""x":{{"$blob":"{}""#, blob.hash)), "{}", run.snapshot());
    let body =
        MessageBody::TaskCompleted(TaskCompleted { task: CommandId(2), attempt: 1, output: json("0") });
    match run.try_send("task:2", body.clone()) {
        Ok(Advance::NeedBlobs(wanted)) => assert_eq!(wanted, std::slice::from_ref(&blob)),
        other => panic!("{other:?}"),
    }
    run.blobs.insert(blob.hash, Arc::from(content.as_bytes()));
    assert_eq!(output(&run.send("task:2", body)), "3");
}

#[test]
fn several_blobs_inside_one_value_are_asked_for_at_once() {
    let mut run = Rehearsal::of("let x = await all([task(\"a\"), task(\"b\")])\nreturn JSON.stringify(x)");
    run.start("null");
    let body = |task, text: &str| {
        let output = Payload::Blob(BlobRef::of(text.as_bytes()));
        MessageBody::TaskCompleted(TaskCompleted { task: CommandId(task), attempt: 1, output })
    };
    run.send("task:1", body(1, "[1]"));
    match run.try_send("task:2", body(2, "[2]")) {
        Ok(Advance::NeedBlobs(wanted)) => assert_eq!(wanted.len(), 2),
        other => panic!("{other:?}"),
    }
    for text in ["[1]", "[2]"] {
        run.blobs.insert(BlobRef::of(text.as_bytes()).hash, Arc::from(text.as_bytes()));
    }
    assert_eq!(output(&run.send("task:2", body(2, "[2]"))), "\"[[1],[2]]\"");
}

#[test]
fn a_blob_too_large_to_hold_is_not_even_asked_for() {
    let mut run = Rehearsal::of("let x = await task(\"a\")\ntry { return x.a } catch (e) { return e.code }");
    run.start("null");
    let blob = BlobRef { hash: "sha256:00".into(), bytes: 1 << 40 };
    let body = TaskCompleted { task: CommandId(1), attempt: 1, output: Payload::Blob(blob) };
    assert_eq!(failure_code(&run.send("task:1", MessageBody::TaskCompleted(body))), "LIMIT_EXCEEDED");
}

/// Programs and snapshots of the first format, as they were written then. They must stay readable: a change
/// that makes this test fail needs a new format number beside the old one.
#[test]
fn what_was_stored_long_ago_goes_on() {
    let code = include_str!("../../compile/tests/golden.json");
    let mut run = Rehearsal::of("null");
    run.flow = Flow::load(code.as_bytes()).unwrap();
    run.set_snapshot(include_str!("golden_snapshot.json").trim_end());
    run.now = 1_000;
    let next = run.signal("m", "go", "{\"to\": \"Ghent\"}");
    let Command::StartChild(child) = &next.commands[0] else { panic!("{:?}", next.commands) };
    assert_eq!((&*child.workflow, child.input.text()), ("ship", Some("{\"to\":\"Ghent\"}")));
    let body = ChildCompleted { child: child.child, output: json("null") };
    let next = run.send("c", MessageBody::ChildCompleted(body));
    let totals =
        r#"{"id":"x-1","total":23.5,"note":null,"a b":[1,"two",true,false,null],"rounds":[{"n":3}]}"#;
    assert_eq!(task(&next, 0).input.text(), Some(totals));
    assert_eq!(output(&run.complete(task(&next, 0).task.0, "\"done\"")), "\"done\"");
}
