//! Limits on the size of a condition and on the work of one evaluation. A condition that cannot be refused in
//! advance is counted while it runs.

use std::fmt;

use serde_json::Value;

use super::error::{ConditionError, ErrorKind};

/// Maximum bytes of an expression or a query.
pub(super) const MAX_SOURCE: usize = 4 * 1024;
/// Maximum bytes of a schema or a sandbox program.
pub(super) const MAX_DOCUMENT: usize = 64 * 1024;
/// Maximum nesting of an expression, a query, a schema or a composite.
pub(super) const MAX_DEPTH: usize = 64;
/// Maximum nesting of `all`, `exists`, `map` and `filter` in one another.
pub(super) const MAX_MACROS: usize = 2;
/// Maximum bytes of the values a condition reads.
pub(super) const MAX_INPUT: usize = 1024 * 1024;
/// Maximum nesting of those values, the same as for reading JSON.
const MAX_INPUT_DEPTH: usize = 128;
/// Units of work in one evaluation. An operation takes [`OPERATION`] units; each byte read or copied takes
/// one.
pub(super) const FUEL: u64 = 10_000_000;
pub(super) const OPERATION: u64 = 10;

/// The limit that an evaluation exceeded or would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Input,
    InputDepth,
    Work,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "the values it looks at are larger than 1 MiB",
            Self::InputDepth => "the values it looks at nest more than 128 deep",
            Self::Work => "it takes more work than one evaluation may",
        })
    }
}

/// Units of work left in this evaluation.
#[derive(Debug)]
pub(super) struct Fuel(u64);

impl Default for Fuel {
    fn default() -> Self {
        Self(FUEL)
    }
}

impl Fuel {
    pub fn operation(&mut self) -> Result<(), Limit> {
        self.take(OPERATION)
    }

    pub fn bytes(&mut self, count: usize) -> Result<(), Limit> {
        self.take(count as u64)
    }

    pub fn take(&mut self, units: u64) -> Result<(), Limit> {
        self.0 = self.0.checked_sub(units).ok_or(Limit::Work)?;
        Ok(())
    }
}

/// Size of the values a condition reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// Approximate bytes as JSON.
    bytes: usize,
    /// Number of values of any kind; each list and object counts as one more.
    pub values: u64,
    pub depth: usize,
}

impl Size {
    /// Adds a value, without recursion because its nesting is not yet known. Fails at the first exceeded
    /// limit.
    pub fn add(&mut self, value: &Value) -> Result<(), Limit> {
        let mut open = vec![(value, 1)];
        while let Some((value, depth)) = open.pop() {
            self.values += 1;
            self.depth = self.depth.max(depth);
            self.bytes += 1;
            match value {
                Value::Null | Value::Bool(_) => self.bytes += 4,
                Value::Number(_) => self.bytes += 8,
                Value::String(text) => self.bytes += text.len() + 2,
                Value::Array(items) => {
                    self.check(depth)?;
                    self.room(items.len())?;
                    open.extend(items.iter().map(|item| (item, depth + 1)));
                }
                Value::Object(entries) => {
                    self.check(depth)?;
                    self.room(entries.len())?;
                    for (name, value) in entries {
                        self.bytes += name.len() + 3;
                        open.push((value, depth + 1));
                    }
                }
            }
            if self.bytes > MAX_INPUT {
                return Err(Limit::Input);
            }
        }
        Ok(())
    }

    pub fn of(value: &Value) -> Result<Self, Limit> {
        let mut size = Self::default();
        size.add(value)?;
        Ok(size)
    }

    fn check(&self, depth: usize) -> Result<(), Limit> {
        if depth > MAX_INPUT_DEPTH { Err(Limit::InputDepth) } else { Ok(()) }
    }

    /// Checks a length before its members are listed, so that a list that cannot fit is not visited.
    fn room(&self, members: usize) -> Result<(), Limit> {
        if members > MAX_INPUT { Err(Limit::Input) } else { Ok(()) }
    }
}

/// Refuses a text that is too long, or whose brackets nest too deep for a parser.
pub(super) fn check_source(place: &str, source: &str) -> Result<(), ConditionError> {
    let too_large = |message: String| Err(ConditionError::new(ErrorKind::TooLarge, place, message));
    if source.len() > MAX_SOURCE {
        return too_large(format!("it is longer than {MAX_SOURCE} bytes"));
    }
    if super::text::bracket_depth(source) > MAX_DEPTH {
        return too_large(format!("its brackets nest more than {MAX_DEPTH} deep"));
    }
    Ok(())
}
