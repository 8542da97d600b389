//! A program as a picture: what it waits for, where it branches, loops and ends. Nodes come from the syntax tree; what
//! only computes is left out. The same source always gives the same picture, in every format.

mod call;
mod dot;
mod layout;
mod mermaid;
mod svg;
mod walk;

use super::lines::Lines;
use super::tree::File;

pub use dot::to_dot;
pub use mermaid::to_mermaid;
pub use svg::{TooLarge, to_svg};

/// A text in a node is at most this long, in characters.
const TITLE_LIMIT: usize = 44;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Edges lead from earlier nodes to later ones, except where a loop goes round.
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: NodeKind,
    /// What is called, asked or given: never empty, on one line.
    pub title: String,
    /// What it is and where.
    pub note: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Start,
    Task,
    Child,
    Timer,
    Signal,
    /// Something started before is waited for.
    Wait,
    /// Several things are started together.
    Split,
    /// And waited for together.
    Gather,
    /// A signal to another run.
    Send,
    Decision,
    Loop,
    Catch,
    Throw,
    Return,
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub label: String,
    pub kind: EdgeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    Next,
    /// To the next round of a loop.
    Back,
    /// Where a failure leads.
    Failure,
}

/// Draws a file the checker has passed; of any other, as much as could be read. `name` is what stands at the beginning.
pub fn draw(name: &str, file: &File, source: &str) -> Drawing {
    walk::Walk::new(source, Lines::of(source)).file(name, file)
}

/// On one line, not too long, without anything that is no text.
fn title(text: &str) -> String {
    let mut shown = String::new();
    for (place, word) in text.split_whitespace().enumerate() {
        if place > 0 {
            shown.push(' ');
        }
        shown.extend(word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
    }
    if shown.is_empty() {
        return "\u{2013}".to_owned();
    }
    match shown.char_indices().nth(TITLE_LIMIT) {
        Some((end, _)) => format!("{}\u{2026}", shown[..end].trim_end()),
        None => shown,
    }
}

#[cfg(test)]
mod tests;
