//! Progress messages for the user.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shortest time between two counts.
const EVERY: Duration = Duration::from_secs(2);

pub struct Progress {
    say: Box<dyn Fn(&str) + Send + Sync>,
    /// Prefix of every line.
    about: String,
    counted: Mutex<Instant>,
}

impl Progress {
    pub fn new(about: impl Into<String>, say: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { say: Box::new(say), about: about.into(), counted: Mutex::new(Instant::now()) }
    }

    pub fn silent() -> Self {
        Self::new("", |_| {})
    }

    pub fn say(&self, what: &str) {
        (self.say)(&format!("{}: {what}", self.about));
    }

    /// Prints a count, often enough to show that it moves.
    pub fn count(&self, what: &str, done: u64, of: u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.elapsed() >= EVERY {
            *counted = Instant::now();
            self.say(&format!("{done} of {of} {what}"));
        }
    }
}
