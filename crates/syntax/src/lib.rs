//! Shared by the languages of Rhythm: source positions, diagnostics and their output, JSON and YAML values
//! with positions, JSON Schemas, and drawings. Pure: nothing here reads a file, a clock or a random number.

pub mod code;
pub mod diagnostic;
pub mod did_you_mean;
pub mod drawing;
pub mod line_index;
pub mod render;
pub mod schema;
pub mod span;
pub mod spanned_value;

pub use code::Code;
pub use diagnostic::{Diagnostic, Severity};
pub use span::Span;
