//! Stepping any program ends and never panics.

use proptest::prelude::*;
use rhythm_core::failure::Failure;

use super::*;
use crate::arbitrary::{Flavour, program};

/// Compiles a program if possible and plays it: results, failures, signals and a cancellation in turn.
fn rehearse(source: &str, bytes: &[u8]) {
    let parsed = parse(source);
    let Ok(code) = compile(&parsed.file, source, Defaults::default()) else { return };
    let flow = Flow::new(code).unwrap();
    let mut run = Rehearsal { flow, ..Rehearsal::of("null") };
    let mut last = run.start(r#"{"items": [1, {"a": null}], "n": 3}"#);
    for (place, byte) in bytes.iter().enumerate() {
        if last.end.is_some() {
            return;
        }
        let number = CommandId(u64::from(byte % 8) + 1);
        let awaited = run.state.awaiting.first().cloned().unwrap_or_default();
        let failure = Failure::new("X", "failed");
        let body = match byte / 32 {
            0 | 1 => {
                MessageBody::TaskCompleted(TaskCompleted { task: number, attempt: 1, output: json("[1]") })
            }
            2 => MessageBody::TaskFailed(TaskFailed { task: number, failure }),
            3 | 4 => MessageBody::TimerFired(TimerFired { timer: number }),
            5 => MessageBody::Signal(SignalReceived { name: awaited, payload: json("{}") }),
            6 => MessageBody::ChildFailed(ChildFailed { child: number, failure }),
            _ => MessageBody::Cancel(Cancel::because(String::new())),
        };
        last = run.send(&place.to_string(), body);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_program_steps_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), sound: bool) {
        let flavour = if sound { Flavour::Sound } else { Flavour::Syntax };
        let program = program(&bytes, flavour);
        rehearse(&program.text(), &bytes);
        rehearse(&program.mutated(&bytes), &bytes);
    }
}
