//! The `.flow` language: durable scripts, compiled once into a flat list of steps and resumed from flat snapshots.

pub mod diagnostic;
pub mod tree;

pub use diagnostic::{Diagnostic, Severity};
