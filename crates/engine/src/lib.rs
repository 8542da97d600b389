//! Moves runs and does tasks on any [`World`](world::World).

pub mod conformance;
pub mod memory;
pub mod world;
