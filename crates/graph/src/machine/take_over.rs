//! Moves a run from one version of a graph to another, with the checks for patches: no work may be under way
//! at a node that is gone, and no join may wait for a sender that can no longer be reached.

use std::sync::Arc;

use rhythm_core::program::{ProgramError, Progress, Step, StepInput};

use super::memory::{Memory, Stage};
use super::{GraphProgram, Machine, Stop};
use crate::patch::codes;

impl GraphProgram {
    /// Takes over the run from `before`. Patches of the run are dropped: it continues with the new version as
    /// registered. Fails with `Misfit` when the run's position does not fit the new graph.
    pub(super) fn takes_over(&self, before: &Self, input: StepInput<'_>) -> Result<Step, ProgramError> {
        let memory = Memory::before(input.snapshot)?;
        let refused =
            |code: &str, message: String| Err(ProgramError::Misfit { code: code.to_owned(), message });
        if !matches!(memory.stage, Stage::Fresh | Stage::Running) {
            return refused(codes::TOO_LATE, "the run takes back what it did, or has ended".to_owned());
        }
        let running = matches!(memory.stage, Stage::Running);
        let plan = before.plan_of(&memory)?;
        let mut machine = Machine::with(self, plan.clone(), input, memory);
        if let Err(wrong) = machine.compare(&self.plan) {
            return refused(wrong.code, wrong.message);
        }
        machine.memory.patched = None;
        machine.plan = Arc::clone(&self.plan);
        machine.memory.passes.retain(|node, _| self.plan.place(node).is_some());
        let went_on = machine.ask_anew(&plan).and_then(|()| match running {
            true => machine.settle(),
            false => Ok(Progress::Waiting),
        });
        Ok(match went_on {
            Ok(progress) => Step::Transition(machine.finish(progress)),
            Err(Stop::NeedBlobs(blobs)) => Step::NeedBlobs(blobs),
            Err(Stop::Failed(failure)) => return refused("run_failed", failure.to_string()),
        })
    }
}
