//! `sim`: runs seeds, or replays one and tells its story.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use rhythm_sim::shrink::{shrink, story};
use rhythm_sim::sim::{Options, Outcome, simulate};

/// Deterministic simulation of Rhythm.
#[derive(Parser)]
struct Arguments {
    /// How many seeds to run.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Replay this seed instead: shrink it when it fails, and tell what happened.
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    replay: Option<u64>,
    /// With --replay: tell everything, as the seed has it.
    #[arg(long, requires = "replay")]
    whole: bool,
    /// Seeds run side by side; as many as there are cores unless told.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.replay {
        Some(seed) => replay(seed, arguments.whole),
        None => sweep(&arguments),
    }
}

fn replay(seed: u64, whole: bool) -> ExitCode {
    let options = Options { seed, readable: whole, ..Options::default() };
    let outcome = simulate(&options);
    println!("seed {seed}: digest {:016x}, {} transitions", outcome.digest, outcome.transitions);
    if whole {
        outcome.lines.iter().for_each(|line| println!("{}", line.show()));
    }
    if outcome.violations.is_empty() {
        println!("no violation");
        return ExitCode::SUCCESS;
    }
    tell(seed);
    ExitCode::FAILURE
}

/// Shrinks a failing seed and prints its story.
fn tell(seed: u64) {
    let (smallest, outcome) = shrink(&Options { seed, ..Options::default() });
    let left_out: Vec<&str> = smallest.without.iter().map(|fault| fault.name()).collect();
    println!("\nseed {seed} fails. It needs none of: {}", left_out.join(", "));
    println!("{} of its actions can be left out, too. What is left:\n", smallest.skipped.len());
    story(&outcome).iter().for_each(|line| println!("{line}"));
    println!();
    for violation in &outcome.violations {
        println!("VIOLATION ({}): {}", violation.check, violation.what);
    }
    println!("replay it with: make replay SEED={seed}");
}

#[derive(Default)]
struct Totals {
    transitions: u64,
    runs: u64,
    virtual_ms: u64,
    faults: BTreeMap<&'static str, u64>,
    failed: Vec<(u64, String)>,
}

impl Totals {
    fn add(&mut self, outcome: Outcome) {
        self.transitions += outcome.transitions;
        self.runs += outcome.runs as u64;
        self.virtual_ms += outcome.virtual_ms;
        for (fault, count) in outcome.faults {
            *self.faults.entry(fault.name()).or_default() += count;
        }
        if let Some(first) = outcome.violations.first() {
            self.failed.push((outcome.seed, format!("{}: {}", first.check, first.what)));
        }
    }

    fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }
}

/// After so many failing seeds there is enough to look at.
const ENOUGH: usize = 20;

fn sweep(arguments: &Arguments) -> ExitCode {
    let threads =
        arguments.threads.or_else(|| std::thread::available_parallelism().ok().map(|n| n.get())).unwrap_or(1);
    let (totals, next) = (Mutex::new(Totals::default()), AtomicU64::new(0));
    let began = Instant::now();
    let told = Mutex::new(Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= arguments.seeds || lock(&totals).failed.len() >= ENOUGH {
                        return;
                    }
                    let options = Options { seed: arguments.from + number, ..Options::default() };
                    let outcome = simulate(&options);
                    let mut totals = lock(&totals);
                    totals.add(outcome);
                    progress(&told, &totals, number + 1, arguments.seeds);
                }
            });
        }
    });
    let totals = totals.into_inner().unwrap_or_default();
    report(&totals, next.into_inner().min(arguments.seeds), began.elapsed())
}

fn progress(told: &Mutex<Instant>, totals: &Totals, done: u64, all: u64) {
    let mut told = lock(told);
    if told.elapsed() < Duration::from_secs(2) {
        return;
    }
    *told = Instant::now();
    eprintln!(
        "{done:>8} of {all} seeds  {:>10} transitions  {:>9} faults  {} failing",
        totals.transitions,
        totals.all_faults(),
        totals.failed.len()
    );
}

fn report(totals: &Totals, seeds: u64, took: Duration) -> ExitCode {
    println!("\n| what | count |\n|---|---|");
    println!("| seeds | {seeds} |");
    println!("| runs | {} |", totals.runs);
    println!("| transitions | {} |", totals.transitions);
    println!("| virtual hours | {} |", totals.virtual_ms / 3_600_000);
    println!("| seconds | {} |", took.as_secs());
    for (fault, count) in &totals.faults {
        println!("| fault: {fault} | {count} |");
    }
    println!("| faults | {} |", totals.all_faults());
    let mut failed = totals.failed.clone();
    failed.sort();
    for (seed, what) in &failed {
        println!("\nseed {seed}: {what}");
    }
    match failed.first() {
        None => ExitCode::SUCCESS,
        Some((seed, _)) => {
            tell(*seed);
            ExitCode::FAILURE
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
