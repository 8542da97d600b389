//! Events of a simulation in order. A digest of all contents is always computed, so that two runs of a seed
//! can be compared; readable lines are kept on request.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::executor::{Kernel, NOBODY, Owner};
use crate::faults::Fault;
use crate::fnv::Fnv;

pub struct Trace {
    kernel: Kernel,
    log: Mutex<Log>,
}

struct Log {
    digest: Fnv,
    lines: Option<Vec<Line>>,
}

/// One event of the trace.
#[derive(Clone, Debug)]
pub struct Line {
    pub at: u64,
    pub owner: Owner,
    pub text: String,
    /// True for faults and their consequences, which are always shown.
    pub struck: bool,
}

impl Line {
    pub fn show(&self) -> String {
        let who = if self.owner == NOBODY { "   ".to_owned() } else { format!("p{:<2}", self.owner.0) };
        format!("{:>10.3} s  {who}  {}", self.at as f64 / 1_000.0, self.text)
    }
}

impl Trace {
    pub fn new(kernel: Kernel, readable: bool) -> Self {
        let log = Log { digest: Fnv(Fnv::START), lines: readable.then(Vec::new) };
        Self { kernel, log: Mutex::new(log) }
    }

    /// Records an event. `what` and `content` go into the digest; `text` is only built when lines are kept.
    pub fn note(&self, owner: Owner, what: &str, content: &dyn Debug, text: impl FnOnce() -> String) {
        self.write(owner, what, content, false, text);
    }

    /// Records a fault that happens now.
    pub fn strike(&self, owner: Owner, fault: Fault, text: impl FnOnce() -> String) {
        self.write(owner, &format!("FAULT {}", fault.name()), &(), true, text);
    }

    /// Records an event that surrounds faults: start and end of processes and pauses, requests during an
    /// outage, the calm.
    pub fn mark(&self, owner: Owner, what: &str, text: impl FnOnce() -> String) {
        self.write(owner, what, &(), true, text);
    }

    fn write(
        &self,
        owner: Owner,
        what: &str,
        content: &dyn Debug,
        struck: bool,
        text: impl FnOnce() -> String,
    ) {
        let at = self.kernel.now();
        let mut log = self.lock();
        log.digest.bytes(&at.to_le_bytes());
        log.digest.bytes(&owner.0.to_le_bytes());
        log.digest.bytes(what.as_bytes());
        let _ = write!(log.digest, "{content:?}");
        if let Some(lines) = &mut log.lines {
            let details = text();
            let text = if details.is_empty() { what.to_owned() } else { format!("{what}: {details}") };
            lines.push(Line { at, owner, text, struck });
        }
    }

    /// Adds the outcome to the digest and returns it.
    pub fn seal(&self, outcome: &str) -> u64 {
        let mut log = self.lock();
        log.digest.bytes(outcome.as_bytes());
        log.digest.0
    }

    pub fn lines(&self) -> Vec<Line> {
        self.lock().lines.clone().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
