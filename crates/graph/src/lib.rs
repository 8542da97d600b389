//! Graph workflows: nodes, and tokens that flow between them.
//!
//! A graph is a text, JSON or YAML. [`compile()`] makes the intermediate form [`Graph`] of it, with everything that is
//! wrong said at once, each with a code of [`codes`]. What nodes may be is in the [`Registry`]. A [`GraphProgram`] runs it:
//! the same graph and the same messages always give the same transitions.

pub mod codes;
pub mod compile;
pub mod condition;
pub mod document;
pub mod drawing;
pub mod ir;
pub mod machine;
pub mod node_type;
pub mod patch;
pub mod reference;

pub use compile::{Compiled, Context, Language, compile, file_references, is_path};
pub use ir::Graph;
pub use machine::GraphProgram;
pub use node_type::{NodeType, Registry};
