use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::event::{Event, EventData};
use rhythm_core::failure::Failure;
use rhythm_core::fold::advance;
use rhythm_core::fold::{Advance, Divergence, End, RunState};
use rhythm_core::id::CommandId;
use rhythm_core::id::{MessageId, RunId, TenantId, Version};
use rhythm_core::lineage::Lineage;
use rhythm_core::message::MessageBody;
use rhythm_core::message::{Actor, Cancel, Message, Start, TaskCompleted, TaskFailed, TimerFired};
use rhythm_core::payload::Blobs;
use rhythm_core::payload::Payload;
use rhythm_core::program::RunFacts;
use rhythm_core::state_at_event::*;
use rhythm_core::time::Timestamp;
use rhythm_flow::{Defaults, Flow, compile, parse};

struct Run {
    flow: Flow,
    facts: RunFacts,
    state: RunState,
    history: Vec<Event>,
}

impl Run {
    fn of(source: &str) -> Self {
        let flow = Flow::new(compile(&parse(source).file, source, Defaults::default()).unwrap()).unwrap();
        let mut run = Self { flow, facts: facts("r"), state: RunState::default(), history: Vec::new() };
        run.send("start", MessageBody::Start(Start { input: Payload::null() }));
        run
    }

    fn send(&mut self, id: &str, body: MessageBody) {
        let at = Timestamp(10 * (self.history.len() as i64 + 1));
        let message = Message { id: MessageId::new(id), at, actor: Actor::system(), trace: None, body };
        match advance(&self.flow, &self.facts, &self.state, &message, at, &Blobs::new()) {
            Ok(Advance::Advanced(advanced)) => {
                self.state = advanced.state;
                self.history.extend(advanced.events);
            }
            other => panic!("{other:?}"),
        }
    }

    fn complete(&mut self, task: u64) {
        let body = TaskCompleted { task: CommandId(task), attempt: 1, output: Payload::null() };
        self.send(&format!("task:{task}"), MessageBody::TaskCompleted(body));
    }

    fn past(&self, name: &str, seq: u64) -> Past {
        let rows = up_to(&self.history, seq).unwrap();
        refold::<Divergence>(Lineage::of(&self.flow, &facts(name)), rows, |_| Ok(Blobs::new())).unwrap()
    }
}

fn facts(run: &str) -> RunFacts {
    RunFacts {
        run: RunId::new(run),
        tenant: TenantId::default(),
        workflow: "w".into(),
        version: Version::of(b""),
        created_at: Timestamp(0),
    }
}

fn numbers<T>(of: &BTreeMap<CommandId, T>) -> Vec<u64> {
    of.keys().map(|number| number.0).collect()
}

#[test]
fn an_event_stands_for_the_transition_it_belongs_to() {
    let mut run = Run::of("let a = Task.run(\"a\", {})\nlet b = await Task.run(\"b\", {})\nawait a");
    run.complete(2);
    let ends: Vec<usize> = (1..=4).map(|seq| up_to(&run.history, seq).unwrap().len()).collect();
    assert_eq!(ends, [3, 3, 3, 4]);
    assert_eq!(up_to(&run.history, 5), None);
    assert_eq!(up_to(&run.history, 0), None);
}

#[test]
fn the_past_is_what_the_fold_was_and_what_was_under_way() {
    let mut run = Run::of(
        "let a = Task.run(\"a\", {}, { retries: 7 })\nawait Timer.delay(5)\nlet kid = Workflow.run(\"kid\", {})\n\
         await Task.run(\"b\", {})\nreturn 1",
    );
    let first = run.state.clone();
    run.send("timer:2", MessageBody::TimerFired(TimerFired { timer: CommandId(2) }));
    run.complete(4);
    let begun = run.past("r", 1);
    assert_eq!((begun.state, begun.end), (first, None));
    assert_eq!((numbers(&begun.open.tasks), numbers(&begun.open.timers)), (vec![1], vec![2]));
    assert_eq!(begun.open.tasks[&CommandId(1)].options.policy().max_attempts, 7);
    let later = run.past("r", 4);
    assert_eq!((numbers(&later.open.tasks), numbers(&later.open.timers)), (vec![1, 4], vec![]));
    assert_eq!(numbers(&later.open.children), [3]);
    let last = run.past("r", run.history.len() as u64);
    assert_eq!((&last.state, &last.events), (&run.state, &run.history));
    assert!(matches!(last.end, Some(End::Completed(_))));
    assert_eq!(numbers(&last.open.tasks), [1]);
}

#[test]
fn another_run_gets_a_past_of_its_own() {
    let mut run =
        Run::of("let kid = Workflow.run(\"kid\", { me: ctx.executionId })\nawait Task.run(\"b\", {})");
    run.complete(2);
    let other = run.past("other", 2);
    let child = other.events.iter().find_map(|row| match &row.data {
        EventData::ChildStarted(child) => {
            Some((child.run.to_string(), child.input.text().unwrap().to_owned()))
        }
        _ => None,
    });
    assert_eq!(child, Some(("other.1".into(), r#"{"me":"other"}"#.into())));
    // Under another id this program takes another branch, so the history does not fit it.
    let run =
        Run::of("if (ctx.executionId == \"r\") { await Task.run(\"a\", {}) } else { await Timer.delay(1) }");
    let gone =
        refold::<Divergence>(Lineage::of(&run.flow, &facts("other")), &run.history, |_| Ok(Blobs::new()));
    assert!(matches!(gone, Err(Divergence::Different { seq: 2, .. })), "{gone:?}");
}

#[test]
fn what_was_cancelled_still_owes_its_answer() {
    let mut run = Run::of(
        "let a = Task.run(\"a\", {})\ntry { await Task.run(\"b\", {}) } catch (e) { await Task.run(\"c\", {}) }",
    );
    run.send("cancel", MessageBody::Cancel(Cancel::because("enough")));
    let seq = run.history.len() as u64;
    let past = run.past("r", seq);
    assert_eq!(past.open.cancelled_tasks, BTreeSet::from([CommandId(1), CommandId(2)]));
    assert_eq!(numbers(&past.open.tasks), [3]);
    let failure = Failure::cancelled("stopped");
    run.send("task:1", MessageBody::TaskFailed(TaskFailed { task: CommandId(1), failure }));
    assert_eq!(run.past("r", seq + 1).open.cancelled_tasks, BTreeSet::from([CommandId(2)]));
}

#[test]
fn a_failed_run_is_as_it_was_before_what_failed_it() {
    let mut run = Run::of("await Task.run(\"a\", {})\nreturn 1");
    let failure = Failure::permanent("X", "no");
    run.send("task:1", MessageBody::TaskFailed(TaskFailed { task: CommandId(1), failure }));
    let past = run.past("r", 4);
    assert!(matches!(past.end, Some(End::Failed(_))));
    assert_eq!(numbers(&past.open.tasks), [1]);
}
