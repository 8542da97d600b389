//! The in-memory reference world against the whole contract.

#[path = "memory_stage/mod.rs"]
mod memory_stage;

rhythm_conformance::conformance_suite!(memory_stage::open);
