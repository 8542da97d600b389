//! A wall clock of processes that is set from outside while they run, by a preloaded C shim.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use crate::preload::Preload;

const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/clock.so"));

/// Controls the clock of every process started with its environment.
#[derive(Debug)]
pub struct ShiftedClock {
    preload: Preload,
    shifted: Mutex<i64>,
}

impl ShiftedClock {
    /// Creates a correct clock. The processes must be able to read the folder.
    pub fn new(folder: &Path, name: &str) -> io::Result<Self> {
        Ok(Self { preload: Preload::new(folder, name, SHIM, 1)?, shifted: Mutex::new(0) })
    }

    /// Returns the environment that puts a process under this clock.
    pub fn environment(&self) -> Vec<(String, String)> {
        self.preload.environment("RHYTHM_CLOCK_OFFSET")
    }

    /// Moves the clock of all its processes at once by these milliseconds. Returns its total error.
    pub fn jump(&self, millis: i64) -> io::Result<i64> {
        let mut shifted = self.shifted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.preload.tell(0, *shifted + millis)?;
        *shifted += millis;
        Ok(*shifted)
    }

    /// Returns the current error of the clock in milliseconds.
    pub fn shifted(&self) -> i64 {
        *self.shifted.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::*;

    /// Reads the date of a running process several times.
    #[test]
    fn a_running_process_sees_its_clock_jump_both_ways() {
        let folder = tempfile::tempdir().unwrap();
        let clock = ShiftedClock::new(folder.path(), "clock").unwrap();
        let mut child = Command::new("bash")
            .args(["-c", "while read -r _; do printf '%(%s)T\\n' -1; done"])
            .envs(clock.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut asking = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seconds = || -> i64 {
            asking.write_all(b"\n").unwrap();
            lines.next().unwrap().unwrap().parse().unwrap()
        };
        let first = seconds();
        clock.jump(3_600_000).unwrap();
        assert!(seconds() >= first + 3_600);
        assert_eq!(clock.jump(-2 * 3_600_500).unwrap(), -3_601_000);
        let back = seconds();
        assert!(back < first, "{back} is not before {first}");
        assert_eq!(clock.shifted(), -3_601_000);
        drop(asking);
        child.wait().unwrap();
    }

    #[test]
    fn a_shim_that_cannot_work_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let clock = ShiftedClock::new(folder.path(), "clock").unwrap();
        std::fs::remove_file(folder.path().join("clock.told")).unwrap();
        let output = Command::new("true").envs(clock.environment()).output().unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot map"));
    }
}
