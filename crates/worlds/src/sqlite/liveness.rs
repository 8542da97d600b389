//! Whether a process is alive: every handle holds a lock on a file of its own in a folder beside the database, and
//! the system releases it when the process dies, however it dies.

use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rhythm_engine::world::WorldResult;

use super::connect::Place;
use super::errors;

/// This handle's mark. It goes when the value is dropped.
pub struct Mark {
    pub handle: String,
    held: Option<(File, PathBuf)>,
}

impl Mark {
    pub fn set(place: &Place) -> WorldResult<Self> {
        let handle = fresh_id();
        let Some(folder) = folder(place) else { return Ok(Self { handle, held: None }) };
        let held = lock_new(&folder, &handle)
            .map_err(|error| errors::from_io(&folder.display().to_string(), &error))?;
        remove_dead(&folder);
        Ok(Self { handle, held: Some(held) })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some((file, path)) = self.held.take() {
            let _ = std::fs::remove_file(path);
            drop(file);
        }
    }
}

/// Tells whether other handles' processes are alive.
#[derive(Clone, Debug)]
pub struct Marks {
    folder: Option<PathBuf>,
}

impl Marks {
    pub fn of(place: &Place) -> Self {
        Self { folder: folder(place) }
    }

    /// A mark that cannot be looked at counts as alive: a silent worker is given up anyway, only later.
    pub fn is_alive(&self, handle: &str) -> bool {
        let Some(folder) = &self.folder else { return false };
        match File::open(folder.join(handle)) {
            Ok(file) => is_locked(&file),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Removes the file a dead process left.
    pub fn forget(&self, handle: &str) {
        if let Some(folder) = &self.folder {
            remove_if_dead(&folder.join(handle));
        }
    }
}

/// `<database>.workers`; a database in memory has no other processes.
pub fn folder(place: &Place) -> Option<PathBuf> {
    match place {
        Place::File(file) => {
            let mut folder = file.clone().into_os_string();
            folder.push(".workers");
            Some(folder.into())
        }
        Place::Memory { .. } => None,
    }
}

/// The file gets its name only once it is locked, so nobody ever sees it free while its owner lives.
fn lock_new(folder: &Path, handle: &str) -> io::Result<(File, PathBuf)> {
    std::fs::create_dir_all(folder)?;
    let unnamed = folder.join(format!(".{handle}"));
    let file = File::create_new(&unnamed)?;
    file.lock()?;
    let path = folder.join(handle);
    std::fs::rename(&unnamed, &path)?;
    Ok((file, path))
}

/// Cleans up after processes that never registered a worker.
fn remove_dead(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with('.') {
            remove_if_dead(&entry.path());
        }
    }
}

fn remove_if_dead(path: &Path) {
    if File::open(path).is_ok_and(|file| !is_locked(&file)) {
        let _ = std::fs::remove_file(path);
    }
}

/// Shared, so that those who look do not take each other for the owner.
fn is_locked(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => true,
    }
}

/// A name nobody else has: process, time, and keys the standard library draws at random.
pub fn fresh_id() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let random = RandomState::new().build_hasher().finish();
    format!("{}-{:x}-{random:016x}", std::process::id(), since.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_alive_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::File(folder.path().join("a.db"));
        let marks = Marks::of(&place);
        let mark = Mark::set(&place).unwrap();
        let other = Mark::set(&place).unwrap();
        assert!(marks.is_alive(&mark.handle) && marks.is_alive(&other.handle));
        let gone = mark.handle.clone();
        drop(mark);
        assert!(!marks.is_alive(&gone));
        assert!(marks.is_alive(&other.handle));
    }

    #[test]
    fn files_of_the_dead_are_removed_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::File(folder.path().join("a.db"));
        let marks = folder.path().join("a.db.workers");
        std::fs::create_dir_all(&marks).unwrap();
        std::fs::write(marks.join("dead"), "").unwrap();
        let _mark = Mark::set(&place).unwrap();
        assert!(!marks.join("dead").exists());
        assert_eq!(std::fs::read_dir(&marks).unwrap().count(), 1);
    }
}
