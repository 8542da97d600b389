//! Assigns every item its rank, and its order from left to right.

use super::{ITEM_LIMIT, Item, Plan, Size, Sizes};
use crate::drawing::{Drawing, Edge, EdgeKind};

/// Space an edge takes where it passes other nodes.
const BEND: Size = Size { width: 12.0, height: 0.0 };

pub fn plan(drawing: &Drawing, sizes: &Sizes) -> Option<Plan> {
    let ranks = ranks(drawing);
    let mut plan = Plan::default();
    for (number, rank) in ranks.iter().enumerate() {
        let size = sizes.nodes.get(number).copied()?;
        plan.items.push(Item { rank: *rank, key: (number * 4, 0), size, x: 0.0, bend: false });
    }
    for (number, edge) in drawing.edges.iter().enumerate() {
        let between: Vec<usize> = match edge.kind {
            EdgeKind::Back => (ranks[edge.to]..=ranks[edge.from]).rev().collect(),
            EdgeKind::Next | EdgeKind::Failure => (ranks[edge.from] + 1..ranks[edge.to]).collect(),
        };
        if plan.items.len() + between.len() > ITEM_LIMIT {
            return None;
        }
        let key = (lane(drawing, edge), number);
        let mut chain = Vec::new();
        for (place, rank) in between.into_iter().enumerate() {
            let label = sizes.labels.get(number).copied().flatten().filter(|_| place == 0);
            chain.push(plan.items.len());
            plan.items.push(Item { rank, key, size: label.unwrap_or(BEND), x: 0.0, bend: true });
        }
        link(&mut plan, edge, &chain);
        plan.chains.push(chain);
    }
    let last = ranks.iter().max().copied().unwrap_or(0);
    plan.ranks = vec![Vec::new(); last + 1];
    for (number, item) in plan.items.iter().enumerate() {
        plan.ranks[item.rank].push(number);
    }
    for rank in &mut plan.ranks {
        rank.sort_by_key(|item| plan.items[*item].key);
    }
    Some(plan)
}

/// Returns the rank of each node: the length of the longest path to it. A label takes a rank of its own.
fn ranks(drawing: &Drawing) -> Vec<usize> {
    let mut ranks = vec![0; drawing.nodes.len()];
    let mut into: Vec<Vec<&Edge>> = vec![Vec::new(); drawing.nodes.len()];
    for edge in drawing.edges.iter().filter(|edge| edge.kind != EdgeKind::Back) {
        into[edge.to].push(edge);
    }
    for (number, edges) in into.iter().enumerate() {
        let below = |edge: &&Edge| ranks[edge.from] + if edge.label.is_empty() { 1 } else { 2 };
        ranks[number] = edges.iter().map(below).max().unwrap_or(0);
    }
    ranks
}

/// Returns the side on which an edge passes other nodes. An edge that skips nodes passes on their right. An
/// edge that only joins others at the same node stays on their left. A loop's back edge passes on the right
/// of the whole loop.
fn lane(drawing: &Drawing, edge: &Edge) -> usize {
    match (edge.kind, edge.label.as_str()) {
        (EdgeKind::Back, _) => {
            let after =
                drawing.edges.iter().filter(|other| other.from == edge.to && other.kind == EdgeKind::Next);
            let behind = after.map(|other| other.to).filter(|to| *to > edge.from).max();
            behind.unwrap_or(drawing.nodes.len()) * 4 - 3
        }
        (EdgeKind::Failure, _) | (EdgeKind::Next, "no" | "done") => edge.to * 4 - 2,
        (EdgeKind::Next, _) => edge.from * 4 + 1,
    }
}

fn link(plan: &mut Plan, edge: &Edge, chain: &[usize]) {
    let upwards = edge.kind == EdgeKind::Back;
    for pair in chain.windows(2) {
        plan.links.push(if upwards { (pair[1], pair[0]) } else { (pair[0], pair[1]) });
    }
    if upwards {
        plan.near.extend(chain.iter().map(|item| (*item, edge.to)));
        return;
    }
    match (chain.first(), chain.last()) {
        (Some(first), Some(last)) => {
            plan.links.push((edge.from, *first));
            plan.links.push((*last, edge.to));
        }
        _ => plan.links.push((edge.from, edge.to)),
    }
}
