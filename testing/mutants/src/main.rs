//! `rhythm-mutants [--only NAME]...`: tries mutants, and writes the table when all were tried.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command that tells its progress")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rhythm_mutants::cargo::{Outcome, Workshop};
use rhythm_mutants::list::{self, Mutant};
use rhythm_mutants::{copy, table};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, String> {
    let root = list::root();
    let all = list::read(&root)?;
    let only = wanted()?;
    if let Some(unknown) = only.iter().find(|name| all.iter().all(|mutant| mutant.name != **name)) {
        return Err(format!("there is no mutant {unknown}"));
    }
    let chosen: Vec<&Mutant> =
        all.iter().filter(|mutant| only.is_empty() || only.contains(&mutant.name)).collect();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let home = target.join("mutants");
    let workshop = Workshop {
        tree: home.join("tree"),
        build: home.join("build"),
        log: home.join("cargo.log"),
        time_limit: Duration::from_secs(600),
    };
    fs::create_dir_all(&workshop.tree).map_err(|error| format!("{}: {error}", home.display()))?;
    let said = home.join("said");
    fs::create_dir_all(&said).map_err(|error| format!("{}: {error}", said.display()))?;
    let files = copy::refresh(&root, &workshop.tree)?;
    println!("{} mutants in a copy of {files} files; first the tests without them", chosen.len());
    if !sound(&workshop, &chosen)? {
        return Ok(false);
    }
    let mut results = Vec::new();
    for (place, mutant) in chosen.iter().enumerate() {
        let began = Instant::now();
        let result = attempt(&workshop, mutant)?;
        // Keeps the log, which shows whether the test failed because of the broken promise or for another
        // reason.
        fs::copy(&workshop.log, said.join(format!("{}.log", mutant.name)))
            .map_err(|error| format!("{}: {error}", said.display()))?;
        let seconds = began.elapsed().as_secs();
        println!("[{:>2}/{}] {:<32} {result} ({seconds} s)", place + 1, chosen.len(), mutant.name);
        results.push((*mutant, result.to_owned()));
    }
    let caught = results.iter().filter(|(_, result)| result == CAUGHT).count();
    println!("{caught} of {} caught", results.len());
    if only.is_empty() {
        let path = table::path(&root);
        fs::write(&path, table::page(&results, &state(&root)))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(caught == results.len())
}

const CAUGHT: &str = "caught";

/// Returns the tested commit, and whether there were uncommitted changes.
fn state(root: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(root).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "an unknown commit".into());
    match git(&["status", "--porcelain"]).is_none_or(|changes| changes.is_empty()) {
        true => commit,
        false => format!("{commit} and changes"),
    }
}

fn wanted() -> Result<Vec<String>, String> {
    let mut only = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => only.push(args.next().ok_or("--only needs the name of a mutant")?),
            other => return Err(format!("unknown argument {other}; usage: rhythm-mutants [--only NAME]...")),
        }
    }
    Ok(only)
}

/// Returns whether all chosen tests pass without faults. A test that already fails catches nothing.
fn sound(workshop: &Workshop, chosen: &[&Mutant]) -> Result<bool, String> {
    let mut binaries: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for mutant in chosen {
        let tests = binaries.entry((&mutant.package, &mutant.binary)).or_default();
        if !tests.contains(&mutant.test.as_str()) {
            tests.push(&mutant.test);
        }
    }
    for ((package, binary), tests) in binaries {
        let began = Instant::now();
        let outcome = workshop.run(package, binary, &tests)?;
        let seconds = began.elapsed().as_secs();
        println!("        {package} {binary}: {} tests, {outcome:?} ({seconds} s)", tests.len());
        if outcome != Outcome::Passed {
            eprintln!("mutants: without any mutant the tests must pass; see {}", workshop.log.display());
            return Ok(false);
        }
    }
    Ok(true)
}

/// Inserts the fault, runs its test, and removes the fault in any case.
fn attempt(workshop: &Workshop, mutant: &Mutant) -> Result<&'static str, String> {
    let file = workshop.tree.join(&mutant.file);
    let name = |error: std::io::Error| format!("{}: {error}", file.display());
    let text = fs::read_to_string(&file).map_err(name)?;
    fs::write(&file, mutant.apply(&text)?).map_err(name)?;
    let outcome = workshop.run_mutant(mutant);
    fs::write(&file, &text).map_err(name)?;
    Ok(match outcome? {
        Outcome::Failed => CAUGHT,
        Outcome::Passed => "SURVIVED",
        Outcome::OtherReason => "failed for another reason",
        Outcome::Unbuilt => "does not build",
        Outcome::TimedOut => "timed out",
        Outcome::Trouble(_) => "could not be run",
    })
}
