//! Memory of the players: their claims, what they sent, and every name that was used.

use rhythm_core::{CommandId, RunId, TaskId, Timestamp};
use rhythm_engine::world::*;

use super::moves::{Pick, Who};

/// From this number on, a run that never existed.
pub const NOBODY: u8 = 12;

#[derive(Default)]
pub struct Ledger {
    /// Number of moves so far, the source of fresh ids.
    pub moves: u64,
    pub claimed: Vec<Held<ClaimedRun>>,
    pub due: Vec<Held<DueRun>>,
    pub taken: Vec<Held<Taken>>,
    pub sent: Vec<(Who, CommitItem)>,
    pub runs: Vec<(usize, RunId)>,
    pub tasks: Vec<(usize, TaskId)>,
    pub timers: Vec<(usize, RunId, CommandId)>,
    pub workflow_was_paused: bool,
    /// When the next work is due, by the last sweep.
    pub next_due: Option<Timestamp>,
}

pub struct Held<T> {
    pub who: Who,
    pub what: T,
    pub spent: bool,
}

impl<T> Held<T> {
    pub fn is_of(&self, who: Who) -> bool {
        self.who.tenant == who.tenant && self.who.worker == who.worker
    }
}

#[derive(Clone)]
pub struct Taken {
    pub task: ClaimedTask,
    pub row: Option<RunRow>,
}

impl Ledger {
    pub fn know_run(&mut self, who: Who, run: &RunId) {
        let known = (who.tenant, run.clone());
        if !self.runs.contains(&known) {
            self.runs.push(known);
        }
    }

    pub fn know_task(&mut self, who: Who, task: &TaskId) {
        let known = (who.tenant, task.clone());
        if !self.tasks.contains(&known) {
            self.tasks.push(known);
        }
    }

    /// Returns a run by a small number: one of the known runs, newest first, or one that never existed.
    pub fn run(&self, who: Who, number: u8) -> RunId {
        let known: Vec<&RunId> =
            self.runs.iter().rev().filter(|(tenant, _)| *tenant == who.tenant).map(|(_, run)| run).collect();
        match known.is_empty() || number >= NOBODY {
            true => RunId::new("nobody"),
            false => known[usize::from(number) % known.len()].clone(),
        }
    }

    pub fn task(&self, who: Who, pick: Pick) -> Option<TaskId> {
        let known: Vec<&TaskId> =
            self.tasks.iter().filter(|(tenant, _)| *tenant == who.tenant).map(|(_, task)| task).collect();
        from_the_end(&known, pick).map(|task| (*task).clone())
    }

    pub fn task_of(&self, who: Who, run: &RunId, pick: Pick) -> Option<TaskId> {
        let prefix = format!("{run}:");
        let of_run: Vec<&TaskId> = self
            .tasks
            .iter()
            .filter(|(tenant, task)| *tenant == who.tenant && task.as_str().starts_with(&prefix))
            .map(|(_, task)| task)
            .collect();
        from_the_end(&of_run, pick).map(|task| (*task).clone())
    }

    pub fn timer_of(&self, who: Who, run: &RunId, pick: Pick) -> Option<CommandId> {
        let of_run: Vec<CommandId> = self
            .timers
            .iter()
            .filter(|(tenant, owner, _)| *tenant == who.tenant && owner == run)
            .map(|(.., timer)| *timer)
            .collect();
        from_the_end(&of_run, pick).copied()
    }
}

/// Returns the claim a pick selects among those that `fits`: an unused one, unless a used one is wanted.
pub fn chosen<T>(held: &[Held<T>], pick: Pick, fits: impl Fn(&Held<T>) -> bool) -> Option<usize> {
    let all = held.iter().enumerate();
    let places: Vec<usize> =
        all.filter(|(_, each)| each.spent == pick.spent && fits(each)).map(|(place, _)| place).collect();
    from_the_end(&places, pick).copied()
}

fn from_the_end<T>(all: &[T], pick: Pick) -> Option<&T> {
    if all.is_empty() { None } else { all.get(all.len() - 1 - pick.back % all.len()) }
}
