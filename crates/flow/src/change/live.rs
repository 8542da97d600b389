//! Liveness analysis: which variables a program may read, from a given wait on, before it writes them.

use std::collections::BTreeSet;

use crate::code::{Code, Index, Node, Part, Step};

/// Returns the slots that a run waiting at this step may still read, whether the wait succeeds or fails.
pub fn live_after(code: &Code, wait: usize) -> BTreeSet<usize> {
    let before = live_before(code);
    let mut live = BTreeSet::new();
    if !matches!(code.steps.get(wait), Some(Step::Return(_))) {
        live.extend(before.get(wait + 1).into_iter().flatten());
    }
    live.extend(caught(code, wait, &before));
    live
}

/// Returns, for every step, the slots that may be read from there on before they are written.
fn live_before(code: &Code) -> Vec<BTreeSet<usize>> {
    let mut live: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); code.steps.len()];
    // Loops let later steps lead back to earlier ones, so repeat until no set grows.
    loop {
        let mut grown = false;
        for place in (0..code.steps.len()).rev() {
            let Some(step) = code.steps.get(place) else { continue };
            let mut now: BTreeSet<usize> = BTreeSet::new();
            for next in follows(step, place) {
                now.extend(live.get(next).into_iter().flatten());
            }
            for slot in writes(step) {
                now.remove(&(slot as usize));
            }
            reads(code, step, &mut now);
            // A step may throw before it has written anything.
            now.extend(caught(code, place, &live));
            if now.len() > live[place].len() {
                live[place] = now;
                grown = true;
            }
        }
        if !grown {
            return live;
        }
    }
}

/// Returns the slots the handler of a step may read, except the slot of the error, which is written first.
fn caught(code: &Code, place: usize, live: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let Some(handler) = code.handler(place) else { return BTreeSet::new() };
    let mut read = live.get(handler.target as usize).cloned().unwrap_or_default();
    if let Some(slot) = handler.slot {
        read.remove(&(slot as usize));
    }
    read
}

fn follows(step: &Step, place: usize) -> Vec<usize> {
    match step {
        Step::Jump(target) => vec![*target as usize],
        Step::JumpIf(_, target) | Step::JumpUnless(_, target) => vec![place + 1, *target as usize],
        Step::Walk(walk) => vec![walk.next as usize],
        Step::Next(next) => vec![place + 1, next.body as usize],
        Step::Throw(_) | Step::Return(_) => Vec::new(),
        _ => vec![place + 1],
    }
}

fn writes(step: &Step) -> Vec<Index> {
    match step {
        Step::Set(slot, _) => vec![*slot],
        Step::TakeFields(fields, _) => fields.iter().map(|(_, slot)| *slot).collect(),
        Step::TakeItems(slots, _) => slots.clone(),
        Step::Walk(walk) => vec![walk.list, walk.place],
        // The variable of a loop is written only while there is a next item.
        _ => Vec::new(),
    }
}

fn reads(code: &Code, step: &Step, found: &mut BTreeSet<usize>) {
    let mut expression = |node: Index| slots_of(code, node, found);
    match step {
        Step::Set(_, value)
        | Step::TakeFields(_, value)
        | Step::TakeItems(_, value)
        | Step::Evaluate(value)
        | Step::Await(value)
        | Step::JumpIf(value, _)
        | Step::JumpUnless(value, _)
        | Step::Throw(value)
        | Step::Return(value) => expression(*value),
        Step::SetPath(slot, path, value) => {
            expression(*value);
            for part in path {
                if let Part::At(index) = part {
                    expression(*index);
                }
            }
            found.insert(*slot as usize);
        }
        Step::Walk(walk) => expression(walk.items),
        Step::Next(next) => found.extend([next.list as usize, next.place as usize]),
        Step::Jump(_) => {}
    }
}

/// Collects the slots an expression reads. Nodes refer only to earlier nodes, so the walk ends.
fn slots_of(code: &Code, node: Index, found: &mut BTreeSet<usize>) {
    let mut next = vec![node];
    let mut seen = BTreeSet::new();
    while let Some(place) = next.pop() {
        if !seen.insert(place) {
            continue;
        }
        let Some(node) = code.nodes.get(place as usize) else { continue };
        if let Node::Local(slot) = node {
            found.insert(*slot as usize);
        }
        node.each_child(&mut |child| next.push(child));
    }
}
