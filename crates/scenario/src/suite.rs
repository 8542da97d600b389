//! Plays many scenarios side by side, in one or three ways, and reports the results.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use rhythm_core::Timestamp;
use rhythm_sandbox::Sandbox;
use serde::Serialize;

use crate::file::Scenario;
use crate::outcome::Outcome;
use crate::stage::{Hint, Place, Played, Way, play_at};

/// Error codes of scenarios; each has a page in `docs/errors`. A difference from the expectations has no
/// code: the message names the key.
pub const CODES: [&str; 5] = [UNREAD, UNPLAYED, WAYS_DIFFER, UNANSWERED, PATCH_REFUSED];
const UNREAD: &str = "SCENARIO001";
const UNPLAYED: &str = "SCENARIO002";
const WAYS_DIFFER: &str = "SCENARIO003";
const UNANSWERED: &str = "SCENARIO004";
const PATCH_REFUSED: &str = "SCENARIO005";

/// Start of the virtual clock: noon of an arbitrary day.
const START: Timestamp = Timestamp(1_767_268_800_000);

#[derive(Clone, Debug)]
pub struct Options {
    /// Plays each scenario in all three ways, not only straight.
    pub three_ways: bool,
    /// Number of scenarios played side by side. The default is the number of cores.
    pub jobs: Option<NonZeroUsize>,
    /// Seed for the order of events at the same moment. 0 keeps the order of the script.
    pub seed: u64,
    /// Sandbox for the programs of graphs.
    pub sandbox: Sandbox,
}

/// Result of one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub name: String,
    pub passed: bool,
    pub problems: Vec<String>,
    /// Notes about a scenario that tests less than it seems to. They do not fail it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// `None` if the scenario could not be played.
    pub outcome: Option<Outcome>,
}

/// Plays one scenario and compares the outcome with the expectations.
pub fn run(scenario: &Scenario, options: &Options) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let played =
        runtime.map_err(|error| error.to_string()).map(|runtime| runtime.block_on(judge(scenario, options)));
    let (problems, played) = played.unwrap_or_else(|problem| (vec![problem], None));
    let (outcome, notes) = played.map(|played| (played.outcome, played.notes)).unzip();
    let (name, notes) = (scenario.name.clone(), notes.unwrap_or_default());
    Report { name, passed: problems.is_empty(), problems, notes, outcome }
}

async fn judge(scenario: &Scenario, options: &Options) -> (Vec<String>, Option<Played>) {
    if let Some(mistake) = &scenario.mistake {
        return (vec![format!("{UNREAD}: {mistake}")], None);
    }
    let place = || Place::in_memory(START, options.sandbox.clone());
    let played = match play_at(&place(), scenario, Way::Straight, options.seed).await {
        Ok(played) => played,
        Err(problem) => return (vec![format!("{UNPLAYED}: {problem}")], None),
    };
    let outcome = &played.outcome;
    let mut problems = expected(scenario, outcome);
    let others = Way::ALL.into_iter().filter(|way| options.three_ways && *way != Way::Straight);
    for way in others {
        match play_at(&place(), scenario, way, options.seed).await {
            Ok(other) if other.outcome == *outcome => {}
            Ok(other) => problems.push(difference(way, outcome, &other.outcome)),
            Err(problem) => problems.push(format!("{UNPLAYED}: {}: {problem}", word(way))),
        }
    }
    let mut played = played;
    for hint in std::mem::take(&mut played.hints) {
        match problems.is_empty() {
            false => problems.push(told(&hint)),
            true if !is_expected(scenario, &hint) => played.notes.push(told(&hint)),
            true => {}
        }
    }
    (problems, Some(played))
}

fn told(hint: &Hint) -> String {
    match hint {
        Hint::Unanswered { name, near } => {
            let near =
                near.as_ref().map(|near| format!("; did you mean it by `{near}`?")).unwrap_or_default();
            format!("{UNANSWERED}: the run waits for task `{name}`: `tasks` has no answer for it{near}")
        }
        Hint::PatchRefused { author, why } => {
            format!("{PATCH_REFUSED}: a patch by {author} was refused: {why}")
        }
    }
}

/// Whether the expectations already cover the hint.
fn is_expected(scenario: &Scenario, hint: &Hint) -> bool {
    let mut all = scenario.expect.iter().chain(scenario.any_of.iter().flatten());
    all.any(|expected| match hint {
        Hint::Unanswered { .. } => expected.status.is_some() || expected.waiting.is_some(),
        Hint::PatchRefused { .. } => expected.patch_rejected.is_some(),
    })
}

fn expected(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    if let Some(expected) = &scenario.expect {
        return expected.problems(outcome);
    }
    let Some(any_of) = &scenario.any_of else { return Vec::new() };
    let tried: Vec<Vec<String>> = any_of.iter().map(|expected| expected.problems(outcome)).collect();
    match tried.iter().any(Vec::is_empty) {
        true => Vec::new(),
        false => {
            let lines = tried
                .iter()
                .enumerate()
                .map(|(place, problems)| format!("any_of[{place}]: {}", problems.join("; ")));
            lines.collect()
        }
    }
}

fn word(way: Way) -> &'static str {
    match way {
        Way::Straight => "straight",
        Way::Reloaded => "reloaded after every transition",
        Way::Twice => "every message twice",
    }
}

/// Describes the first key in which two outcomes differ.
fn difference(way: Way, straight: &Outcome, other: &Outcome) -> String {
    let (a, b) = (serde_json::to_value(straight), serde_json::to_value(other));
    let (Ok(a), Ok(b)) = (a, b) else { return format!("{WAYS_DIFFER}: {}: another outcome", word(way)) };
    let key = a.as_object().into_iter().flatten().find(|(key, value)| b.get(*key) != Some(value));
    match key {
        Some((key, value)) => {
            format!("{WAYS_DIFFER}: {}: {key} is {}, straight it is {value}", word(way), b[key])
        }
        None => format!("{WAYS_DIFFER}: {}: another outcome", word(way)),
    }
}

/// Plays all scenarios, several at a time. Calls `tell` with each report in the order of the scenarios.
pub fn run_all(scenarios: &[Scenario], options: &Options, mut tell: impl FnMut(Report)) {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let jobs = options.jobs.map_or(cores, NonZeroUsize::get).min(scenarios.len().max(1));
    let next = AtomicUsize::new(0);
    let (sender, reports) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(scenario) = scenarios.get(place) else { return };
                    if sender.send((place, run(scenario, options))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut early = std::collections::BTreeMap::new();
        let mut told = 0;
        for (place, report) in reports {
            early.insert(place, report);
            while let Some(report) = early.remove(&told) {
                tell(report);
                told += 1;
            }
        }
    });
}
