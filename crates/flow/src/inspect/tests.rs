use super::*;
use crate::machine::tests::Rehearsal;

fn described(source: &str) -> Description {
    let mut run = Rehearsal::of(source);
    run.start("{\"n\": 1}");
    describe(&run.flow, run.state.snapshot.as_ref().unwrap()).unwrap()
}

fn shown(variables: &Variables) -> String {
    let shown = variables.0.iter().map(|(name, value)| format!("{name}={}", value.to_stored()));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn position_and_waits_are_told_by_line() {
    let found = described(
        "let slow = Task.run(\"slow\", {})\nlet x = 1\n  await Promise.race([\n    slow,\n    Signal.next(\"go\"), \
         Task.timeout(Workflow.run(\"kid\", {}), 5)\n  ])",
    );
    assert_eq!((found.line, found.column, found.ended), (3, 3, false));
    let waits: Vec<_> =
        found.waiting_for.iter().map(|wait| (wait.kind, &*wait.name, wait.line, wait.command.0)).collect();
    assert_eq!(
        waits,
        [
            (WaitingKind::Task, "slow", 1, 1),
            (WaitingKind::Signal, "go", 3, 2),
            (WaitingKind::Child, "kid", 3, 3),
            (WaitingKind::Timer, "", 3, 4),
        ]
    );
    assert_eq!(found.waiting_for[3].until, Some(Timestamp(5_010)));
    assert_eq!(shown(&found.variables), "slow=\"[handle 1]\" x=1");
}

#[test]
fn variables_are_those_in_scope_by_their_own_names() {
    let found = described(
        "let x = 1\nlet gone\n{ let hidden = 1 }\nmade = [inputs.n, {z: 1, a: null}]\nfor (let i of [7, 8]) {\n  \
         let x = \"inner\"\n  await task(\"a\")\n}",
    );
    assert_eq!(found.line, 7);
    assert_eq!(shown(&found.variables), "made=[1,{\"z\":1,\"a\":null}] gone=null i=7 x=\"inner\"");
    let json = serde_json::to_string(&found).unwrap();
    assert!(json.contains(r#""variables":{"made":"#), "{json}");
    assert!(json.contains(r#""waiting_for":[{"kind":"task","name":"a","line":7,"command":1}]"#), "{json}");
}

#[test]
fn a_run_that_has_ended_waits_for_nothing() {
    let found = described("let x = 1\nreturn x");
    assert!(found.ended && found.waiting_for.is_empty());
    assert_eq!(found.line, 2);
}
