//! Properties of the compiler and the interpreter, with answers derived from bytes.

use rhythm_flow::examine;
use serde_json::{Value, json};

use crate::stage::{Answer, ENDLESS, Script, Way, play};

/// Largest number of messages a program gets.
const PATIENCE: usize = 60;

pub fn interpreter(source: &str, answers: &[u8]) {
    if !examine(source, false).checked.compiles() {
        return;
    }
    let script = script(answers);
    let straight = play(source, &script, Way::Straight);
    for way in [Way::Reloaded, Way::Twice] {
        let other = play(source, &script, way);
        match (&straight, &other) {
            (Ok(one), Ok(other)) => {
                assert!(one.same(other), "{way:?}: {source}\n{one:#?}\n{other:#?}");
            }
            // With doubled messages a program reaches the limit sooner.
            (Err(one), _) | (_, Err(one)) if one == ENDLESS => {}
            (one, other) => panic!("{way:?}: {source}\n{one:#?}\n{other:#?}"),
        }
    }
}

/// Builds a script from bytes, one byte per choice. When the bytes run out, the simplest choice is taken.
fn script(bytes: &[u8]) -> Script {
    let mut bytes = bytes.iter().map(|byte| usize::from(*byte));
    let mut roll = |sides: usize| bytes.next().unwrap_or_default() % sides;
    let mut script = Script {
        inputs: json!({"n": 3, "list": [1, 2], "name": "x", "big": {"blob": "large"}}),
        patience: Some(PATIENCE),
        ..Script::default()
    };
    script.large.insert("large".into(), json!({"n": 7, "list": ["x", "y"]}));
    let answers = (0..1 + roll(4)).map(|_| {
        let after = [0.0, 1.0, 2.5, 60.0][roll(4)];
        let answer = match roll(6) {
            0 | 1 => Answer::Ok(value(roll(12))),
            2 => Answer::Err(json!({"message": "bad", "code": "BAD", "attempts": 2, "data": {"$x": 1}})),
            3 => Answer::Ok(json!({"blob": "large"})),
            4 => Answer::Never,
            _ => Answer::Err(json!({"message": "m"})),
        };
        (answer, after)
    });
    let answers: Vec<_> = answers.collect();
    script.answers.insert("task *".into(), answers.clone());
    script.answers.insert("child *".into(), answers);
    for _ in 0..roll(4) {
        let (name, payload) = (["go", "approve", "s"][roll(3)], value(roll(12)));
        script.signals.push((name.into(), payload, roll(10) as f64));
    }
    if roll(4) == 1 {
        script.cancels.push(roll(10) as f64);
    }
    script
}

fn value(choice: usize) -> Value {
    match choice {
        0 => json!(null),
        1 => json!(1),
        2 => json!({"id": "t1", "status": "ok", "n": 2}),
        3 => json!([1, 2, 3]),
        4 => json!("text"),
        5 => json!({"$handle": 1, "$error": {"code": "X"}}),
        6 => json!(9_007_199_254_740_993_i64),
        7 => json!(-0.0),
        8 => json!(true),
        9 => json!({"status": "failed", "error": {"message": "m"}}),
        10 => json!([[], {}, [null]]),
        _ => json!(1e300),
    }
}
