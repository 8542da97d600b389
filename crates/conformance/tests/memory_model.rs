//! Compares the reference world with itself: the same moves give the same responses, and histories have no
//! gaps.

#[path = "memory_stage/mod.rs"]
mod memory_stage;

rhythm_conformance::model_suite!(200, memory_stage::open);
