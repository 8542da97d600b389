//! A program as a picture. Nodes come from the syntax tree; what only computes is left out. The same source always gives
//! the same picture.

mod call;
mod walk;

use rhythm_syntax::drawing::Drawing;
use rhythm_syntax::line_index::Lines;

use crate::tree::File;

/// Draws a file the checker has passed; of any other, as much as could be read. `name` is what stands at the beginning.
pub fn draw(name: &str, file: &File, source: &str) -> Drawing {
    walk::Walk::new(source, Lines::of(source)).file(name, file)
}

#[cfg(test)]
mod tests;
