//! Places the items of a rank horizontally: as near to the items they are connected to as their neighbours
//! allow.

use super::Plan;

const ROUNDS: usize = 60;
/// Pull of a loop on the bends of its back edge; an edge between two nodes pulls with 1.
const NEARNESS: f64 = 0.2;

pub fn spread(plan: &mut Plan) {
    let mut above: Vec<Vec<(usize, f64)>> = vec![Vec::new(); plan.items.len()];
    let mut below = above.clone();
    for (upper, lower) in &plan.links {
        let bends = [upper, lower].iter().filter(|item| plan.items[***item].bend).count();
        // Keeping long edges straight has priority.
        let weight = [1.0, 2.0, 40.0][bends];
        below[*upper].push((*lower, weight));
        above[*lower].push((*upper, weight));
    }
    let mut near = vec![Vec::new(); plan.items.len()];
    for (bend, node) in &plan.near {
        near[*bend].push((*node, NEARNESS));
    }
    for rank in 0..plan.ranks.len() {
        settle(plan, rank, &[]);
    }
    for round in 0..ROUNDS {
        let last = round + 2 >= ROUNDS;
        let down = round % 2 == 0;
        for step in 0..plan.ranks.len() {
            let rank = if down { step } else { plan.ranks.len() - 1 - step };
            // The last rounds use both sides.
            let sides = match (last, down) {
                (true, _) => vec![&near, &above, &below],
                (false, true) => vec![&near, &above],
                (false, false) => vec![&near, &below],
            };
            settle(plan, rank, &sides);
        }
    }
}

/// Places the items of a rank, in their order, as near to their wished positions as possible. Neighbours
/// whose wishes collide form one block, placed at the average of its wishes.
fn settle(plan: &mut Plan, rank: usize, sides: &[&Vec<Vec<(usize, f64)>>]) {
    struct Block {
        wish: f64,
        weight: f64,
        members: usize,
    }
    let members = &plan.ranks[rank];
    let mut offsets = Vec::with_capacity(members.len());
    let mut offset = 0.0;
    for (place, item) in members.iter().enumerate() {
        if place > 0 {
            offset += room(plan, members[place - 1], *item);
        }
        offsets.push(offset);
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (item, offset) in members.iter().zip(&offsets) {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (other, pull) in sides.iter().flat_map(|side| &side[*item]) {
            sum += plan.items[*other].x * pull;
            weight += pull;
        }
        let wish = if weight > 0.0 { sum / weight } else { plan.items[*item].x };
        let mut block = Block { wish: wish - offset, weight: weight.max(0.01), members: 1 };
        while let Some(left) = blocks.pop_if(|left| left.wish > block.wish) {
            let weight = left.weight + block.weight;
            let wish = (left.wish * left.weight + block.wish * block.weight) / weight;
            block = Block { wish, weight, members: left.members + block.members };
        }
        blocks.push(block);
    }
    let wishes = blocks.iter().flat_map(|block| std::iter::repeat_n(block.wish, block.members));
    let places: Vec<f64> = wishes.zip(&offsets).map(|(wish, offset)| wish + offset).collect();
    for (item, x) in plan.ranks[rank].clone().into_iter().zip(places) {
        plan.items[item].x = x;
    }
}

/// Returns the smallest distance between the centres of two neighbours.
fn room(plan: &Plan, left: usize, right: usize) -> f64 {
    let (left, right) = (&plan.items[left], &plan.items[right]);
    let gap = if left.bend && right.bend { 14.0 } else { 26.0 };
    (left.size.width + right.size.width) / 2.0 + gap
}
