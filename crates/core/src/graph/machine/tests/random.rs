//! Made graphs with made answers in a made order, messages that come again, patches and cancels at any time. Whatever they
//! are, the laws hold after every message, a run ends or waits for something nobody gives it, and all three ways agree.
#![allow(clippy::print_stderr, reason = "what was played is shown when a test fails, and on demand")]

mod made;

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::stage::{Outcome, Stage, Stored, WAYS, Way, remember};
use crate::event::EventData;
use crate::message::Message;
use made::{Made, made};

/// Graphs that compile and are played; four tests of so many run side by side.
const GRAPHS: u32 = 1_250;
/// More messages than any of them needs.
const MOST_ROWS: usize = 5_000;

/// Delivers what can be delivered in the order of the moves. Timers keep to their time.
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
        // The start comes first, whoever else is early.
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

/// What there was to see of many runs.
#[derive(Debug, Default)]
struct Tally {
    ends: BTreeMap<&'static str, usize>,
    kinds: BTreeMap<String, usize>,
    /// Joins that took several tokens.
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

fn play(first: u8) {
    let config = Config {
        cases: GRAPHS,
        failure_persistence: None,
        max_global_rejects: 100 * GRAPHS,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[first; 32]));
    let tally = std::cell::RefCell::new(Tally::default());
    let played = runner.run(&made(), |made| {
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
    // The runs are worth something: enough of them complete, fail, are cancelled, meet and are patched. None is left
    // waiting, because in the end everybody answers; what they wait for on the way is one of the laws.
    for (end, least) in [("completed", 500), ("failed", 200), ("cancelled", 30)] {
        assert!(tally.ends.get(end).copied().unwrap_or_default() >= least, "{end}: {tally:#?}");
    }
    for kind in ["patch_adopted", "patch_refused", "approval_decided", "condition_evaluated", "timer_fired"] {
        assert!(tally.kinds.get(kind).copied().unwrap_or_default() >= 100, "{kind}: {tally:#?}");
    }
    assert!(tally.met >= 150, "{tally:#?}");
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
