//! Every world against the reference model, `MemoryWorld`: generated sequences of requests, all
//! but tags, node types, forks and patches of workflows, are put to both, and every answer and all that can be read must be equal. A sequence that shows a
//! difference is made smaller until nothing can be taken out of it. The door is
//! [`model_suite!`](crate::model_suite).

mod build;
mod ledger;
mod look;
mod moves;
mod office;
mod pair;
mod play;
mod shapes;
mod steps;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestError, TestRunner};
use proptest_state_machine::ReferenceStateMachine;

use self::moves::{Move, any_move};
use self::pair::Pair;
use super::Stage;

/// How many moves a sequence has.
const LENGTH: std::ops::Range<usize> = 40..150;
/// The whole state is compared after so many moves, and at the end.
const LOOK_EVERY: usize = 40;

/// Makes the property test of a world: the cases to play, and a function that opens a fresh stage. Sequences
/// that failed are kept in `proptest-regressions/` beside the caller's `Cargo.toml` and played first.
#[macro_export]
macro_rules! model_suite {
    ($cases:expr, $stage:expr) => {
        #[test]
        fn any_requests_are_answered_as_the_reference_world_answers_them() {
            let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/", module_path!(), ".txt");
            $crate::model::check(kept, $cases, $stage);
        }
    };
}

/// Plays `cases` sequences, the same ones every time. `PROPTEST_CASES` asks for another number, of new ones.
pub fn check<F>(kept: &'static str, cases: u32, open: impl Fn() -> F)
where
    F: Future<Output = Box<dyn Stage>>,
{
    assert!(cases >= ENOUGH, "{cases} cases may not lead to every answer, {ENOUGH} do");
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(kept))),
        max_shrink_time: 100_000,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
        config.rng_seed = RngSeed::Fixed(0x5eed);
    }
    let played_cases = config.cases;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("the machine has threads");
    let tally = RefCell::new(BTreeMap::new());
    let played = TestRunner::new(config).run(&Game::sequential_strategy(LENGTH), |(_, moves, seen)| {
        let seen = runtime.block_on(async { play(open().await, moves, seen).await });
        for (answer, times) in seen {
            *tally.borrow_mut().entry(answer).or_insert(0) += times;
        }
        Ok(())
    });
    match played {
        Ok(()) => {}
        Err(TestError::Fail(difference, (_, moves, _))) => {
            let moves: Vec<String> = moves.iter().map(|each| format!("  {each:?}")).collect();
            panic!("{difference}\nafter these moves:\n{}", moves.join("\n"));
        }
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
    let tally = tally.into_inner();
    let wanted = MUST_COME_UP.iter().chain(SELDOM.iter().filter(|_| played_cases >= MANY));
    let absent: Vec<&&str> = wanted.filter(|answer| !tally.contains_key(**answer)).collect();
    assert!(
        played_cases < ENOUGH || absent.is_empty(),
        "the moves never led to {absent:?}, only to {tally:#?}"
    );
}

/// So many cases lead to every answer below but the seldom ones. Only who asks for fewer with `PROPTEST_CASES` gets fewer.
const ENOUGH: u32 = 40;
/// So many lead to those, too.
const MANY: u32 = 100;
/// Answers without which the game would prove little.
const MUST_COME_UP: &[&str] = &[
    "claimed step done",
    "claimed step stale",
    "claimed step done before",
    "claimed end done",
    "fused step done",
    "fused step stale",
    "fused end done",
    "find_due true",
    "woken step done",
    "woken step stale",
    "woken end done",
    "begun step done",
    "begun step stale",
    "begun end done",
    "claim_runs true",
    "claim_tasks true",
    "create_runs Exists",
    "create_runs Conflict",
    "enqueue_tasks Exists",
    "enqueue_tasks Conflict",
    "deliver Accepted",
    "deliver Duplicate",
    "deliver Ended",
    "deliver NotFound",
    "finish_tasks Done",
    "finish_tasks Stale",
    "PauseRun Ok(Done)",
    "Reopen Ok(Done)",
    "Reopen Err(WORLD007)",
    "TakeBack Ok(Done)",
    "TakeBack Err(WORLD007)",
    "RequeueDead Ok(Done)",
    "DiscardDead Ok(Done)",
    "CancelTask Ok(Done)",
    "Retain true",
    "MarkUnserved true",
];
const SELDOM: &[&str] = &["FireSchedule Ok(Done)"];

type Tally = BTreeMap<String, u64>;

async fn play(stage: Box<dyn Stage>, moves: Vec<Move>, seen: Option<Arc<AtomicUsize>>) -> Tally {
    let mut pair = Pair::on(stage).await;
    for (number, each) in moves.into_iter().enumerate() {
        if let Some(seen) = &seen {
            seen.fetch_add(1, Ordering::SeqCst);
        }
        pair.play(each).await;
        if number % LOOK_EVERY == LOOK_EVERY - 1 {
            pair.look().await;
        }
    }
    pair.look().await;
    pair.tally
}

/// The rules of the game: every move is allowed at any time. What a move means for the reference world is
/// decided when it is played, by the very requests the world under test gets.
struct Game;

impl ReferenceStateMachine for Game {
    type State = ();
    type Transition = Move;

    fn init_state() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn transitions(_: &()) -> BoxedStrategy<Move> {
        any_move().boxed()
    }

    fn apply(_: (), _: &Move) {}
}
