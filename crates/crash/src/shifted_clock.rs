//! A process's wall clock, set from outside while it runs: the C shim is preloaded and told where to look.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/clock.so"));

/// The clock of every process started with its environment.
#[derive(Debug)]
pub struct ShiftedClock {
    shim: PathBuf,
    offset: PathBuf,
    file: File,
    shifted: Mutex<i64>,
}

impl ShiftedClock {
    /// A clock that is right. The folder must be one the processes can look into.
    pub fn new(folder: &Path, name: &str) -> io::Result<Self> {
        let shim = folder.join(format!("{name}.so"));
        let offset = folder.join(format!("{name}.offset"));
        File::create(&shim)?.write_all(SHIM)?;
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&offset)?;
        file.write_all(&0i64.to_ne_bytes())?;
        // A database server runs as somebody else.
        for path in [&shim, &offset] {
            std::fs::set_permissions(path, Permissions::from_mode(0o644))?;
        }
        Ok(Self { shim, offset, file, shifted: Mutex::new(0) })
    }

    /// What a process needs to live by this clock.
    pub fn environment(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        vec![("LD_PRELOAD".into(), text(&self.shim)), ("RHYTHM_CLOCK_OFFSET".into(), text(&self.offset))]
    }

    /// Moves the clock by so many milliseconds, for all its processes at once; gives how wrong it is now.
    pub fn jump(&self, millis: i64) -> io::Result<i64> {
        let mut shifted = self.shifted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // In place and at once: the file is mapped, and eight aligned bytes are never seen half written.
        self.file.write_all_at(&(*shifted + millis).to_ne_bytes(), 0)?;
        *shifted += millis;
        Ok(*shifted)
    }

    /// How wrong the clock is.
    pub fn shifted(&self) -> i64 {
        *self.shifted.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// Asks a running process for its date, again and again.
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
        std::fs::remove_file(folder.path().join("clock.offset")).unwrap();
        let output = Command::new("true").envs(clock.environment()).output().unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot map"));
    }
}
