//! The checkers. They see each request that reached the world with its answer, and the final state. They
//! share only data types with the engine. The exception is `fold`, which calls the engine's `verify`, because
//! only the engine's programs can fold a history.

mod acknowledged;
mod asked;
mod book;
mod causes;
mod commands;
mod early;
mod effects;
mod endings;
mod fences;
mod fold;
mod gaps;
mod inboxes;
mod kinds;
mod lateness;
mod letters;
mod once;
mod redeliveries;
mod schedules;
mod sketch;
mod tokens;
mod view;

use std::collections::BTreeMap;

use rhythm_core::message::MessageBody;
use rhythm_core::{RunId, TaskId, Timestamp};
use rhythm_engine::world::*;

use crate::executor::{NOBODY, Owner};
use crate::graphs::COMPENSATOR;
use crate::network::Luck;
use once::Once;

pub use fold::Fold;
pub use sketch::Sketch;
pub use view::{Seen, View};

/// A request that reached the world, with its answer.
pub enum Applied<'a> {
    CreateRuns(&'a CreateRuns, &'a [Creation]),
    EnqueueTasks(&'a EnqueueTasks, &'a [Creation]),
    Deliver(&'a Deliver, &'a [Delivered]),
    ClaimRuns(&'a ClaimRuns, &'a ClaimedRuns),
    ClaimTasks(&'a ClaimTasks, &'a ClaimedTasks),
    Commit(&'a Commit, &'a Committed),
    FinishTasks(&'a FinishTasks, &'a [Finish]),
    Control(&'a ControlRequest, &'a Controlled),
}

/// Time of a request that reached the world, and the process that sent it.
pub struct Moment<'a> {
    /// World time.
    pub now: Timestamp,
    pub virtual_ms: u64,
    pub owner: Owner,
    pub luck: &'a Luck,
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub check: &'static str,
    pub what: String,
    /// Ids to look for in the trace.
    pub about: Vec<String>,
}

/// One checker. It may object to a single request or to the final state.
pub trait Check: Send {
    fn name(&self) -> &'static str;

    fn applied(&mut self, _applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        Ok(())
    }

    /// Called when the faults are long over and the engine is idle, before the caretaker helps any run.
    fn settled(&mut self, _view: &View<'_>) -> Result<(), Objection> {
        Ok(())
    }

    fn ended(&mut self, _view: &View<'_>) -> Result<(), Objection> {
        Ok(())
    }
}

/// Reason a checker objects.
#[derive(Debug)]
pub struct Objection {
    what: String,
    about: Vec<String>,
}

impl Objection {
    pub fn of_run(run: &RunId, what: impl Into<String>) -> Self {
        Self { what: format!("run {run}: {}", what.into()), about: vec![run.to_string()] }
    }

    pub fn of_task(task: &TaskId, what: impl Into<String>) -> Self {
        let run = task.as_str().rsplit_once(':').map(|(run, _)| run.to_owned());
        let about = std::iter::once(task.to_string()).chain(run).collect();
        Self { what: format!("task {task}: {}", what.into()), about }
    }

    pub fn general(what: impl Into<String>) -> Self {
        Self { what: what.into(), about: Vec::new() }
    }
}

/// All checkers, their objections, and counts of the events they saw.
pub struct Checks {
    all: Vec<Box<dyn Check>>,
    found: Vec<Violation>,
    pub transitions: u64,
    /// Number of times each event type, operator request, cancel command and refused write was seen.
    pub tally: BTreeMap<&'static str, u64>,
    once: Once,
}

impl Checks {
    /// Builds the checkers. `sketches` maps each workflow of the workload to its program.
    pub fn new(sketches: BTreeMap<String, Sketch>) -> Self {
        let all: Vec<Box<dyn Check>> = vec![
            Box::new(fences::Fences::default()),
            Box::new(gaps::Gaps::default()),
            Box::new(early::Early::default()),
            Box::new(asked::Asked::new(sketches.clone())),
            Box::new(lateness::Lateness::default()),
            Box::new(commands::Commands::default()),
            Box::new(effects::Effects::default()),
            Box::new(redeliveries::Redeliveries::default()),
            Box::new(causes::Causes::new(sketches)),
            Box::new(inboxes::Inboxes::default()),
            Box::new(acknowledged::Acknowledged::default()),
            Box::new(endings::Endings),
            Box::new(schedules::Schedules::default()),
            Box::new(tokens::Tokens::default()),
            Box::new(letters::Letters::default()),
        ];
        Self { all, found: Vec::new(), transitions: 0, tally: BTreeMap::new(), once: Once::default() }
    }

    pub fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) {
        match applied {
            Applied::ClaimTasks(request, claimed) => {
                let fresh = self.once.tasks(request, claimed);
                self.judge(&Applied::ClaimTasks(request, &fresh), at);
            }
            Applied::ClaimRuns(request, claimed) => {
                let fresh = self.once.runs(request, claimed);
                self.judge(&Applied::ClaimRuns(request, &fresh), at);
            }
            Applied::Commit(commit, committed) => match self.once.commit(commit, committed) {
                Some((commit, committed)) => self.committed(&commit, &committed, at),
                None => self.committed(commit, committed, at),
            },
            applied => self.judge(applied, at),
        }
    }

    /// Judges a commit. A run created by its first commit is also judged as a creation.
    fn committed(&mut self, commit: &Commit, committed: &Committed, at: &Moment<'_>) {
        for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
            if let (Some(new), CommitOutcome::Done(_)) = (&item.new, outcome) {
                self.tick("begun run", 1);
                let request = CreateRuns { tenant: commit.tenant.clone(), runs: vec![NewRun::clone(new)] };
                self.judge(&Applied::CreateRuns(&request, &[Creation::Created]), at);
            }
        }
        self.judge(&Applied::Commit(commit, committed), at);
    }

    fn judge(&mut self, applied: &Applied<'_>, at: &Moment<'_>) {
        self.count(applied, at);
        for check in &mut self.all {
            if let Err(objection) = check.applied(applied, at) {
                self.found.push(objection.by(check.name()));
            }
        }
    }

    pub fn settled(&mut self, view: &View<'_>) {
        for check in &mut self.all {
            if let Err(objection) = check.settled(view) {
                self.found.push(objection.by(check.name()));
            }
        }
    }

    pub fn ended(&mut self, view: &View<'_>) {
        for check in &mut self.all {
            if let Err(objection) = check.ended(view) {
                self.found.push(objection.by(check.name()));
            }
        }
    }

    pub fn object(&mut self, check: &'static str, objection: Objection) {
        self.found.push(objection.by(check));
    }

    pub fn found(&self) -> &[Violation] {
        &self.found
    }

    fn count(&mut self, applied: &Applied<'_>, at: &Moment<'_>) {
        match applied {
            Applied::Commit(commit, committed) => self.count_commit(commit, committed),
            Applied::Deliver(request, answers) => {
                let again = request.deliveries.iter().zip(*answers).filter(|(delivery, answer)| {
                    matches!(delivery.message.body, MessageBody::Patch(_)) && **answer == Delivered::Duplicate
                });
                self.tick("patch again", again.count() as u64);
            }
            // Not counted for the caretaker: its requests do not show that the workload exercised them.
            Applied::Control(request, Controlled::Done) if at.owner != NOBODY => {
                self.tick(kinds::of_control(&request.control), 1);
            }
            Applied::Control(request, Controlled::Unchanged) => {
                let fires = matches!(request.control, Control::FireSchedule { .. });
                self.tick("schedule fired before", u64::from(fires));
            }
            _ => {}
        }
    }

    fn count_commit(&mut self, commit: &Commit, committed: &Committed) {
        for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
            let CommitOutcome::Done(_) = outcome else {
                self.tick("stale commit", 1);
                continue;
            };
            self.transitions += item.events.iter().filter(|event| event.message.is_some()).count() as u64;
            for event in &item.events {
                self.tick(event.data.kind(), 1);
            }
            self.tick("cancel_task", item.cancel_tasks.len() as u64);
            let undoes = item.tasks.iter().filter(|task| task.name == COMPENSATOR);
            self.tick("compensator", undoes.count() as u64);
            self.tick("cancel_timer", item.cancel_timers.len() as u64);
            let cancels = item
                .deliveries
                .iter()
                .filter(|delivery| matches!(delivery.message.body, MessageBody::Cancel(_)));
            self.tick("cancel_child", cancels.count() as u64);
            if item.fence == Fence::Fused {
                self.tick("fused commit", 1);
            }
        }
    }

    pub fn tick(&mut self, what: &'static str, by: u64) {
        if by > 0 {
            *self.tally.entry(what).or_default() += by;
        }
    }
}

impl Objection {
    fn by(self, check: &'static str) -> Violation {
        Violation { check, what: self.what, about: self.about }
    }
}

impl Applied<'_> {
    /// Formats the request and its answer as one line of the trace.
    pub fn show(&self) -> String {
        let list = |parts: Vec<String>| parts.join(", ");
        match self {
            Self::CreateRuns(request, answers) => list(
                request
                    .runs
                    .iter()
                    .zip(*answers)
                    .map(|(run, answer)| format!("{} {answer:?}", run.id))
                    .collect(),
            ),
            Self::EnqueueTasks(request, answers) => list(
                request
                    .tasks
                    .iter()
                    .zip(*answers)
                    .map(|(task, answer)| format!("{} {answer:?}", task.id))
                    .collect(),
            ),
            Self::Deliver(request, answers) => list(
                request
                    .deliveries
                    .iter()
                    .zip(*answers)
                    .map(|(delivery, answer)| {
                        format!("{} to {} {answer:?}", delivery.message.id, delivery.to)
                    })
                    .collect(),
            ),
            Self::ClaimRuns(_, answer) => list(answer.runs.iter().map(show_claimed_run).collect()),
            Self::ClaimTasks(_, answer) => list(
                answer
                    .tasks
                    .iter()
                    .map(|task| {
                        format!(
                            "{} claim {} attempt {} delivery {}",
                            task.id, task.claim, task.attempt, task.delivery
                        )
                    })
                    .collect(),
            ),
            Self::Commit(request, answer) => list(
                request
                    .items
                    .iter()
                    .zip(&answer.outcomes)
                    .map(show_item)
                    .chain(
                        request
                            .released
                            .iter()
                            .map(|free| format!("{} released {:?}", free.run, free.outcome)),
                    )
                    .collect(),
            ),
            Self::FinishTasks(request, answers) => list(
                request
                    .finished
                    .iter()
                    .zip(*answers)
                    .map(|(task, answer)| {
                        format!(
                            "{} claim {} {} {answer:?}",
                            task.task,
                            task.claim,
                            show_outcome(&task.outcome)
                        )
                    })
                    .collect(),
            ),
            Self::Control(request, answer) => format!("{:?} {answer:?}", request.control),
        }
    }
}

fn show_claimed_run(claimed: &ClaimedRun) -> String {
    let messages: Vec<&str> = claimed.messages.iter().map(|message| message.id.as_str()).collect();
    format!(
        "{} claim {} revision {} arrived {} [{}]",
        claimed.run.id,
        claimed.claim,
        claimed.run.revision,
        claimed.run.arrived,
        messages.join(" ")
    )
}

fn show_item((item, outcome): (&CommitItem, &CommitOutcome)) -> String {
    let rows: Vec<String> =
        item.events.iter().map(|event| format!("{} {}", event.seq, event.data.kind())).collect();
    let fence = match item.fence {
        Fence::Claim(claim) => format!("claim {claim}"),
        Fence::Fused => "fused".to_owned(),
    };
    let end = if item.end.is_some() { " ends" } else { "" };
    let outcome = match outcome {
        CommitOutcome::Done(done) => format!("done, revision {}", done.revision),
        CommitOutcome::Stale => "STALE".to_owned(),
        CommitOutcome::Missing(blobs) => format!("MISSING {}", blobs.join(" ")),
    };
    format!("{} {} {fence} [{}]{end} {outcome}", item.run, item.commit, rows.join("; "))
}

fn show_outcome(outcome: &TaskOutcome) -> &'static str {
    match outcome {
        TaskOutcome::Completed { .. } => "completed",
        TaskOutcome::Retry { .. } => "retry",
        TaskOutcome::Exhausted { .. } => "exhausted",
        TaskOutcome::Cancelled { .. } => "cancelled",
        TaskOutcome::Released => "released",
    }
}

#[cfg(test)]
mod tests;
