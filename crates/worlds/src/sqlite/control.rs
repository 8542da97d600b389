//! What operators do, one file per thing they do it to.

mod dead;
mod node_types;
mod request;
mod runs;
mod schedules;

pub use request::{changed_if, control};
