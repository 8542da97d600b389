//! Messages folded together give the same history, commands and snapshot as messages folded one by one.

use rhythm_core::failure::Failure;
use rhythm_core::fold::{Advance, Advanced, Fold, RunState};
use rhythm_core::id::{CommandId, MessageId};
use rhythm_core::message::*;
use rhythm_core::time::Timestamp;

use super::{Rehearsal, json};

/// Programs whose tasks have numbers 1 to 6.
const PROGRAMS: &[&str] = &[
    "let h = []\nfor (let n of [1, 2, 3, 4, 5, 6]) { h = h.concat([Task.run(\"t\", n)]) }\nlet a = await Promise.all(h)\nlog(\"all\")\nreturn a",
    "let h = [Task.run(\"t\", 1), Task.run(\"t\", 2), Task.run(\"t\", 3)]\nTask.run(\"alone\", 4)\nlet a = await Promise.all(h)\nlet b = await Task.run(\"t\", a)\nreturn await Promise.all([Task.run(\"t\", b)])",
    "let h = [Task.run(\"t\", 1), Task.run(\"t\", 2), Task.run(\"t\", 3)]\nreturn await Promise.all([h[0], h[0], h[1], h[2]])",
    "let x = Promise.allSettled([Task.run(\"t\", 1), Task.run(\"t\", 2)])\nlet y = Promise.any([Task.run(\"t\", 3), Task.run(\"t\", 4)])\nlet z = Promise.race([Task.run(\"t\", 5), Task.run(\"t\", 6)])\nreturn await Promise.all([x, y, z])",
    "let h = []\nfor (let n of [1, 2, 3, 4, 5]) { h = h.concat([Task.run(\"t\", n, { settle: n < 3 })]) }\ntry { return await Promise.all(h) } catch (e) {\nlet rest = await Promise.allSettled(h)\nreturn [e.code, rest] }",
    "let h = Task.run(\"t\", 1)\nlet g = Promise.all([Task.run(\"t\", 2), Task.run(\"t\", 3)])\nlet s = await Signal.when(\"go\", { timeout: 60 })\nlet a = await h\nlet b = await g\nreturn [a, b, s]",
    "Task.map(\"t\", [1, 2, 3, 4], { concurrency: 2 })\nlet s = await Signal.next(\"go\")\nreturn s",
    "Task.map(\"t\", [1, 2, 3, 4, 5], { concurrency: 3, settle: true })\nlet h = Task.run(\"t\", 0)\nlet s = await Signal.next(\"go\")\nlet a = await h\nreturn [s, a]",
    "let m = Task.map(\"t\", [1, 2, 3, 4, 5], { concurrency: 2, settle: true })\nlet n = Task.map(\"t\", [6, 7], { concurrency: 1 })\nlet s = await Signal.when(\"go\", { timeout: 60 })\nlet a = await Promise.any([m, n])\nreturn [s, a]",
    "let h = [Task.run(\"t\", 1), Task.run(\"t\", 2)]\nlet r = Promise.race([Task.map(\"t\", [1, 2, 3], { concurrency: 1 }), h[0]])\nlet first = await r\nlet rest = await Promise.allSettled(h)\nreturn [first, rest]",
];

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Returns results of tasks in any order: some twice, some of unknown tasks, some failures.
    fn messages(&mut self) -> Vec<Message> {
        (0..12).map(|nth| self.message(nth)).collect()
    }

    fn message(&mut self, nth: u64) -> Message {
        let task = CommandId(1 + self.below(8));
        let body = match self.below(6) {
            0 => MessageBody::TaskFailed(TaskFailed { task, failure: Failure::new("NO", "it failed") }),
            1 => MessageBody::TimerFired(TimerFired { timer: task }),
            _ => {
                let output = json(["1", "\"two\"", "{\"n\":[3]}", "1e400"][self.below(4) as usize]);
                MessageBody::TaskCompleted(TaskCompleted { task, attempt: 1, output })
            }
        };
        let (id, at) = (MessageId::new(format!("m:{nth}")), Timestamp(100 + nth as i64));
        Message { id, at, actor: Actor::system(), trace: None, body }
    }
}

/// Folds the messages until the run ends; `together` announces how many more follow each one.
fn fold(rehearsal: &Rehearsal, messages: &[Message], together: bool) -> (RunState, Vec<Advanced>) {
    let mut fold = Fold::new(&rehearsal.flow, rehearsal.facts.clone());
    let (mut state, mut all) = (rehearsal.state.clone(), Vec::new());
    for (place, message) in messages.iter().enumerate() {
        let more = if together { messages.len() - place - 1 } else { 0 };
        let step = fold.advance(&mut state, message, (message.at, &rehearsal.blobs), more);
        let Ok(Advance::Advanced(advanced)) = step else { panic!("{step:?}") };
        state = advanced.state.clone();
        all.push(*advanced);
        if all.last().is_some_and(|advanced| advanced.end.is_some()) {
            break;
        }
    }
    all.last_mut().unwrap().blobs.extend(fold.settle(&mut state));
    (state, all)
}

#[test]
fn folding_together_is_folding_one_by_one() {
    for source in PROGRAMS {
        let mut rehearsal = Rehearsal::of(source);
        rehearsal.start("{}");
        for seed in 0..400 {
            let messages = Dice(seed).messages();
            let (one_by_one, apart) = fold(&rehearsal, &messages, false);
            let (at_once, together) = fold(&rehearsal, &messages, true);
            assert_eq!(at_once, one_by_one, "seed {seed} of\n{source}");
            assert_eq!(together.len(), apart.len(), "seed {seed} of\n{source}");
            for (together, apart) in together.iter().zip(&apart) {
                assert_eq!(together.events, apart.events, "seed {seed} of\n{source}");
                assert_eq!(together.commands, apart.commands, "seed {seed} of\n{source}");
                assert_eq!(together.end, apart.end, "seed {seed} of\n{source}");
                assert_eq!(together.settled, apart.settled, "seed {seed} of\n{source}");
            }
        }
    }
}
