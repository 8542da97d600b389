//! A shim that makes a database server's syncs slow or fail while it runs.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::preload::Preload;

const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/disk.so"));
/// Positions of the shim's numbers.
const DELAY: usize = 0;
const TO_FAIL: usize = 1;
const SLOWED: usize = 2;
const FAILED: usize = 3;

/// Controls the syncs of every process started with its environment.
#[derive(Debug)]
pub struct FaultyDisk(Preload);

impl FaultyDisk {
    pub fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self(Preload::new(folder, "disk", SHIM, 4)?))
    }

    pub fn environment(&self) -> Vec<(String, String)> {
        self.0.environment("RHYTHM_DISK_ORDER")
    }

    /// Adds this delay to every sync from now on.
    pub fn delay(&self, by: Duration) -> io::Result<()> {
        self.0.tell(DELAY, i64::try_from(by.as_micros()).unwrap_or(i64::MAX))
    }

    /// Makes the next sync fail.
    pub fn fail_once(&self) -> io::Result<()> {
        self.0.tell(TO_FAIL, 1)
    }

    /// Returns the number of delayed syncs.
    pub fn slowed(&self) -> io::Result<u64> {
        Ok(self.0.told(SLOWED)?.unsigned_abs())
    }

    /// Returns the number of failed syncs.
    pub fn failed(&self) -> io::Result<u64> {
        Ok(self.0.told(FAILED)?.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_sync_is_slow_or_fails_when_told_so() {
        let folder = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::new(folder.path()).unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let sync = || Command::new("sync").arg(&file).envs(disk.environment()).output().unwrap();
        assert!(sync().status.success());
        disk.fail_once().unwrap();
        let output = sync();
        assert!(!output.status.success(), "the sync went well");
        assert!(String::from_utf8_lossy(&output.stderr).contains("Input/output error"));
        assert!(sync().status.success(), "only one fails");
        disk.delay(Duration::from_millis(1)).unwrap();
        assert!(sync().status.success());
        assert_eq!((disk.slowed().unwrap(), disk.failed().unwrap()), (1, 1));
    }
}
