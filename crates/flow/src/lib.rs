//! The `.flow` language: durable scripts, compiled once into a flat list of steps and resumed from flat snapshots.
//!
//! Front end: [`lexer`] and [`parser`] turn any source into a [`tree`] and report every mistake as a
//! diagnostic. [`front_matter`] reads the settings before the program. [`format()`] lays a source out.
//! [`codes`] lists every code of a diagnostic.

#[cfg(test)]
#[allow(dead_code, reason = "tests outside of the crate include it too")]
pub(crate) mod arbitrary;
pub mod change;
pub mod check;
pub mod code;
pub mod codes;
pub mod compile;
pub mod drawing;
pub mod format;
pub mod front_matter;
pub mod inspect;
pub mod json;
pub mod lexer;
pub mod library;
pub mod limits;
pub mod machine;
pub mod numbers;
pub mod operators;
pub mod option;
pub mod parser;
pub mod runtime_error;
pub mod token;
pub mod tree;
pub mod value;

pub use check::{Checked, Examined, check, examine};
pub use code::{Code, Defaults};
pub use compile::{CompileError, compile};
pub use format::format;
pub use front_matter::Settings;
pub use machine::Flow;
pub use parser::{Parsed, parse};

#[cfg(test)]
mod rendered;
