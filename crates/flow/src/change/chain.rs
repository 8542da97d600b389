//! Finds the loops and tries around a step. The compiled form has only jumps and a table of handlers, so they
//! are recovered from these.

use crate::code::{Code, Index, Step};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    While,
    ForItems,
    ForKeys,
    Try,
    Catch,
}

/// One loop or try around a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub kind: Kind,
    /// Source text of the list the loop goes over, or of its condition.
    pub head: String,
    /// The slots of a loop over a list: the list, and the position in it.
    pub walk: Option<(Index, Index)>,
    /// The steps it covers, as a half-open range.
    reach: (usize, usize),
}

/// Returns the loops and tries around a step, outermost first.
pub fn chain(code: &Code, position: usize) -> Vec<Link> {
    let around = |link: &Link| (link.reach.0..link.reach.1).contains(&position);
    let mut links: Vec<Link> = loops(code).chain(tries(code)).filter(around).collect();
    // When two begin at the same step, the longer one is the outer one.
    links.sort_by_key(|link| (link.reach.0, std::cmp::Reverse(link.reach.1)));
    links
}

fn loops(code: &Code) -> impl Iterator<Item = Link> {
    code.steps.iter().enumerate().filter_map(|(end, step)| match step {
        Step::Next(next) => {
            let is_it = |step: &&Step| matches!(step, Step::Walk(walk) if walk.next as usize == end);
            let walk = code.steps.iter().find(is_it);
            let keys = matches!(walk, Some(Step::Walk(walk)) if walk.keys);
            let head = match walk {
                Some(Step::Walk(walk)) => code.expression_text(walk.items),
                _ => String::new(),
            };
            let kind = if keys { Kind::ForKeys } else { Kind::ForItems };
            Some(Link { kind, head, walk: Some((next.list, next.place)), reach: (next.body as usize, end) })
        }
        // Only a loop jumps back on a condition.
        Step::JumpIf(condition, first) if *first as usize <= end => Some(Link {
            kind: Kind::While,
            head: code.expression_text(*condition),
            walk: None,
            reach: (*first as usize, end),
        }),
        _ => None,
    })
}

fn tries(code: &Code) -> impl Iterator<Item = Link> {
    code.handlers.iter().flat_map(|handler| {
        let (from, to, target) = (handler.from as usize, handler.to as usize, handler.target as usize);
        let link = |kind, reach| Link { kind, head: String::new(), walk: None, reach };
        // When nothing is thrown, the tried block ends with a jump past its handler.
        let past = match code.steps.get(to) {
            Some(Step::Jump(past)) => *past as usize,
            _ => target,
        };
        [link(Kind::Try, (from, to)), link(Kind::Catch, (target, past))]
    })
}
