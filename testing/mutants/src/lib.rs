//! Deliberate faults, one at a time, each caught by a named test. The faults are in `mutants.toml`.
//! `make mutants` tries them all in a copy of the sources and writes `docs/internals/mutants.md`.

pub mod cargo;
pub mod copy;
pub mod list;
pub mod table;
