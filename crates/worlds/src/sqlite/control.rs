//! Operator requests, one file for each kind of object.

mod dead;
mod delete;
mod node_types;
mod request;
mod runs;
mod schedules;

pub use request::{changed_if, control};
