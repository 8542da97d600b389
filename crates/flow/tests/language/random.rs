//! Random programs made from a seed. Each must do the same when the run is suspended, reloaded or gets
//! messages twice, and its history must fold to the same snapshot. A failing seed always fails.

use serde_json::json;

use crate::made::{Dice, Reply, Schedule};
use crate::stage::{Answer, Ending, Script, Way, play};

/// Total number of programs, unless `RHYTHM_RANDOM_PROGRAMS` sets another one.
const PROGRAMS: u64 = 1_500;
const SHARDS: u64 = 10;

/// Each shard plays its part of the programs; the shards run in parallel.
macro_rules! shards {
    ($($name:ident: $shard:expr,)*) => {
        $(#[test]
        fn $name() {
            play_shard($shard);
        })*
    };
}

shards! {
    random_programs_do_the_same_whichever_way_they_run_0: 0,
    random_programs_do_the_same_whichever_way_they_run_1: 1,
    random_programs_do_the_same_whichever_way_they_run_2: 2,
    random_programs_do_the_same_whichever_way_they_run_3: 3,
    random_programs_do_the_same_whichever_way_they_run_4: 4,
    random_programs_do_the_same_whichever_way_they_run_5: 5,
    random_programs_do_the_same_whichever_way_they_run_6: 6,
    random_programs_do_the_same_whichever_way_they_run_7: 7,
    random_programs_do_the_same_whichever_way_they_run_8: 8,
    random_programs_do_the_same_whichever_way_they_run_9: 9,
}

#[allow(clippy::disallowed_methods, reason = "a test may be told to play more")]
fn play_shard(shard: u64) {
    let asked = std::env::var("RHYTHM_RANDOM_PROGRAMS").ok().and_then(|count| count.parse().ok());
    let mut endings = [0; 4];
    for seed in (0..asked.unwrap_or(PROGRAMS)).filter(|seed| seed % SHARDS == shard) {
        endings[play_seed(seed)] += 1;
    }
    // Every ending must occur at least twice, else the generator is biased and tests little.
    assert!(endings.iter().all(|count| *count >= 2), "{endings:?}");
}

fn play_seed(seed: u64) -> usize {
    let mut dice = Dice::new(seed);
    let source = dice.program();
    let script = script(&dice.schedule());
    let straight = play(&source, &script, Way::Straight).unwrap_or_else(|e| panic!("{seed}: {e}\n{source}"));
    // The mixed way contains parts of the others; one program in ten also plays those completely.
    let whole = [Way::Reloaded, Way::Twice].into_iter().filter(|_| seed % 100 < 10);
    for way in whole.chain([Way::Mixed(seed)]) {
        let other = play(&source, &script, way).unwrap_or_else(|e| panic!("{seed}: {e}\n{source}"));
        assert!(other.same(&straight), "seed {seed} {way:?}\n{source}\n{other:#?}\n{straight:#?}");
    }
    match straight.ending {
        Ending::Completed(_) => 0,
        Ending::Failed { code, message, .. } => {
            // Limits may end a program, an internal error may not.
            assert!(!message.contains("lost its place"), "seed {seed}: {code} {message}\n{source}");
            1
        }
        Ending::Cancelled => 2,
        Ending::Waiting => 3,
    }
}

fn script(schedule: &Schedule) -> Script {
    let mut script =
        Script { inputs: json!({"n": 3, "list": [1, 2], "big": {"blob": "x"}}), ..Script::default() };
    for (name, replies) in &schedule.replies {
        let answers = replies.iter().map(|(reply, after)| {
            let answer = match reply {
                Reply::Number(number) => Answer::Ok(json!(number)),
                Reply::Object(number) => Answer::Ok(json!({"n": number, "$x": [1]})),
                Reply::Large => Answer::Ok(json!({"blob": "large"})),
                Reply::Failure => Answer::Err(json!({"message": "bad", "code": "BAD"})),
                Reply::Never => Answer::Never,
            };
            (answer, *after)
        });
        let kind = if *name == "kid" { "child" } else { "task" };
        script.answers.insert(format!("{kind} {name}"), answers.collect());
    }
    script.large.insert("large".into(), json!({"n": 7, "list": ["x", "y"]}));
    let signals = schedule.signals.iter();
    script.signals = signals.map(|(name, number, at)| (name.clone(), json!(number), *at)).collect();
    script.cancels.extend(schedule.cancel);
    script
}
