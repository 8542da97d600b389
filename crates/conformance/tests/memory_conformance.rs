//! Runs the whole conformance suite on the in-memory reference world.

#[path = "memory_stage/mod.rs"]
mod memory_stage;

rhythm_conformance::conformance_suite!(memory_stage::open);
