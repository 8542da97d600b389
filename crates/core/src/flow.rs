//! The `.flow` language: durable scripts, compiled once into a flat list of steps and resumed from flat snapshots.

pub mod codes;
pub mod diagnostic;
pub mod lexer;
pub mod lines;
pub mod parser;
pub mod render;
pub mod token;
pub mod tree;

pub use diagnostic::{Diagnostic, Severity};
pub use parser::{Parsed, parse};
