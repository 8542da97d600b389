//! C shims that are preloaded into a process and controlled through a memory-mapped file.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A shim and the file with its numbers.
#[derive(Debug)]
pub struct Preload {
    shim: PathBuf,
    told: PathBuf,
    file: File,
}

impl Preload {
    /// Writes the shim and its file into a folder that the processes can read. All numbers start at zero.
    pub fn new(folder: &Path, name: &str, shim: &[u8], numbers: usize) -> io::Result<Self> {
        let place = |suffix: &str| folder.join(format!("{name}.{suffix}"));
        let preload = Self {
            shim: place("so"),
            told: place("told"),
            file: OpenOptions::new()
                .create(true)
                .truncate(true)
                .read(true)
                .write(true)
                .open(place("told"))?,
        };
        File::create(&preload.shim)?.write_all(shim)?;
        for place in 0..numbers {
            preload.tell(place, 0)?;
        }
        // A database server runs as another user, and some shims write their counts.
        for path in [&preload.shim, &preload.told] {
            std::fs::set_permissions(path, Permissions::from_mode(0o666))?;
        }
        Ok(preload)
    }

    /// Returns the environment that loads this shim into a process. The variable names the shim's file.
    pub fn environment(&self, variable: &str) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        vec![("LD_PRELOAD".into(), text(&self.shim)), (variable.into(), text(&self.told))]
    }

    /// Sets a number, which takes effect at once: the file is mapped, and writes of eight aligned bytes are
    /// atomic.
    pub fn tell(&self, place: usize, number: i64) -> io::Result<()> {
        self.file.write_all_at(&number.to_ne_bytes(), place as u64 * 8)
    }

    pub fn told(&self, place: usize) -> io::Result<i64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, place as u64 * 8)?;
        Ok(i64::from_ne_bytes(bytes))
    }
}
