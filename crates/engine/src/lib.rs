//! Moves runs and does tasks on any [`World`](world::World).
//!
//! [`engine::Engine`] claims ready runs, steps them and commits; [`worker::Worker`] does tasks;
//! [`client::Client`] starts runs and sends requests to them; [`upkeep::Upkeep`] does background duties. None
//! of them spawns, sleeps or reads a clock. Only [`drive`] does, and the simulator replaces it.

pub mod approval_link;
pub mod artifacts;
mod children;
pub mod client;
pub mod config;
pub mod definitions;
pub mod drive;
pub mod engine;
pub mod error;
pub mod explain;
pub mod host;
pub mod inputs;
pub mod labels;
pub mod local_worker;
pub mod memory;
pub mod origins;
pub mod patches;
pub mod plan;
pub mod process;
pub mod programs;
pub mod selectors;
pub mod tags;
pub mod time;
pub mod tokens;
pub mod travel;
pub mod unserved;
pub mod upkeep;
pub mod verify;
pub mod versions;
pub mod whereabouts;
pub mod worker;
pub mod world;
pub mod write_stats;
mod yield_budget;
