//! Operator requests, one file for each kind of object.

mod dead_letters;
mod delete;
mod node_types;
mod request;
mod runs;
mod schedules;

pub use request::{changed_if, control};
