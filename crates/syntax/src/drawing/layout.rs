//! Where everything goes: nodes in ranks from the top, long edges bent around what lies between. Programs are
//! structured, so the order within a rank follows from the order of the source; only the distances are searched for.

mod place;
mod rank;
mod route;

use super::Drawing;

/// More items than this are no picture any more.
const ITEM_LIMIT: usize = 20_000;
/// Between two ranks, where edges turn.
const RANK_GAP: f64 = 30.0;
const MARGIN: f64 = 24.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

/// The middle of something, and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    pub x: f64,
    pub y: f64,
    pub size: Size,
}

/// What the layout has to know of the picture.
pub struct Sizes {
    pub nodes: Vec<Size>,
    /// Of each edge's label; nothing where it has none.
    pub labels: Vec<Option<Size>>,
}

pub struct Layout {
    pub size: Size,
    pub nodes: Vec<Frame>,
    pub labels: Vec<Option<Frame>>,
    /// SVG path data of each edge.
    pub paths: Vec<String>,
}

/// Something that takes room in a rank: a node, a label, or a bend of an edge.
#[derive(Clone, Debug)]
struct Item {
    rank: usize,
    /// Orders the items of a rank.
    key: (usize, usize),
    size: Size,
    x: f64,
    /// A bend is kept straight rather than a node centred.
    bend: bool,
}

/// Items, ranks and how they hang together.
#[derive(Default)]
struct Plan {
    /// The nodes come first.
    items: Vec<Item>,
    /// Items of each rank, from the left.
    ranks: Vec<Vec<usize>>,
    /// For each edge the items between its ends, in the direction it is drawn in.
    chains: Vec<Vec<usize>>,
    /// Pairs of items in neighbouring ranks, the upper one first.
    links: Vec<(usize, usize)>,
    /// What goes round a loop stays near it: each of its bends, and the loop's node.
    near: Vec<(usize, usize)>,
}

/// Nothing when there is too much to draw.
pub fn arrange(drawing: &Drawing, sizes: &Sizes) -> Option<Layout> {
    let mut plan = rank::plan(drawing, sizes)?;
    place::spread(&mut plan);
    Some(route::draw(drawing, sizes, &plan))
}
