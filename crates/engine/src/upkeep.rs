//! Background duties, one file each, safe to run in every process at once. A tick runs the due ones.

mod blobs;
mod expired_tasks;
mod no_worker;
mod partitions;
mod retention;
mod schedules;
mod stuck;
mod sweep;

pub(crate) use no_worker::warn;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::{Millis, Timestamp};

use crate::process::Process;
use crate::world::WorldResult;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Duty {
    Sweep,
    Schedules,
    Overdue,
    Unserved,
    Stuck,
    Retention,
    Blobs,
    Prepare,
}

const DUTIES: [Duty; 8] = [
    Duty::Sweep,
    Duty::Schedules,
    Duty::Overdue,
    Duty::Unserved,
    Duty::Stuck,
    Duty::Retention,
    Duty::Blobs,
    Duty::Prepare,
];

/// Full scans use at most 1/SHARE of the time, because they are slow in a large database.
const SHARE: u64 = 20;

/// The background duties of one process.
pub struct Upkeep {
    process: Arc<Process>,
    /// When each duty last began and how long it took, on the process's own counter.
    last: Mutex<BTreeMap<Duty, (u64, u64)>>,
    /// When the first schedule fires, as far as this process knows.
    next_schedule: Mutex<Option<Timestamp>>,
}

/// Result of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickReport {
    pub runs_ready: bool,
    pub tasks_ready: bool,
    /// Whether more of the same work is due right now.
    pub more: bool,
}

impl Upkeep {
    pub fn new(process: Arc<Process>) -> Self {
        Self { process, last: Mutex::default(), next_schedule: Mutex::default() }
    }

    /// Runs the duties that are due. If one fails, the others still run, and the error is returned.
    /// `beside_wakes`: [`Engine::wake`](crate::engine::Engine::wake) handles many of the due timers.
    pub async fn tick(&self, beside_wakes: bool) -> WorldResult<TickReport> {
        let mut kept = TickReport::default();
        let mut failed = None;
        for duty in DUTIES {
            if !self.is_due(duty) {
                continue;
            }
            let began = self.process.time.own_millis();
            let process = &self.process;
            let outcome = match duty {
                Duty::Sweep => sweep::run(process, beside_wakes).await.map(|swept| kept = swept),
                Duty::Schedules => {
                    let fired = schedules::run(process).await;
                    // After an error, the next attempt comes at the next interval, not at once.
                    self.note_schedule(fired.as_ref().copied().unwrap_or_default());
                    fired.map(|_| ())
                }
                Duty::Overdue => expired_tasks::run(process).await,
                Duty::Unserved => no_worker::run(process).await,
                Duty::Stuck => stuck::run(process).await,
                Duty::Retention => retention::run(process).await,
                Duty::Blobs => blobs::run(process).await,
                Duty::Prepare => partitions::run(process).await,
            };
            let took = self.process.time.own_millis().saturating_sub(began);
            self.lock().insert(duty, (began, took));
            if let Err(error) = outcome {
                tracing::warn!(?duty, %error, "upkeep failed; it is tried again");
                failed = Some(error);
            }
        }
        match failed {
            Some(error) if kept == TickReport::default() => Err(error),
            _ => Ok(kept),
        }
    }

    /// Number of runs to wake up at once.
    pub fn line(&self) -> usize {
        sweep::line(&self.process, self.process.agenda.next())
    }

    /// Time the driver may sleep before something is due.
    pub fn pause(&self) -> Millis {
        let due = [self.process.agenda.next(), self.next_schedule()].into_iter().flatten().min();
        let poll = self.process.config.poll;
        due.map_or(poll, |due| self.process.time.until(due).min(poll))
    }

    fn next_schedule(&self) -> Option<Timestamp> {
        *self.next_schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_schedule(&self, next: Option<Timestamp>) {
        *self.next_schedule.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }

    fn is_due(&self, duty: Duty) -> bool {
        let Some((began, took)) = self.lock().get(&duty).copied() else { return true };
        let time = &self.process.time;
        let gone = time.own_millis().saturating_sub(began);
        if duty == Duty::Schedules && self.next_schedule().is_some_and(|due| time.until(due) == Millis::ZERO)
        {
            return true;
        }
        let every = match duty {
            // The driver decides when to call; every tick sweeps.
            Duty::Sweep => Millis::ZERO,
            Duty::Schedules => schedules::EVERY,
            Duty::Overdue => expired_tasks::EVERY,
            Duty::Unserved => no_worker::EVERY,
            Duty::Stuck => stuck::EVERY,
            Duty::Retention => retention::EVERY,
            Duty::Blobs => blobs::EVERY,
            Duty::Prepare => partitions::EVERY,
        };
        let looks_at_everything = matches!(duty, Duty::Unserved | Duty::Stuck);
        let rest = if looks_at_everything { took.saturating_mul(SHARE) } else { 0 };
        gone >= every.as_u64().max(rest)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Duty, (u64, u64)>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
