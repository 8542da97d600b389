//! A small disk that can be filled: a file system in memory.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A file system that stays mounted until it is dropped.
pub struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    pub fn mount(megabytes: u32) -> io::Result<Self> {
        let folder = TempDir::with_prefix("rhythm-disk-")?;
        let size = format!("size={megabytes}m");
        let done =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output()?;
        if !done.status.success() {
            let why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            return Err(io::Error::other(format!("a small disk needs root and the right to mount: {why}")));
        }
        Ok(Self { folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn filler(&self) -> PathBuf {
        self.folder.path().join("filler")
    }

    /// Fills the disk to the last byte.
    pub fn fill(&self) -> io::Result<()> {
        let mut filler: File = OpenOptions::new().create(true).append(true).open(self.filler())?;
        for size in [1 << 16, 1 << 12, 1 << 8, 1] {
            let piece = vec![0; size];
            loop {
                match filler.write_all(&piece) {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    pub fn free(&self) -> io::Result<()> {
        std::fs::remove_file(self.filler())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}
