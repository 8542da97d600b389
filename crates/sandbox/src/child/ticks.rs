//! The step counter of a program. It gives the same number on every machine.

use std::cell::Cell;

use starlark::eval::Evaluator;

/// Largest number of steps in one evaluation: statements, passes of loops, and items that built-in functions
/// iterate over. Work inside one operation (`a in b`, `s.count(t)`) is not counted; the limits of memory and
/// time bound it.
const MAX_TICKS: u64 = 2_000_000;
pub(super) const OUT_OF_TICKS: &str = "the program has taken too many steps";

/// Number of steps so far.
pub(super) type Ticks = Cell<u64>;

pub(super) fn count(evaluator: &Evaluator<'_, '_, '_>) -> starlark::Result<()> {
    let Some(ticks) = evaluator.extra.and_then(|extra| extra.downcast_ref::<Ticks>()) else { return Ok(()) };
    ticks.set(ticks.get() + 1);
    match ticks.get() > MAX_TICKS {
        true => Err(wrong(OUT_OF_TICKS.to_owned())),
        false => Ok(()),
    }
}

/// Returns an error that the program caused.
pub(super) fn wrong(message: String) -> starlark::Error {
    starlark::Error::new_other(std::io::Error::other(message))
}
