//! The `.flow` language: durable scripts, compiled once into a flat list of steps and resumed from flat snapshots.

#[cfg(test)]
#[allow(dead_code, reason = "tests outside of the crate include it too")]
pub(crate) mod arbitrary;
pub mod codes;
pub mod diagnostic;
pub mod format;
pub mod lexer;
pub mod lines;
pub mod parser;
pub mod render;
pub mod token;
pub mod tree;

pub use diagnostic::{Diagnostic, Severity};
pub use format::format;
pub use parser::{Parsed, parse};
