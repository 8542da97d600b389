//! Compares every world with the reference model, `MemoryWorld`: generated sequences of requests (all but
//! tags, node types, forks and patches of workflows) go to both, and every response and everything readable
//! must be equal. A sequence that shows a difference is shrunk until no move can be removed. Entry:
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

/// Number of moves in a sequence.
const LENGTH: std::ops::Range<usize> = 40..150;
/// Number of moves after which the whole state is compared, which also happens at the end.
const LOOK_EVERY: usize = 40;

/// Makes the property test of a world, from the number of cases and a function that opens a fresh stage.
/// Failed sequences are stored in `proptest-regressions/` beside the caller's `Cargo.toml` and played first.
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

/// Plays `cases` sequences, the same ones every time. `PROPTEST_CASES` sets another number and draws new
/// sequences.
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

/// Number of cases that produce every response listed below except the rare ones. Only `PROPTEST_CASES` can
/// set fewer.
const ENOUGH: u32 = 40;
/// Number of cases that produce the rare ones too.
const MANY: u32 = 100;
/// Responses that must occur, or the test would prove little.
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

/// The state machine of proptest: every move is allowed at any time. The meaning of a move is decided when it
/// is played, by the same requests that the world under test gets.
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
