//! Fair turns for the writers of all processes. SQLite gives its lock to any process that asks, so one that
//! writes without a pause could starve the others. Writers therefore queue for file locks first. This is only
//! for fairness: SQLite's own lock gives the safety, and a writer that queued for too long goes on without a
//! turn.

use std::fs::{File, TryLockError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connect::Place;
use super::liveness::folder;

/// Pause between two tries to get a lock.
const LOOK_EVERY: Duration = Duration::from_micros(200);
/// Time limit for a turn: a process that hangs in its turn delays others by this much.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time limit for the queue is this multiple of a turn's, because a queue that moves is worth waiting
/// for.
const IN_LINE: u32 = 5;
/// Time after a failed wait for which this handle does not queue.
const OPEN_FOR: Duration = Duration::from_secs(5);

/// This handle's access to turns.
pub struct WriteQueue {
    locks: Option<Locks>,
    patience: Duration,
    open_until: Option<Instant>,
}

/// Only the first in line waits for the writer, and it keeps its place until it is the writer itself. So a
/// writer that comes again at once must queue behind it.
struct Locks {
    first_in_line: File,
    writing: Arc<File>,
}

/// A turn to write, until it is dropped.
pub struct Turn(Option<Arc<File>>);

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            let _ = file.unlock();
        }
    }
}

impl WriteQueue {
    /// Opens the lock files. A database in memory has one writer and needs no turns. Without the files there
    /// are no turns.
    pub fn of(place: &Place) -> Self {
        let open = |name: &str| {
            let path = folder(place)?.join(name);
            File::options().create(true).read(true).append(true).open(path).ok()
        };
        let locks = open(".first").zip(open(".writing"));
        let locks = locks.map(|(first_in_line, writing)| Locks { first_in_line, writing: Arc::new(writing) });
        Self { locks, patience: PATIENCE, open_until: None }
    }

    /// Waits for a turn, up to the time limit. The turn is empty if there was none in time.
    pub fn pass(&mut self) -> Turn {
        let now = Instant::now();
        let Some(locks) = &self.locks else { return Turn(None) };
        if self.open_until.is_some_and(|until| now < until) {
            return Turn(None);
        }
        let turn = locks.stand_in_line(self.patience);
        self.open_until = turn.0.is_none().then(|| now + OPEN_FOR);
        turn
    }
}

impl Locks {
    fn stand_in_line(&self, patience: Duration) -> Turn {
        if !lock(&self.first_in_line, patience * IN_LINE) {
            return Turn(None);
        }
        // Only the current writer is before us now.
        let turn = lock(&self.writing, patience).then(|| self.writing.clone());
        let _ = self.first_in_line.unlock();
        Turn(turn)
    }
}

fn lock(file: &File, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            // Time limit reached, or a file system without locks.
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turnstiles() -> (tempfile::TempDir, WriteQueue, WriteQueue) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::File(folder.path().join("a.db"));
        std::fs::create_dir(super::folder(&place).unwrap()).unwrap();
        let (one, other) = (WriteQueue::of(&place), WriteQueue::of(&place));
        (folder, one, other)
    }

    #[test]
    fn beside_one_who_writes_without_a_pause_others_get_their_turns() {
        let (_folder, mut busy, mut other) = turnstiles();
        // Long enough for a slow machine.
        (busy.patience, other.patience) = (Duration::from_secs(60), Duration::from_secs(60));
        let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let told = done.clone();
        let (wrote, first) = std::sync::mpsc::channel();
        let writes = std::thread::spawn(move || {
            let mut turns = 0;
            while !told.load(std::sync::atomic::Ordering::SeqCst) {
                let turn = busy.pass();
                assert!(turn.0.is_some());
                let _ = wrote.send(());
                std::thread::sleep(Duration::from_millis(2));
                turns += 1;
            }
            turns
        });
        first.recv().unwrap();
        for _ in 0..100 {
            assert!(other.pass().0.is_some());
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        // At most one turn of the other writer is between two of ours, and a few are before the first.
        let turns = writes.join().unwrap();
        assert!(turns < 300, "{turns} turns beside 100");
    }

    #[test]
    fn who_comes_later_stands_behind_the_first_in_line() {
        let (folder, mut busy, mut other) = turnstiles();
        let later = WriteQueue::of(&Place::File(folder.path().join("a.db"))).locks.unwrap();
        let turn = busy.pass();
        other.patience = Duration::from_secs(60);
        let waiting = std::thread::spawn(move || other.pass().0.is_some());
        let began = Instant::now();
        while later.first_in_line.try_lock().is_ok() {
            later.first_in_line.unlock().unwrap();
            assert!(began.elapsed() < Duration::from_secs(60), "nobody stands in line");
            std::thread::yield_now();
        }
        // The first in line keeps its place until the writer has gone.
        assert!(!lock(&later.first_in_line, Duration::from_millis(50)), "somebody else went before it");
        drop(turn);
        assert!(waiting.join().unwrap());
        assert!(lock(&later.first_in_line, Duration::from_secs(60)));
    }

    #[test]
    fn a_line_that_moves_is_not_left_however_long_it_is() {
        let (folder, mut first, mut other) = turnstiles();
        let place = Place::File(folder.path().join("a.db"));
        let turn = first.pass();
        other.patience = Duration::from_millis(200);
        // Another writer is first in line, for longer than a turn may take.
        let before = WriteQueue::of(&place).locks.unwrap();
        assert!(lock(&before.first_in_line, Duration::from_secs(60)));
        let waiting = std::thread::spawn(move || other.pass().0.is_some());
        // Longer than the limit for a turn, shorter than the limit for the queue.
        std::thread::sleep(Duration::from_millis(400));
        drop(turn);
        before.first_in_line.unlock().unwrap();
        assert!(waiting.join().unwrap());
    }

    #[test]
    fn one_who_stands_still_in_its_turn_holds_others_up_once() {
        let (_folder, mut frozen, mut other) = turnstiles();
        let turn = frozen.pass();
        assert!(turn.0.is_some());
        assert!(other.pass().0.is_none(), "it goes on without");
        assert!(other.open_until.is_some());
        let began = other.open_until;
        assert!(other.pass().0.is_none());
        assert_eq!(other.open_until, began, "and does not wait again");
        drop(turn);
        other.open_until = None;
        assert!(other.pass().0.is_some());
    }
}
