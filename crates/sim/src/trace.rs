//! What happened, in order: a digest always, so that two runs of a seed can be compared, and lines to read when
//! asked for.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::kernel::{Kernel, NOBODY, Owner};

pub struct Trace {
    kernel: Kernel,
    log: Mutex<Log>,
}

struct Log {
    digest: DefaultHasher,
    lines: Option<Vec<Line>>,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Line {
    pub at: u64,
    pub owner: Owner,
    pub text: String,
}

impl Line {
    pub fn show(&self) -> String {
        let who = if self.owner == NOBODY { "   ".to_owned() } else { format!("p{:<2}", self.owner.0) };
        format!("{:>10.3} s  {who}  {}", self.at as f64 / 1_000.0, self.text)
    }
}

impl Trace {
    pub fn new(kernel: Kernel, readable: bool) -> Self {
        let log = Log { digest: DefaultHasher::new(), lines: readable.then(Vec::new) };
        Self { kernel, log: Mutex::new(log) }
    }

    /// `what` and `key` go into the digest; `text` is only made when somebody will read it.
    pub fn note(&self, owner: Owner, what: &str, key: u64, text: impl FnOnce() -> String) {
        let at = self.kernel.now();
        let mut log = self.lock();
        (at, owner, what, key).hash(&mut log.digest);
        if let Some(lines) = &mut log.lines {
            let details = text();
            let text = if details.is_empty() { what.to_owned() } else { format!("{what}: {details}") };
            lines.push(Line { at, owner, text });
        }
    }

    /// Mixes the outcome into the digest.
    pub fn seal(&self, outcome: &str) -> u64 {
        let mut log = self.lock();
        outcome.hash(&mut log.digest);
        log.digest.finish()
    }

    pub fn lines(&self) -> Vec<Line> {
        self.lock().lines.clone().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
