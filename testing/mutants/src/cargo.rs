//! Builds and runs one test in the copy, with a time limit.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::list::Mutant;

/// Exit code of nextest when tests failed; other codes mean that they could not be run.
const TESTS_FAILED: i32 = 100;
/// Exit code of nextest when no test has the name.
const NO_TESTS: i32 = 4;

const SIMULATION: &str = "rhythm-sim";

pub struct Workshop {
    pub tree: PathBuf,
    pub build: PathBuf,
    /// Output of the last cargo command.
    pub log: PathBuf,
    pub time_limit: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed,
    /// The test failed without the expected message.
    OtherReason,
    /// The mutant does not compile, so no test caught it.
    Unbuilt,
    /// Ended at our time limit; the test would have waited longer.
    TimedOut,
    /// The test does not exist, or cargo failed for another reason.
    Trouble(i32),
}

impl Workshop {
    /// Builds the tests, then runs exactly the given tests of one test binary.
    pub fn run(&self, package: &str, binary: &str, tests: &[&str]) -> Result<Outcome, String> {
        let built = self.cargo(package, binary, &["--no-run"], Duration::from_secs(3600))?;
        if !built.is_some_and(|status| status.success()) {
            return Ok(Outcome::Unbuilt);
        }
        let names: Vec<String> = tests.iter().map(|test| format!("test(={test})")).collect();
        let filter = names.join(" | ");
        let ended = self.cargo(package, binary, &["--no-fail-fast", "-E", &filter], self.time_limit)?;
        Ok(match ended.map(|status| status.code()) {
            None => Outcome::TimedOut,
            Some(Some(0)) => Outcome::Passed,
            Some(Some(TESTS_FAILED)) => Outcome::Failed,
            Some(Some(NO_TESTS)) => Outcome::Trouble(NO_TESTS),
            Some(code) => Outcome::Trouble(code.unwrap_or(-1)),
        })
    }

    pub fn run_mutant(&self, mutant: &Mutant) -> Result<Outcome, String> {
        let outcome = self.run(&mutant.package, &mutant.binary, &[&mutant.test])?;
        let Some(wanted) = mutant.says.as_ref().filter(|_| outcome == Outcome::Failed) else {
            return Ok(outcome);
        };
        let said =
            std::fs::read_to_string(&self.log).map_err(|error| format!("{}: {error}", self.log.display()))?;
        Ok(if said.contains(wanted) { Outcome::Failed } else { Outcome::OtherReason })
    }

    fn cargo(
        &self,
        package: &str,
        binary: &str,
        more: &[&str],
        limit: Duration,
    ) -> Result<Option<ExitStatus>, String> {
        let log = File::create(&self.log).map_err(|error| format!("{}: {error}", self.log.display()))?;
        let again = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new("cargo");
        command.args(["nextest", "run", "--locked", "--color", "never", "-p", package]);
        if package != SIMULATION {
            // Optimising takes most of the build time, and only simulations run long enough to need it.
            for built in ["rhythm-core", "rhythm-engine"] {
                command.args(["--config", &format!("profile.dev.package.{built}.opt-level=0")]);
            }
        }
        match binary {
            "lib" => command.arg("--lib"),
            _ => command.args(["--test", binary]),
        };
        let child = command
            .args(more)
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.build)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(again)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cargo: {error}"))?;
        wait(child, limit)
    }
}

/// Waits for the process. Returns None when it had to be ended at the time limit.
fn wait(mut child: Child, limit: Duration) -> Result<Option<ExitStatus>, String> {
    let began = Instant::now();
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok((!told).then_some(status));
        }
        let late = began.elapsed();
        if late > limit && !told {
            // nextest ends its tests on SIGTERM.
            told = true;
            signal("-TERM", child.id());
        } else if late > limit + Duration::from_secs(30) {
            signal("-KILL", child.id());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn signal(which: &str, group: u32) {
    // The process may have ended already.
    let _ = Command::new("kill").args([which, "--", &format!("-{group}")]).stderr(Stdio::null()).status();
}
