//! The drill uses every command and consumes every message; the fold around it ends runs as documented.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::command::Command;
use rhythm_core::drill::{Drill, Plan};
use rhythm_core::event::{Event, EventData};
use rhythm_core::failure::{Failure, codes};
use rhythm_core::fold::{Advance, Advanced, Divergence, End, RunState, advance, replay};
use rhythm_core::id::{CommandId, MessageId, RunId, TenantId, Version};
use rhythm_core::lineage::Lineage;
use rhythm_core::message::*;
use rhythm_core::payload::{BlobRef, Blobs, Payload};
use rhythm_core::program::{ProgramError, RunFacts, Snapshot};
use rhythm_core::time::Timestamp;
use serde_json::json;

/// A run driven by hand. Before each message the snapshot is stored and loaded again.
struct Rehearsal {
    drill: Drill,
    facts: RunFacts,
    state: RunState,
    history: Vec<Event>,
    blobs: Blobs,
    now: i64,
}

impl Rehearsal {
    fn of(plan: serde_json::Value) -> Self {
        let drill = Drill::parse(plan.to_string().as_bytes()).unwrap();
        let facts = RunFacts {
            run: RunId::new("parent.1"),
            tenant: TenantId::default(),
            workflow: "drill".into(),
            version: Version::of(b"drill"),
            created_at: Timestamp(0),
        };
        Self { drill, facts, state: RunState::default(), history: Vec::new(), blobs: Blobs::new(), now: 0 }
    }

    fn send(&mut self, id: &str, body: MessageBody) -> Advanced {
        self.send_as(Actor::system(), id, body)
    }

    fn send_as(&mut self, actor: Actor, id: &str, body: MessageBody) -> Advanced {
        self.now += 10;
        let message = Message { id: MessageId::new(id), at: Timestamp(self.now), actor, trace: None, body };
        match advance(&self.drill, &self.facts, &self.state, &message, Timestamp(self.now), &self.blobs) {
            Ok(Advance::Advanced(advanced)) => {
                self.state = advanced.state.clone();
                self.history.extend(advanced.events.clone());
                *advanced
            }
            other => panic!("{other:?}"),
        }
    }

    fn start(&mut self) -> Advanced {
        self.send("start", MessageBody::Start(Start { input: Payload::null() }))
    }

    fn complete(&mut self, task: u64, output: serde_json::Value) -> Advanced {
        let output = Payload::of(&output).unwrap();
        let body = TaskCompleted { task: CommandId(task), attempt: 1, output };
        self.send(&format!("task:{task}"), MessageBody::TaskCompleted(body))
    }

    fn fire(&mut self, timer: u64) -> Advanced {
        self.send(&format!("timer:{timer}"), MessageBody::TimerFired(TimerFired { timer: CommandId(timer) }))
    }

    fn cancel(&mut self) -> Advanced {
        self.send("cancel", MessageBody::Cancel(Cancel::because("enough")))
    }

    fn verify(&self) {
        let state = replay(Lineage::of(&self.drill, &self.facts), &self.history, |_| {
            Ok::<_, Divergence>(self.blobs.clone())
        });
        assert_eq!(state.unwrap(), self.state);
    }
}

fn task(name: &str) -> serde_json::Value {
    json!({"name": name})
}

fn output(advanced: &Advanced) -> &str {
    match &advanced.end {
        Some(End::Completed(output)) => output.text().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.data.kind()).collect()
}

#[test]
fn every_command_is_asked_for_and_every_message_consumed() {
    let mut run = Rehearsal::of(json!({"steps": [
        {"log": "hello"}, {"marker": "here"},
        {"task": task("one")},
        {"parallel": [task("two"), task("three")]},
        {"spawn": task("aside")},
        {"task_within": {"task": task("slow"), "timeout": "5s"}},
        {"sleep": 2},
        {"signal": {"name": "go", "timeout": "1m"}},
        {"send": {"to": "$parent", "name": "hi", "payload": [1]}},
        {"child": {"workflow": "kid"}},
        {"child_within": {"workflow": "kid", "timeout": "1s"}},
        {"spawn_child": {"workflow": "kid"}},
        {"approve": {"node": "boss"}},
        {"try_task": task("shaky")},
        {"repeat": {"times": 2, "task": task("again")}},
    ]}));
    let first = run.start();
    assert_eq!(kinds(&first.events), ["workflow_started", "log", "marker", "step_scheduled"]);
    run.complete(1, json!("a"));
    run.complete(4, json!("c"));
    let joined = run.complete(3, json!("b"));
    assert!(kinds(&joined.events).contains(&"parallel_completed"));
    // Task 5 is the spawned one, task 6 the slow one; 7 is the timer of task 6.
    assert_eq!(joined.commands.len(), 3);
    let late = run.fire(7);
    assert_eq!(late.commands[0], Command::CancelTask(CommandId(6)));
    let asleep = run.fire(8);
    assert_eq!(asleep.state.awaiting, BTreeSet::from(["go".to_owned()]));
    assert_eq!(kinds(&asleep.events), ["timer_fired", "timer_scheduled", "signal_requested"]);
    let signal = SignalReceived { name: "go".into(), payload: Payload::of(&json!({"x": 1})).unwrap() };
    let signalled = run.send("s1", MessageBody::Signal(signal));
    assert_eq!(signalled.commands[0], Command::CancelTimer(CommandId(9)));
    assert!(matches!(&signalled.commands[1], Command::SendSignal(s) if s.to.as_str() == "parent"));
    assert!(signalled.state.awaiting.is_empty());
    let kid = ChildCompleted { child: CommandId(11), output: Payload::of(&7).unwrap() };
    run.send("child:11", MessageBody::ChildCompleted(kid));
    let over = run.fire(13);
    assert_eq!(over.commands[0], Command::CancelChild(CommandId(12)));
    let decided = ApprovalDecided {
        approval: CommandId(15),
        decision: "approve".into(),
        by: "ann".into(),
        comments: String::new(),
        data: Payload::null(),
    };
    run.send("approval:15", MessageBody::ApprovalDecided(decided));
    let failed = TaskFailed { task: CommandId(16), failure: Failure::new("SHAKY", "no") };
    run.send("task:16", MessageBody::TaskFailed(failed));
    // The run no longer waits for these.
    run.complete(5, json!("aside"));
    run.complete(6, json!("late"));
    run.complete(17, json!(1));
    let done = run.complete(18, json!(2));
    assert_eq!(output(&done), r#"["a",["b","c"],null,{"x":1},7,null,"approve","SHAKY",1,2]"#);
    run.verify();
}

#[test]
fn history_has_no_gaps_and_every_caused_row_names_its_message() {
    let mut run = Rehearsal::of(json!({"steps": [{"parallel": [task("a"), task("b")]}, {"sleep": 1}]}));
    run.start();
    run.complete(2, json!(1));
    run.complete(3, json!(1));
    for (place, event) in run.history.iter().enumerate() {
        assert_eq!(event.seq, place as u64 + 1);
        assert_eq!(event.cause.is_some(), event.message.is_none());
    }
    assert_eq!(run.state.seq, run.history.len() as u64);
}

#[test]
fn a_changed_history_is_found() {
    let mut run = Rehearsal::of(json!({"steps": [{"task": task("a")}, {"task": task("b")}]}));
    run.start();
    run.complete(1, json!(1));
    run.verify();
    let whole = run.history.clone();
    run.history.remove(1);
    let gap =
        replay(Lineage::of(&run.drill, &run.facts), &run.history, |_| Ok::<_, Divergence>(Blobs::new()));
    assert_eq!(gap.unwrap_err(), Divergence::Gap { after: 1, found: 3 });
    run.history = whole;
    if let EventData::StepScheduled(step) = &mut run.history[1].data {
        step.name = "other".into();
    }
    let changed =
        replay(Lineage::of(&run.drill, &run.facts), &run.history, |_| Ok::<_, Divergence>(Blobs::new()));
    assert!(matches!(changed.unwrap_err(), Divergence::Different { seq: 2, .. }));
}

#[test]
fn a_failed_run_keeps_the_snapshot_from_before_its_failure_and_what_it_asked_for_happens() {
    let mut run = Rehearsal::of(
        json!({"steps": [{"task": task("a")}, {"spawn": task("b")}, {"fail": {"code": "X", "message": "y"}}]}),
    );
    let before = run.start().state.snapshot.unwrap();
    let failed = run.complete(1, json!(1));
    assert!(matches!(failed.end, Some(End::Failed(ref failure)) if failure.code == "X"));
    assert!(matches!(&failed.commands[..], [Command::RunTask(spawned)] if spawned.name == "b"));
    // Only the counter of command numbers has changed.
    let mut before: serde_json::Value = serde_json::from_slice(before.open().unwrap()).unwrap();
    before["commands"] = json!(2);
    let after = failed.state.snapshot.unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(after.open().unwrap()).unwrap(), before);
    run.verify();
}

#[test]
fn a_run_that_just_fails_keeps_its_snapshot_as_it_was() {
    let mut run =
        Rehearsal::of(json!({"steps": [{"task": task("a")}, {"fail": {"code": "X", "message": "y"}}]}));
    let before = run.start().state.snapshot;
    assert_eq!(run.complete(1, json!(1)).state.snapshot, before);
}

#[test]
fn a_cancelled_run_cleans_up_and_ends_cancelled_whatever_clean_up_returns() {
    for cleanup in [
        json!([{"task": task("undo")}]),
        json!([{"task": task("undo")}, {"fail": {"code": "X", "message": "y"}}]),
    ] {
        let mut run = Rehearsal::of(json!({"steps": [{"task": task("a")}], "cleanup": cleanup}));
        run.start();
        let asked = run.cancel();
        assert!(asked.cancel_open && asked.end.is_none());
        assert!(matches!(asked.commands[0], Command::RunTask(_)));
        let ended = run.complete(2, json!(null));
        assert!(matches!(ended.end, Some(End::Cancelled(_))));
        run.verify();
    }
}

#[test]
fn a_second_cancel_ends_the_run_at_once() {
    let mut run = Rehearsal::of(json!({"steps": [{"task": task("a")}], "cleanup": [{"task": task("undo")}]}));
    run.start();
    run.cancel();
    assert!(matches!(run.cancel().end, Some(End::Cancelled(_))));
}

/// Such a parent was, for example, opened again and failed again. A parent that was itself ended at once does
/// insist: its request ends the run.
#[test]
fn a_parent_that_asks_again_does_not_insist() {
    let mut run = Rehearsal::of(json!({"steps": [{"task": task("a")}], "cleanup": [{"task": task("undo")}]}));
    run.start();
    let parent = Actor::run(&rhythm_core::RunId::new("parent"));
    let ask = |run: &mut Rehearsal, id: &str, at_once| {
        let cancel = Cancel { at_once, ..Cancel::because("its parent was cancelled") };
        run.send_as(parent.clone(), id, MessageBody::Cancel(cancel))
    };
    assert!(ask(&mut run, "first", false).cancel_open);
    let again = ask(&mut run, "second", false);
    assert!(!again.cancel_open && again.end.is_none() && again.commands.is_empty());
    run.verify();
    assert!(matches!(ask(&mut run, "third", true).end, Some(End::Cancelled(_))));
    run.verify();
}

#[test]
fn a_run_that_never_started_is_cancelled_without_being_asked() {
    let mut run = Rehearsal::of(json!({"steps": [{"task": task("a")}], "cleanup": [{"task": task("undo")}]}));
    let ended = run.cancel();
    assert!(ended.commands.is_empty());
    assert!(matches!(ended.end, Some(End::Cancelled(_))));
}

#[test]
fn a_deadline_fails_the_run_without_asking_the_program() {
    let mut run = Rehearsal::of(json!({"steps": [{"task": task("a")}]}));
    run.start();
    let ended = run.send("deadline", MessageBody::DeadlineReached);
    assert!(matches!(ended.end, Some(End::Failed(failure)) if failure.code == codes::DEADLINE_EXCEEDED));
    assert!(ended.cancel_open);
}

#[test]
fn a_patch_replaces_what_is_left_to_do() {
    let mut run =
        Rehearsal::of(json!({"steps": [{"task": task("a")}, {"fail": {"code": "X", "message": "y"}}]}));
    run.start();
    let operations = Payload::of(&json!([{"task": task("a")}, {"keep": "patched"}])).unwrap();
    run.send("p1", MessageBody::Patch(Patched { operations, reason: "mend".into() }));
    assert_eq!(output(&run.complete(1, json!(1))), r#"[1,"patched"]"#);
    run.verify();
}

#[test]
fn a_step_asks_for_the_blobs_it_looks_into() {
    let mut run = Rehearsal::of(json!({"steps": ["measure_input"]}));
    let content = serde_json::to_vec(&"x".repeat(100)).unwrap();
    let reference = BlobRef::of(&content);
    let message = Message {
        id: MessageId::start(),
        at: Timestamp(1),
        actor: Actor::system(),
        trace: None,
        body: MessageBody::Start(Start { input: Payload::Blob(reference.clone()) }),
    };
    let asked =
        advance(&run.drill, &run.facts, &run.state, &message, Timestamp(1), &BTreeMap::new()).unwrap();
    assert_eq!(asked, Advance::NeedBlobs(vec![reference.clone()]));
    run.blobs.insert(reference.hash, content.into());
    let done = run.send("start", message.body);
    assert_eq!(output(&done), "[102]");
}

#[test]
fn large_values_leave_their_inline_place() {
    let large = "x".repeat(70_000);
    let mut run = Rehearsal::of(json!({"steps": [{"task": {"name": "a", "input": large}}, {"keep": large}]}));
    let started = run.start();
    assert_eq!(started.blobs.len(), 1);
    assert!(matches!(&started.commands[0], Command::RunTask(spec) if matches!(spec.input, Payload::Blob(_))));
    let done = run.complete(1, json!(1));
    assert!(matches!(done.end, Some(End::Completed(Payload::Blob(_)))));
    assert_eq!(done.blobs.len(), 1);
}

#[test]
fn time_never_goes_back_within_a_run() {
    let mut run = Rehearsal::of(json!({"steps": [{"task": task("a")}, {"sleep": 1}]}));
    run.start();
    run.now = -1_000_000;
    let at = run.complete(1, json!(1)).state.at;
    assert_eq!(at, Timestamp(10));
}

#[test]
fn an_unreadable_snapshot_is_an_error_not_a_panic() {
    let run = Rehearsal::of(json!({"steps": []}));
    let message = Message {
        id: MessageId::timer(CommandId(1)),
        at: Timestamp(1),
        actor: Actor::system(),
        trace: None,
        body: MessageBody::TimerFired(TimerFired { timer: CommandId(1) }),
    };
    let unsealed = Snapshot { format: 1, bytes: b"{}"[..].into() };
    for snapshot in [Snapshot::seal(1, b"{".into()), unsealed, Snapshot::seal(99, b"{}".into())] {
        let format = snapshot.format;
        let state = RunState { snapshot: Some(snapshot), ..RunState::default() };
        let error =
            advance(&run.drill, &run.facts, &state, &message, Timestamp(1), &Blobs::new()).unwrap_err();
        match format {
            99 => assert_eq!(error, ProgramError::UnknownFormat { found: 99, known: 1 }),
            _ => assert!(matches!(error, ProgramError::BadSnapshot(_))),
        }
    }
}

#[test]
fn every_flipped_bit_of_a_snapshot_is_found() {
    let sound = Snapshot::seal(1, br#"{"place":3,"kept":[1,2,3]}"#.into());
    assert!(sound.open().is_ok());
    for place in 0..sound.bytes.len() * 8 {
        let mut bytes = sound.bytes.to_vec();
        bytes[place / 8] ^= 1 << (place % 8);
        let hurt = Snapshot { format: 1, bytes: bytes.into() };
        assert!(hurt.open().is_err(), "bit {place}");
    }
}

#[test]
fn a_snapshot_above_the_limit_fails_the_run() {
    let chunk = "x".repeat(400_000);
    let mut run = Rehearsal::of(
        json!({"steps": [{"keep": chunk}, {"sleep": 1}, {"keep": chunk}, {"keep": chunk}, {"sleep": 1}]}),
    );
    let started = run.start();
    assert_eq!(kinds(&started.events).last(), Some(&"warning"));
    let ended = run.fire(1);
    assert!(matches!(ended.end, Some(End::Failed(failure)) if failure.code == codes::LIMIT_EXCEEDED));
}

/// Returns the commands of a program without their numbers, because kinds of programs number commands
/// differently.
fn asked(program: &dyn rhythm_core::program::Program, plan: &str) -> (Vec<String>, Option<End>) {
    let facts = Rehearsal::of(json!({"steps": []})).facts;
    let (mut state, mut asked, mut now, mut timer) = (RunState::default(), Vec::new(), 0, None);
    let start = MessageBody::Start(Start { input: Payload::of(&json!({"n": 1})).unwrap() });
    let mut inbox = std::collections::VecDeque::from([start]);
    loop {
        let body = match (inbox.pop_front(), state.awaiting.first().cloned()) {
            (Some(body), _) => body,
            (None, Some(name)) => MessageBody::Signal(SignalReceived { name, payload: Payload::null() }),
            // A timer fires only after every task, child and signal was answered.
            (None, None) => match timer.take() {
                Some(timer) => MessageBody::TimerFired(TimerFired { timer }),
                None => panic!("it waits for nothing: {plan}"),
            },
        };
        now += 10;
        let (at, id) = (Timestamp(now), MessageId::new(format!("m{now}")));
        let message = Message { id, at, actor: Actor::system(), trace: None, body };
        let advanced = match advance(program, &facts, &state, &message, at, &Blobs::new()) {
            Ok(Advance::Advanced(advanced)) => *advanced,
            other => panic!("{other:?}"),
        };
        for command in advanced.commands {
            match command {
                Command::RunTask(task) => {
                    asked.push(format!("{} {:?} {:?}", task.name, task.input, task.options));
                    let body = TaskCompleted { task: task.task, attempt: 1, output: Payload::null() };
                    inbox.push_back(MessageBody::TaskCompleted(body));
                }
                Command::StartTimer(started) => {
                    asked.push(format!("timer of {}", started.fire_at.since(at)));
                    timer = Some(started.timer);
                }
                Command::StartChild(child) => {
                    asked.push(format!("child {} {:?}", child.workflow, child.input));
                    let body = ChildCompleted { child: child.child, output: Payload::null() };
                    inbox.push_back(MessageBody::ChildCompleted(body));
                }
                Command::SendSignal(signal) => {
                    asked.push(format!("signal {} {} {:?}", signal.to, signal.name, signal.payload));
                }
                Command::CancelTask(_) | Command::CancelTimer(_) | Command::CancelChild(_) => {}
            }
        }
        state = advanced.state;
        if advanced.end.is_some() {
            return (asked, advanced.end);
        }
    }
}

#[test]
fn a_plan_as_a_flow_asks_for_the_same() {
    let odd = json!({"name": "odd", "input": {"n": 1, "text": "a\"b"}, "options": {
        "queue": "q", "priority": -1, "delay": "5s", "timeout": "10m", "deadline": "1h", "heartbeat_timeout": 3,
        "on_exhausted": "hold", "key": "k", "retries": {"max_attempts": 2, "backoff": "linear", "jitter": 0.5},
    }});
    let steps = json!([
        {"task": odd}, {"try_task": task("b")}, {"repeat": {"times": 3, "task": task("c")}},
        {"parallel": [task("d"), odd]}, {"parallel": []}, {"spawn": task("e")}, {"sleep": "1m"},
        {"task_within": {"task": task("f"), "timeout": "10s"}}, {"signal": {"name": "go"}},
        {"signal": {"name": "go", "timeout": "3s"}}, {"send": {"to": "$parent", "name": "hi", "payload": {"x": [1]}}},
        {"send": {"to": "r7", "name": "hi", "payload": null}}, {"child": {"workflow": "kid", "input": {"n": 1}}},
        {"child_within": {"workflow": "kid", "timeout": "2s"}}, {"spawn_child": {"workflow": "kid"}},
        {"log": "x"}, {"marker": "y"}, "measure_input", {"keep": [1, {"$a": null}]},
    ]);
    let steps = steps.as_array().unwrap().clone();
    for failing in [false, true] {
        let fail = json!({"fail": {"code": "PLANNED", "message": "no"}});
        let steps: Vec<_> = steps.iter().cloned().chain(failing.then_some(fail)).collect();
        let plan: Plan = serde_json::from_value(json!({"steps": steps, "cleanup": [{"task": odd}]})).unwrap();
        let text = plan.to_flow();
        let examined = rhythm_flow::examine(&text, false);
        assert!(!examined.checked.has_errors(), "{:#?}\n{text}", examined.checked.diagnostics);
        let code =
            rhythm_flow::compile(&examined.file, &text, rhythm_flow::Defaults::from(&examined.settings));
        let flow = rhythm_flow::Flow::new(code.unwrap()).unwrap();
        assert_eq!(Plan::of_flow(&text).as_ref(), Some(&plan));
        let (drilled, drill_end) = asked(&Drill::new(plan), &text);
        let (flowed, flow_end) = asked(&flow, &text);
        assert_eq!(flowed, drilled);
        match (flow_end, drill_end) {
            (Some(End::Failed(flow)), Some(End::Failed(drill))) => assert_eq!(flow, drill),
            (Some(End::Completed(_)), Some(End::Completed(_))) => assert!(!failing),
            ends => panic!("{ends:?}"),
        }
    }
}
