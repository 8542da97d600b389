//! I4: effects of handlers. No attempt is executed more often than it was handed out, attempts and deliveries
//! are bounded, and every result in a history was returned by a handler.

use std::collections::BTreeMap;

use rhythm_core::task::MAX_DELIVERIES;
use rhythm_core::{EventData, Payload, TaskId};
use rhythm_engine::world::CommitOutcome;

use super::{Applied, Check, Moment, Objection, View};

#[derive(Default)]
pub struct Effects {
    /// Number of times each attempt was handed out.
    handed_out: BTreeMap<(TaskId, u32), u64>,
}

impl Check for Effects {
    fn name(&self) -> &'static str {
        "effects"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        match applied {
            Applied::ClaimTasks(request, claimed) if !request.overdue => {
                for task in &claimed.tasks {
                    *self.handed_out.entry((task.id.clone(), task.attempt)).or_default() += 1;
                    if task.attempt > task.options.policy().max_attempts {
                        return Err(Objection::of_task(
                            &task.id,
                            format!("attempt {} of too many", task.attempt),
                        ));
                    }
                }
            }
            Applied::Commit(_, committed) => {
                for outcome in &committed.outcomes {
                    let CommitOutcome::Done(done) = outcome else { continue };
                    for claim in &done.claimed {
                        *self.handed_out.entry((claim.task.clone(), 1)).or_default() += 1;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for effect in view.ledger.effects() {
            let handed_out = self.handed_out.get(&(effect.task.clone(), effect.attempt)).copied();
            let handed_out = handed_out.unwrap_or_default();
            if effect.begun > handed_out {
                let what = format!(
                    "attempt {} was begun {} times, handed out {handed_out} times",
                    effect.attempt, effect.begun
                );
                return Err(Objection::of_task(&effect.task, what));
            }
            if effect.highest_delivery > MAX_DELIVERIES {
                let what = format!("attempt {} was performed after too many deliveries", effect.attempt);
                return Err(Objection::of_task(&effect.task, what));
            }
        }
        self.results_are_real(view)
    }
}

impl Effects {
    fn results_are_real(&self, view: &View<'_>) -> Result<(), Objection> {
        for (run, seen) in &view.runs {
            for event in &seen.history {
                let EventData::StepCompleted(done) = &event.data else { continue };
                let task = run.task(done.task);
                let given = view.ledger.output(&task, done.attempt);
                if given.is_none_or(|given| !same(&given, &done.output)) {
                    return Err(Objection::of_task(&task, "its result is none that a handler gave"));
                }
            }
        }
        Ok(())
    }
}

/// Compares two payloads. A large output is stored as the hash of its content.
fn same(given: &Payload, stored: &Payload) -> bool {
    match (given, stored) {
        (Payload::Inline(given), Payload::Blob(stored)) => {
            rhythm_core::BlobRef::of(given.get().as_bytes()) == *stored
        }
        _ => given == stored,
    }
}
