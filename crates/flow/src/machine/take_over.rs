//! Moves a run to another program: its state under the new program's names and steps.

use std::collections::BTreeMap;

use rhythm_core::message::VersionChanged;
use rhythm_core::program::{ProgramError, Progress, StepInput, Transition};

use super::{Flow, Machine, Memory, Stage};

impl Flow {
    /// Returns the run as `before` left it, moved to the step that the change names. Fails when the change
    /// does not match the run.
    pub(super) fn takes_over(
        &self,
        before: &Flow,
        input: StepInput<'_>,
        changed: &VersionChanged,
    ) -> Result<Transition, ProgramError> {
        let old = Memory::before(before, input.snapshot)?;
        let Some(moved) = changed.position.as_ref().filter(|_| old.stage == Stage::Running) else {
            let memory = Memory {
                commands: old.commands,
                warned: old.warned,
                since: old.since,
                ..Memory::fresh(self)
            };
            return match old.stage {
                Stage::Fresh => Machine::with(self, input, memory).finish(Progress::Waiting),
                _ => Err(misfit("the run has ended, or the change names no place")),
            };
        };
        if old.position != moved.from_step as usize || moved.to_step as usize >= self.code.steps.len() {
            return Err(misfit("the run does not wait where the change says"));
        }
        let mut slots = vec![None; self.code.slots.len()];
        for (new, name) in &moved.variables {
            let (new, name) = (self.slots.get(new), before.slots.get(name));
            let (Some(new), Some(name)) = (new, name) else {
                return Err(misfit("the change names a variable that is not there"));
            };
            slots[*new] = old.slots.get(*name).cloned().flatten();
        }
        let started: BTreeMap<u32, u32> = moved.started.iter().copied().collect();
        let mut handles = old.handles;
        for handle in handles.values_mut().filter(|handle| handle.is_open()) {
            handle.step = started.get(&handle.step).copied().unwrap_or(moved.to_step);
        }
        let memory = Memory {
            position: moved.to_step as usize,
            input: old.input.or_else(|| moved.input.clone()).filter(|_| self.code.reads_inputs),
            started_at: moved.started_at.unwrap_or(old.started_at),
            slots,
            handles,
            ..old
        };
        Machine::with(self, input, memory).finish(Progress::Waiting)
    }
}

fn misfit(message: &str) -> ProgramError {
    ProgramError::Misfit { code: "position".to_owned(), message: message.to_owned() }
}
