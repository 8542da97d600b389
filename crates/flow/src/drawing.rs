//! Draws a program as a graph. Nodes come from the syntax tree; statements that only compute are left out.
//! The same source always gives the same drawing.

mod call;
mod walk;

use rhythm_syntax::drawing::Drawing;
use rhythm_syntax::line_index::Lines;

use crate::tree::File;

/// Draws a file. A file with errors is drawn as far as it could be read. `name` is the label of the first
/// node.
pub fn draw(name: &str, file: &File, source: &str) -> Drawing {
    walk::Walk::new(source, Lines::of(source)).file(name, file)
}

#[cfg(test)]
mod tests;
