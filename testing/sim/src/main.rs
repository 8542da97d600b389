//! `sim`: runs seeds, or replays one and prints its trace.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use rhythm_sim::case::{Case, Kept};
use rhythm_sim::faults::Fault;
use rhythm_sim::minimums;
use rhythm_sim::shrink::{shrink, story};
use rhythm_sim::sim::{Outcome, simulate};

// A fifth of the simulation time goes to short-lived small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Deterministic simulation of Rhythm.
#[derive(Parser)]
struct Arguments {
    /// Number of seeds to run.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Replay this seed, or the case in this file, instead: shrink it when it fails, and print what happened.
    #[arg(long, value_name = "SEED|FILE", conflicts_with_all = ["seeds", "from"])]
    replay: Option<String>,
    /// With --replay: print the whole trace of the case before it is shrunk.
    #[arg(long, requires = "replay")]
    whole: bool,
    /// With --replay: write the case to a file even when it passes, and do not shrink it.
    #[arg(long, requires = "replay")]
    keep: bool,
    /// Folder for failing cases.
    #[arg(long, default_value = "testing/sim/seeds")]
    folder: std::path::PathBuf,
    /// Number of seeds to run in parallel; the number of cores by default.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.replay.as_deref().map(case_of) {
        Some(Ok(case)) => replay(case, &arguments),
        Some(Err(problem)) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
        None => sweep(&arguments),
    }
}

/// Returns the case of a seed, or the case in a file.
fn case_of(named: &str) -> Result<Case, String> {
    match named.parse() {
        Ok(seed) => Ok(Case::of(seed)),
        Err(_) => Kept::read(Path::new(named)).map(|kept| kept.case),
    }
}

fn replay(case: Case, arguments: &Arguments) -> ExitCode {
    let seed = case.seed;
    let outcome = simulate(&case, arguments.whole);
    println!("seed {seed}: digest {:016x}, {} transitions", outcome.digest, outcome.transitions);
    if arguments.whole {
        outcome.lines.iter().for_each(|line| println!("{}", line.show()));
    }
    if arguments.keep {
        write_down(&Kept::new(case.clone(), &outcome), &arguments.folder);
    }
    if outcome.violations.is_empty() {
        println!("no violation");
        return ExitCode::SUCCESS;
    }
    tell_violations(seed, &outcome);
    if !arguments.keep {
        let (smallest, outcome) = tell(&case);
        write_down(&Kept::new(smallest, &outcome), &arguments.folder);
    }
    ExitCode::FAILURE
}

fn tell_violations(seed: u64, outcome: &Outcome) {
    for violation in &outcome.violations {
        println!("seed {seed} VIOLATION ({}): {}", violation.check, violation.what);
    }
}

fn write_down(kept: &Kept, folder: &Path) {
    match kept.write(folder) {
        Ok(path) => println!("written to {}; say there what it found and commit it", path.display()),
        Err(error) => eprintln!("it could not be written down: {error}"),
    }
}

/// Shrinks a failing case and prints its trace.
fn tell(case: &Case) -> (Case, Outcome) {
    let (smallest, outcome) = shrink(case);
    let seed = case.seed;
    let left_out: Vec<&str> =
        case.rates.keys().filter(|fault| !smallest.rates.contains_key(*fault)).map(String::as_str).collect();
    println!("\nseed {seed} fails. It needs none of: {}", left_out.join(", "));
    let actions = case.workload.actions.len() - smallest.workload.actions.len();
    println!("{actions} of its actions can be left out, too. What is left:\n");
    story(&outcome).iter().for_each(|line| println!("{line}"));
    println!();
    tell_violations(seed, &outcome);
    (smallest, outcome)
}

#[derive(Default)]
struct Totals {
    transitions: u64,
    runs: u64,
    virtual_ms: u64,
    faults: BTreeMap<Fault, u64>,
    statuses: BTreeMap<&'static str, u64>,
    collected: u64,
    failed: Vec<u64>,
}

impl Totals {
    fn add(&mut self, outcome: Outcome) {
        self.transitions += outcome.transitions;
        self.runs += outcome.runs as u64;
        self.virtual_ms += outcome.virtual_ms;
        self.collected += outcome.tally.get("blob collected").copied().unwrap_or_default();
        for (fault, count) in &outcome.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        for (status, count) in &outcome.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        if !outcome.violations.is_empty() {
            // Printed at once, so that the seed is known even if a later step hangs.
            tell_violations(outcome.seed, &outcome);
            self.failed.push(outcome.seed);
        }
    }

    fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }
}

/// Number of failing seeds after which the sweep stops.
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
                    if lock(&totals).failed.len() >= ENOUGH {
                        return;
                    }
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= arguments.seeds {
                        return;
                    }
                    let outcome = simulate(&Case::of(arguments.from + number), false);
                    let mut totals = lock(&totals);
                    totals.add(outcome);
                    progress(&told, &totals, number + 1, arguments.seeds);
                }
            });
        }
    });
    let totals = totals.into_inner().unwrap_or_default();
    report(&totals, next.into_inner().min(arguments.seeds), began.elapsed(), arguments)
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

fn report(totals: &Totals, seeds: u64, took: Duration, arguments: &Arguments) -> ExitCode {
    println!("\n| what | count |\n|---|---|");
    println!("| seeds | {seeds} |");
    println!("| runs | {} |", totals.runs);
    for (status, count) in &totals.statuses {
        println!("| runs {status} | {count} |");
    }
    println!("| transitions | {} |", totals.transitions);
    println!("| virtual hours | {} |", totals.virtual_ms / 3_600_000);
    println!("| blobs collected | {} |", totals.collected);
    println!("| seconds | {} |", took.as_secs());
    for (fault, count) in &totals.faults {
        println!("| fault: {} | {count} |", fault.name());
    }
    println!("| faults | {} |", totals.all_faults());
    let mut failed = totals.failed.clone();
    failed.sort_unstable();
    if let Some(seed) = failed.first() {
        let (smallest, outcome) = tell(&Case::of(*seed));
        write_down(&Kept::new(smallest, &outcome), &arguments.folder);
        println!("failing seeds: {failed:?}; tell one with: make replay SEED={seed}");
        return ExitCode::FAILURE;
    }
    let completed = totals.statuses.get("completed").copied().unwrap_or_default();
    let (transitions, faults) = (totals.transitions, totals.faults.clone());
    let seen = minimums::Seen { seeds, transitions, faults, completed, collected: totals.collected };
    match minimums::hold(&seen) {
        Ok(()) => ExitCode::SUCCESS,
        Err(missing) => {
            println!("\nINVALID: {missing}. What does not happen proves nothing.");
            ExitCode::FAILURE
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
