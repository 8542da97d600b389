//! Liveness of processes: every handle locks a file of its own in a folder beside the database. The system
//! releases the lock when the process dies, in whatever way.

use std::fs::{File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rhythm_engine::world::WorldResult;

use super::connect::Place;
use super::errors;

/// This handle's mark, a locked file. It is removed when the value is dropped.
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

/// Checks whether the processes of other handles are alive.
#[derive(Clone, Debug)]
pub struct Marks {
    folder: Option<PathBuf>,
}

impl Marks {
    pub fn of(place: &Place) -> Self {
        Self { folder: folder(place) }
    }

    /// A mark that cannot be read counts as alive: a silent worker still expires, only later.
    pub fn is_alive(&self, handle: &str) -> bool {
        let Some(folder) = &self.folder else { return false };
        match File::open(folder.join(handle)) {
            Ok(file) => is_locked(&file),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Removes the mark of a dead process.
    pub fn forget(&self, handle: &str) {
        if let Some(folder) = &self.folder {
            remove_if_dead(&folder.join(handle));
        }
    }
}

/// Returns the folder `<database>.workers`. A database in memory has none, because no other process uses it.
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

/// Creates a locked mark. The file gets its name after it is locked, so no process sees it unlocked while its
/// owner lives.
fn lock_new(folder: &Path, handle: &str) -> io::Result<(File, PathBuf)> {
    std::fs::create_dir_all(folder)?;
    let unnamed = folder.join(format!(".{handle}"));
    let file = File::create_new(&unnamed)?;
    file.lock()?;
    let path = folder.join(handle);
    std::fs::rename(&unnamed, &path)?;
    Ok((file, path))
}

/// Removes the marks of dead processes, also of those that never registered a worker.
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

/// Tries a shared lock, so that two processes that check at once do not take each other for the owner.
fn is_locked(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => true,
    }
}

/// Returns a unique name: process id, time, and random keys of the standard library.
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
