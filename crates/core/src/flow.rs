//! The `.flow` language: durable scripts, compiled once into a flat list of steps and resumed from flat snapshots.

pub mod diagnostic;
pub mod json;
pub mod library;
pub mod limits;
pub mod operators;
pub mod thrown;
pub mod tree;
pub mod value;

pub use diagnostic::{Diagnostic, Severity};
