//! Deterministic simulation. One seed decides everything: scheduling, faults, workload, values. The real engine,
//! worker, client and driver run on one thread and on virtual time; checkers watch what reaches the world.
//! `docs/internals/testing.md` says how to replay a seed, write a checker and add a fault.

pub mod case;
pub mod checks;
pub mod client;
pub mod collector;
pub mod dice;
pub mod drain;
pub mod executor;
pub mod faults;
pub mod fnv;
pub mod graphs;
pub mod handlers;
pub mod listing;
pub mod minimums;
pub mod nemesis;
pub mod network;
pub mod plans;
pub mod process;
pub mod shrink;
pub mod sim;
pub mod sim_world;
pub mod stale_release;
pub mod trace;
pub mod workload;
