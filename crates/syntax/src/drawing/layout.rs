//! Lays out a drawing: nodes in ranks from the top, long edges bent around nodes in between. Programs are
//! structured, so the order within a rank follows from the order of the source; only the distances are
//! optimised.

mod place;
mod rank;
mod route;

use super::Drawing;

/// Largest number of items that is drawn.
const ITEM_LIMIT: usize = 20_000;
/// Height between two ranks, in which edges turn.
const RANK_GAP: f64 = 30.0;
const MARGIN: f64 = 24.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

/// The centre of an item, and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    pub x: f64,
    pub y: f64,
    pub size: Size,
}

/// Sizes of the nodes and labels of a drawing.
pub struct Sizes {
    pub nodes: Vec<Size>,
    /// Size of each edge's label, if it has one.
    pub labels: Vec<Option<Size>>,
}

pub struct Layout {
    pub size: Size,
    pub nodes: Vec<Frame>,
    pub labels: Vec<Option<Frame>>,
    /// SVG path data of each edge.
    pub paths: Vec<String>,
}

/// Something that takes space in a rank: a node, a label, or a bend of an edge.
#[derive(Clone, Debug)]
struct Item {
    rank: usize,
    /// Sort key within the rank.
    key: (usize, usize),
    size: Size,
    x: f64,
    /// Bends are placed to keep edges straight; nodes are centred.
    bend: bool,
}

/// Items, ranks and the connections between items.
#[derive(Default)]
struct Plan {
    /// Nodes first, then labels and bends.
    items: Vec<Item>,
    /// Items of each rank, from left to right.
    ranks: Vec<Vec<usize>>,
    /// For each edge the items between its ends, in drawing direction.
    chains: Vec<Vec<usize>>,
    /// Pairs of items in neighbouring ranks, the upper one first.
    links: Vec<(usize, usize)>,
    /// Pairs of a bend of a loop's back edge and the loop's node, which keep the edge near the loop.
    near: Vec<(usize, usize)>,
}

/// Returns the layout, or nothing when there is too much to draw.
pub fn arrange(drawing: &Drawing, sizes: &Sizes) -> Option<Layout> {
    let mut plan = rank::plan(drawing, sizes)?;
    place::spread(&mut plan);
    Some(route::draw(drawing, sizes, &plan))
}
