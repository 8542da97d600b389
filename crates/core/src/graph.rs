//! Graph workflows: nodes, edges and tokens.

pub mod condition;
