//! What operators do, one file per thing they do it to.

mod dead;
mod delete;
mod node_types;
mod request;
mod runs;
mod schedules;

pub use request::control;
