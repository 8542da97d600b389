//! The `.flow` language: durable scripts, compiled once into a flat list of steps and resumed from flat snapshots.

#[cfg(test)]
#[allow(dead_code, reason = "tests outside of the crate include it too")]
pub(crate) mod arbitrary;
pub mod check;
pub mod code;
pub mod codes;
pub mod compile;
pub mod diagnostic;
pub mod format;
pub mod inspect;
pub mod json;
pub mod lexer;
pub mod library;
pub mod limits;
pub mod lines;
pub mod machine;
pub mod operators;
pub mod parser;
pub mod render;
pub mod thrown;
pub mod token;
pub mod tree;
pub mod value;

pub use check::{Checked, check, examine};
pub use code::{Code, Defaults};
pub use compile::{CompileError, compile};
pub use diagnostic::{Diagnostic, Severity};
pub use format::format;
pub use machine::Flow;
pub use parser::{Parsed, parse};
