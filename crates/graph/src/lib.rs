//! Graph workflows: nodes, and tokens that flow between them.
//!
//! A graph is a JSON or YAML text. [`compile()`] turns it into the intermediate form [`Graph`] and reports
//! all errors at once, each with one of the [`codes`]. The [`Registry`] holds the node types. A
//! [`GraphProgram`] runs the graph: the same graph and the same messages always give the same transitions.

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
