//! The reference world plays the game against itself: the same moves give the same answers, and histories without
//! gaps.

#[path = "memory_stage/mod.rs"]
mod memory_stage;

rhythm_conformance::model_suite!(200, memory_stage::open);
