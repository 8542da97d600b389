//! A small program for tests, benchmarks and the simulator: a JSON list of instructions that together use
//! every command and consume every message. Users write workflows as `.flow` files and graphs, not as drills.

mod flow_text;
mod machine;
mod plan;

pub use machine::{FORMAT, Memory};
pub use plan::{Instruction, Plan, TaskCall};

use crate::program::{Program, ProgramError, Session, Snapshot, Step, StepInput};

/// A compiled instruction list.
#[derive(Clone, Debug)]
pub struct Drill {
    plan: Plan,
}

impl Drill {
    /// Parses a plan from JSON. Returns `BadDefinition` when the text is not a plan.
    pub fn parse(source: &[u8]) -> Result<Self, ProgramError> {
        let plan = serde_json::from_slice(source).map_err(|e| ProgramError::BadDefinition(e.to_string()))?;
        Ok(Self { plan })
    }

    /// Returns the program of a plan.
    pub fn new(plan: Plan) -> Self {
        Self { plan }
    }

    /// Returns the plan as JSON text, which [`Self::parse`] reads back.
    pub fn source(&self) -> String {
        serde_json::to_string(&self.plan).expect("plans always serialise")
    }
}

impl Program for Drill {
    fn step(&self, input: StepInput<'_>) -> Result<Step, ProgramError> {
        machine::step(&self.plan, input)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn session<'a>(&'a self, _: &Snapshot) -> Option<Box<dyn Session + 'a>> {
        None
    }
}
