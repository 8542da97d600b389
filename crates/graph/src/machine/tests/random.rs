//! Generated graphs with generated answers in a generated order, with repeated messages, and patches and
//! cancels at any time. The laws hold after every message, a run ends or waits for an answer that never
//! comes, and all three ways agree.
#![allow(clippy::print_stderr, reason = "what was played is shown when a test fails, and on demand")]

mod made;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rhythm_core::event::EventData;
use rhythm_core::message::Message;

use super::stage::{Outcome, Stage, Stored, WAYS, Way, remember};
use made::{Made, strips};

/// Number of graphs that compile and are played in each test. Four such tests run side by side.
const GRAPHS: u32 = 1_250;
/// More messages than any run needs.
const MOST_ROWS: usize = 5_000;

/// Delivers the deliverable messages in the order of the moves. Timers keep their time.
fn perform(stored: &Arc<Stored>, made: &Made, way: Way) -> Stage {
    let mut stage = Stage::on(stored, made.script.clone(), way);
    let mut moves = made.moves.iter();
    let mut delivered: Vec<Message> = Vec::new();
    while stage.end.is_none() {
        let now: Vec<usize> = stage.deliverable();
        let Some(earliest) = now.iter().map(|place| stage.pending[*place].0).min() else { break };
        let due: Vec<usize> =
            now.into_iter().filter(|place| stage.pending[*place].0 <= earliest.max(stage.now)).collect();
        let step = moves.next();
        if let Some(again) = step.and_then(|step| step.again)
            && let Some(message) = delivered.get(usize::from(again) % delivered.len().max(1))
        {
            stage.send_again(message);
        }
        // The start is always the first message.
        let chosen = step.map_or(0, |step| usize::from(step.next)) % due.len();
        let place = if delivered.is_empty() { 0 } else { due[chosen] };
        let message = stage.pending[place].1.clone();
        stage.deliver(place);
        remember(&mut delivered, message);
        assert!(stage.history.len() < MOST_ROWS, "does it ever end?");
    }
    stage.check();
    stage
}

/// Statistics over many runs.
#[derive(Debug, Default)]
struct Tally {
    ends: BTreeMap<&'static str, usize>,
    kinds: BTreeMap<String, usize>,
    /// Number of joins that consumed several tokens.
    met: usize,
}

impl Tally {
    fn add(&mut self, stage: &Stage, outcome: &Outcome) {
        *self.ends.entry(outcome.status).or_default() += 1;
        let mut taken: BTreeMap<u64, usize> = BTreeMap::new();
        for event in &stage.history {
            *self.kinds.entry(event.data.kind().to_owned()).or_default() += 1;
            if let EventData::NodeConsumed(token) = &event.data {
                *taken.entry(token.visit.unwrap_or_default()).or_default() += 1;
            }
        }
        self.met += taken.values().filter(|tokens| **tokens > 1).count();
    }
}

fn runner(graphs: u32, first: u8) -> TestRunner {
    let config = Config {
        cases: graphs,
        failure_persistence: None,
        max_global_rejects: 100 * graphs,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[first; 32]))
}

fn play(first: u8) {
    let mut runner = runner(GRAPHS, first);
    let tally = std::cell::RefCell::new(Tally::default());
    let played = runner.run(&strips(), |strips| {
        let made = strips.shuffled();
        let stored = Stored::of(&made.document);
        prop_assume!(stored.is_some());
        let stored = stored.unwrap();
        let stages = WAYS.map(|way| perform(&stored, &made, way));
        let outcomes = stages.each_ref().map(Stage::outcome);
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
        prop_assert_eq!(&outcomes[0], &outcomes[2]);
        prop_assert_eq!(&stages[0].history, &stages[1].history);
        tally.borrow_mut().add(&stages[0], &outcomes[0]);
        Ok(())
    });
    if let Err(failed) = played {
        panic!("{failed}");
    }
    let tally = tally.into_inner();
    eprintln!("{GRAPHS} graphs: {tally:#?}");
    // Checks that the runs are varied enough: enough of them complete, fail, are cancelled, join and are
    // patched. No run is left waiting, because every answer comes in the end; the laws check its waits on the
    // way.
    for (end, least) in [("completed", 500), ("failed", 200), ("cancelled", 30)] {
        assert!(tally.ends.get(end).copied().unwrap_or_default() >= least, "{end}: {tally:#?}");
    }
    for kind in ["patch_adopted", "patch_refused", "approval_decided", "condition_evaluated", "timer_fired"] {
        assert!(tally.kinds.get(kind).copied().unwrap_or_default() >= 100, "{kind}: {tally:#?}");
    }
    assert!(tally.met >= 150, "{tally:#?}");
}

/// Returns everything observable about a run, with the nodes renamed to `place0`, `place1` ... by index.
fn told_by_place(stage: &Stage, names: &[usize]) -> String {
    let outcome = stage.outcome();
    let failed = outcome.failure.as_ref().map(|failure| (&failure.code, &failure.kind));
    let (order, waiting, patches, path) = (&outcome.order, &outcome.waiting, stage.patches(), stage.path());
    let seen = (outcome.status, failed, order, waiting, outcome.counter, outcome.elapsed, patches, path);
    let text = format!("{seen:?} {}", outcome.output);
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric();
    let place_of = |word: &str| -> Option<usize> {
        let number: usize = word.strip_prefix('n')?.parse().ok()?;
        names.iter().position(|named| *named == number)
    };
    let mut told = String::new();
    for word in text.split_inclusive(|letter| !is_of_word(letter)) {
        let (name, rest) = word.split_at(word.find(|letter| !is_of_word(letter)).unwrap_or(word.len()));
        match place_of(name) {
            Some(place) => told.push_str(&format!("place{place}{rest}")),
            None => told.push_str(word),
        }
    }
    told
}

/// Checks that node names have no effect, for example on which join goes on first.
#[test]
fn a_run_comes_to_the_same_whatever_its_nodes_are_called() {
    let played = runner(GRAPHS / 2, 5).run(&strips(), |strips| {
        let (plain, shuffled) = (strips.in_order(), strips.shuffled());
        let stored = [&plain, &shuffled].map(|made| Stored::of(&made.document));
        let [Some(first), Some(second)] = stored else {
            prop_assert!(stored.iter().all(Option::is_none), "only one of them compiles");
            return Err(TestCaseError::reject("it does not compile"));
        };
        let in_order: Vec<usize> = (0..strips.names().len()).collect();
        let first = perform(&first, &plain, Way::Straight);
        let second = perform(&second, &shuffled, Way::Straight);
        prop_assert_eq!(told_by_place(&first, &in_order), told_by_place(&second, &strips.names()));
        Ok(())
    });
    if let Err(failed) = played {
        panic!("{failed}");
    }
}

#[test]
fn whatever_the_graph_the_laws_hold_and_every_way_comes_to_the_same_1() {
    play(1);
}

#[test]
fn whatever_the_graph_the_laws_hold_and_every_way_comes_to_the_same_2() {
    play(2);
}

#[test]
fn whatever_the_graph_the_laws_hold_and_every_way_comes_to_the_same_3() {
    play(3);
}

#[test]
fn whatever_the_graph_the_laws_hold_and_every_way_comes_to_the_same_4() {
    play(4);
}
