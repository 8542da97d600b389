//! Kills a process at its N-th sync, write or send, counted over all of its threads.

use std::io;
use std::path::Path;

use crate::preload::Preload;

const SHIM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/points.so"));
/// Positions of the shim's numbers.
const CALLS: usize = 0;
const DIE_AT: usize = 1;
const MET: usize = 2;

/// Kind of call that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    Sync = 1,
    Write = 2,
    Send = 3,
}

/// The points of one process, which must be started with their environment.
#[derive(Debug)]
pub struct Points(Preload);

impl Points {
    /// Counts these calls.
    pub fn watch(folder: &Path, name: &str, calls: Calls) -> io::Result<Self> {
        let preload = Preload::new(folder, name, SHIM, 3)?;
        preload.tell(CALLS, calls as i64)?;
        Ok(Self(preload))
    }

    /// Kills the process at the beginning of the given call, counted from 1.
    pub fn die_at(self, point: u64) -> io::Result<Self> {
        self.0.tell(DIE_AT, i64::try_from(point).unwrap_or(i64::MAX))?;
        Ok(self)
    }

    pub fn environment(&self) -> Vec<(String, String)> {
        self.0.environment("RHYTHM_POINTS_ORDER")
    }

    /// Returns the number of calls so far.
    pub fn met(&self) -> io::Result<u64> {
        Ok(self.0.told(MET)?.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_dies_at_the_call_it_was_told_and_at_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|name| folder.path().join(name));
        for file in &files {
            std::fs::write(file, "x").unwrap();
        }
        let sync = |points: &Points| {
            let status = Command::new("sync").args(&files).envs(points.environment()).status().unwrap();
            (status.signal(), points.met().unwrap())
        };
        let watch = |calls| Points::watch(folder.path(), "points", calls).unwrap();
        assert_eq!(sync(&watch(Calls::Sync)), (None, 2));
        assert_eq!(sync(&watch(Calls::Sync).die_at(2).unwrap()), (Some(9), 2));
        assert_eq!(sync(&watch(Calls::Sync).die_at(3).unwrap()), (None, 2));
        assert_eq!(sync(&watch(Calls::Send).die_at(1).unwrap()), (None, 0));
    }
}
