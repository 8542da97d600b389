//! What a program has taken so far: steps, the same number on every machine.

use std::cell::Cell;

use starlark::eval::Evaluator;

/// Statements, passes of loops and items that functions go over, in one evaluation. What a single operation takes beside
/// (`a in b`, `s.count(t)`) is not counted: memory and time end it.
const MAX_TICKS: u64 = 2_000_000;
pub(super) const OUT_OF_TICKS: &str = "the program has taken too many steps";

/// How many steps an evaluation has taken.
pub(super) type Ticks = Cell<u64>;

pub(super) fn count(evaluator: &Evaluator<'_, '_, '_>) -> starlark::Result<()> {
    let Some(ticks) = evaluator.extra.and_then(|extra| extra.downcast_ref::<Ticks>()) else { return Ok(()) };
    ticks.set(ticks.get() + 1);
    match ticks.get() > MAX_TICKS {
        true => Err(wrong(OUT_OF_TICKS.to_owned())),
        false => Ok(()),
    }
}

/// An error of the program's own.
pub(super) fn wrong(message: String) -> starlark::Error {
    starlark::Error::new_other(std::io::Error::other(message))
}
