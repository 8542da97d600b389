//! Computes the heights of the ranks and the lines of the edges. Lines turn only between ranks, where nothing
//! else is, and pass through ranks vertically.

use std::fmt::Write;

use super::{Frame, Layout, MARGIN, Plan, RANK_GAP, Size, Sizes};
use crate::drawing::{Drawing, EdgeKind};

/// Vertical range of a rank.
#[derive(Clone, Copy)]
struct Band {
    top: f64,
    bottom: f64,
}

pub fn draw(drawing: &Drawing, sizes: &Sizes, plan: &Plan) -> Layout {
    let left = plan.items.iter().map(|item| item.x - item.size.width / 2.0).fold(f64::MAX, f64::min);
    let right = plan.items.iter().map(|item| item.x + item.size.width / 2.0).fold(f64::MIN, f64::max);
    let bands = bands(plan);
    let shift = MARGIN - left;
    let frame = |item: usize| {
        let Band { top, bottom } = bands[plan.items[item].rank];
        Frame { x: plan.items[item].x + shift, y: (top + bottom) / 2.0, size: plan.items[item].size }
    };
    let nodes: Vec<Frame> = (0..drawing.nodes.len()).map(frame).collect();
    let labels = plan.chains.iter().zip(&sizes.labels);
    let labels =
        labels.map(|(chain, size)| size.and_then(|_| chain.first()).map(|item| frame(*item))).collect();
    let ports = Ports::of(drawing, plan, &nodes, shift);
    let paths =
        (0..drawing.edges.len()).map(|edge| path(drawing, plan, &bands, &nodes, &ports, (edge, shift)));
    let height = bands.last().map_or(0.0, |band| band.bottom) + MARGIN + RANK_GAP / 2.0;
    Layout {
        paths: paths.collect(),
        size: Size { width: right - left + 2.0 * MARGIN, height },
        nodes,
        labels,
    }
}

fn bands(plan: &Plan) -> Vec<Band> {
    let mut top = MARGIN + RANK_GAP / 2.0;
    let mut bands = Vec::new();
    for rank in &plan.ranks {
        let height = rank.iter().map(|item| plan.items[*item].size.height).fold(0.0, f64::max);
        bands.push(Band { top, bottom: top + height });
        top += height + RANK_GAP;
    }
    bands
}

/// Horizontal offsets at which each edge leaves its first node and enters its last one: spread out, in the
/// order of their targets.
struct Ports {
    out: Vec<f64>,
    into: Vec<f64>,
}

impl Ports {
    fn of(drawing: &Drawing, plan: &Plan, nodes: &[Frame], shift: f64) -> Self {
        let count = drawing.edges.len();
        let mut ports = Self { out: vec![0.0; count], into: vec![0.0; count] };
        let far = |item: Option<&usize>, other: usize| match item {
            Some(bend) => plan.items[*bend].x + shift,
            None => nodes[other].x,
        };
        for (number, node) in nodes.iter().enumerate() {
            let of = |outwards: bool| {
                let edges = drawing.edges.iter().enumerate();
                let mut mine: Vec<(f64, usize)> = edges
                    .filter(|(_, edge)| if outwards { edge.from == number } else { edge.to == number })
                    .map(|(place, edge)| {
                        let chain = &plan.chains[place];
                        let x = match outwards {
                            true => far(chain.first(), edge.to),
                            false => far(chain.last(), edge.from),
                        };
                        (x, place)
                    })
                    .collect();
                mine.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                mine
            };
            for (outwards, edges) in [(true, of(true)), (false, of(false))] {
                let most = (node.size.width - 48.0).max(0.0);
                let step = if edges.len() > 1 { (most / (edges.len() - 1) as f64).min(26.0) } else { 0.0 };
                let first = node.x - step * edges.len().saturating_sub(1) as f64 / 2.0;
                for (place, (_, edge)) in edges.into_iter().enumerate() {
                    let side = if outwards { &mut ports.out } else { &mut ports.into };
                    side[edge] = first + step * place as f64;
                }
            }
        }
        ports
    }
}

fn path(
    drawing: &Drawing,
    plan: &Plan,
    bands: &[Band],
    nodes: &[Frame],
    ports: &Ports,
    (number, shift): (usize, f64),
) -> String {
    let edge = &drawing.edges[number];
    let (from, to) = (&nodes[edge.from], &nodes[edge.to]);
    let begin = (ports.out[number], from.y + from.size.height / 2.0);
    let end = (ports.into[number], to.y - to.size.height / 2.0);
    let mut line = Line::from(begin);
    let chain = &plan.chains[number];
    match edge.kind {
        EdgeKind::Next | EdgeKind::Failure => {
            line.down_to(bands[plan.items[edge.from].rank].bottom);
            for item in chain {
                let item = &plan.items[*item];
                line.turn((item.x + shift, bands[item.rank].top));
                line.down_to(bands[item.rank].bottom);
            }
            line.turn((end.0, bands[plan.items[edge.to].rank].top));
            line.down_to(end.1);
        }
        EdgeKind::Back => {
            let (lowest, highest) = (bands[plan.items[edge.from].rank], bands[plan.items[edge.to].rank]);
            let x = chain.first().map_or(end.0, |item| plan.items[*item].x + shift);
            line.down_to(lowest.bottom);
            line.loop_to((x, lowest.bottom), RANK_GAP * 0.8);
            for item in chain {
                let item = &plan.items[*item];
                line.turn((item.x + shift, bands[item.rank].bottom));
                line.down_to(bands[item.rank].top);
            }
            line.loop_to((end.0, highest.top), -RANK_GAP * 0.8);
            line.down_to(end.1);
        }
    }
    line.text
}

/// An SVG path under construction.
struct Line {
    text: String,
    x: f64,
    y: f64,
}

impl Line {
    fn from((x, y): (f64, f64)) -> Self {
        Self { text: format!("M{x:.1} {y:.1}"), x, y }
    }

    fn down_to(&mut self, y: f64) {
        if (y - self.y).abs() > 0.05 {
            let _ = write!(self.text, " V{y:.1}");
        }
        self.y = y;
    }

    /// Curves to another point, with vertical ends.
    fn turn(&mut self, (x, y): (f64, f64)) {
        if (x - self.x).abs() < 0.05 {
            return self.down_to(y);
        }
        let middle = (self.y + y) / 2.0;
        let _ = write!(self.text, " C{:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}", self.x);
        (self.x, self.y) = (x, y);
    }

    /// Curves around to another point of the same height.
    fn loop_to(&mut self, (x, y): (f64, f64), depth: f64) {
        let (first, second) = (self.y + depth, y + depth);
        let _ = write!(self.text, " C{:.1} {first:.1} {x:.1} {second:.1} {x:.1} {y:.1}", self.x);
        (self.x, self.y) = (x, y);
    }
}
