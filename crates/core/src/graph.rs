//! Graph workflows: nodes, and tokens that flow between them. Written as JSON or YAML, compiled once into [`ir::Graph`].

pub mod ir;

pub use ir::Graph;
