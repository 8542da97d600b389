//! Resource limits of a program. Every loop, copy and comparison is charged to one meter, so no program can
//! block a process or exhaust its memory.

use rhythm_core::failure::{Failure, codes};

/// Largest number of statements in one transition.
pub const MAX_STEPS: u64 = 1_000_000;
/// Largest number of bytes copied, compared or read in one transition, including those of values that are
/// dropped.
pub const MAX_WORK: u64 = 1024 * 1024 * 1024;
/// Largest size, in bytes, of all live values together, and of one value as a tree.
pub const MAX_VALUE_BYTES: u64 = 64 * 1024 * 1024;
/// Deepest nesting of lists and objects.
pub const MAX_VALUE_DEPTH: u16 = 100;

/// A limit that was exceeded. It fails the run; no `catch` catches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Steps,
    Work,
    Memory,
    Depth,
    /// Size of the commands and events of one transition.
    Output,
    /// Number of open tasks and children.
    Open,
}

impl Limit {
    pub fn failure(self) -> Failure {
        Failure::permanent(codes::LIMIT_EXCEEDED, self.to_string())
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Steps => {
                write!(f, "more than 1,000,000 steps without waiting: the limit of one transition")
            }
            Self::Work => {
                write!(f, "more than 1 GiB copied or compared without waiting: the limit of one transition")
            }
            Self::Memory => write!(f, "more than 64 MiB of values: the limit of one transition"),
            Self::Depth => write!(f, "a value nests more than {MAX_VALUE_DEPTH} deep: the limit of a value"),
            Self::Open => {
                write!(
                    f,
                    "more than 50,000 tasks and children under way: the limit of a run; start them with Task.map"
                )
            }
            Self::Output => {
                write!(f, "tasks, signals and logs of more than 64 MiB: the limit of one transition")
            }
        }
    }
}

/// Charge for a command or event in addition to its content, in bytes.
const OUTPUT: u64 = 512;
/// Charge for one part of an expression, in bytes.
const NODE: u64 = 16;

/// Counts the resources one transition uses.
#[derive(Clone, Debug)]
pub struct WriteStats {
    steps: u64,
    /// Bytes that may still be read.
    work: u64,
    /// Bytes allocated by the current statement. None of them counts as freed before the statement ends.
    fresh: u64,
    /// Bytes of commands and events so far.
    output: u64,
}

impl Default for WriteStats {
    fn default() -> Self {
        Self { steps: MAX_STEPS, work: MAX_WORK, fresh: 0, output: 0 }
    }
}

impl WriteStats {
    /// One statement.
    pub fn step(&mut self) -> Result<(), Limit> {
        self.fresh = 0;
        self.steps = self.steps.checked_sub(1).ok_or(Limit::Steps)?;
        Ok(())
    }

    /// Counts one operation inside a statement.
    pub fn node(&mut self) -> Result<(), Limit> {
        self.scan(NODE)
    }

    /// Counts bytes that are read one by one: compared, hashed, parsed.
    pub fn scan(&mut self, bytes: u64) -> Result<(), Limit> {
        match self.work.checked_sub(bytes) {
            Some(left) => {
                self.work = left;
                Ok(())
            }
            None => {
                self.work = 0;
                Err(Limit::Work)
            }
        }
    }

    /// Counts a new value of this size. Copying a byte is charged like reading it.
    pub fn allocate(&mut self, bytes: u64) -> Result<(), Limit> {
        self.scan(bytes)?;
        self.fresh = self.fresh.saturating_add(bytes);
        if self.fresh > MAX_VALUE_BYTES { Err(Limit::Memory) } else { Ok(()) }
    }

    /// Counts a command or an event.
    pub fn output(&mut self, bytes: usize) -> Result<(), Limit> {
        self.output = self.output.saturating_add(bytes as u64).saturating_add(OUTPUT);
        if self.output > MAX_VALUE_BYTES { Err(Limit::Output) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_steps_pass_and_the_next_does_not() {
        let mut meter = WriteStats::default();
        assert!((0..MAX_STEPS).all(|_| meter.step().is_ok()));
        assert_eq!(meter.step(), Err(Limit::Steps));
    }

    #[test]
    fn what_one_statement_allocates_is_bounded_and_the_next_starts_anew() {
        let mut meter = WriteStats::default();
        meter.allocate(MAX_VALUE_BYTES).unwrap();
        assert_eq!(meter.allocate(1), Err(Limit::Memory));
        meter.step().unwrap();
        meter.allocate(MAX_VALUE_BYTES / 2).unwrap();
    }

    #[test]
    fn long_work_is_bounded_however_few_the_statements_are() {
        let mut meter = WriteStats::default();
        assert_eq!(meter.scan(u64::MAX), Err(Limit::Work));
        assert_eq!(meter.node(), Err(Limit::Work));
    }
}
