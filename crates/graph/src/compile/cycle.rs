//! Finds cycles: a shortest one for each strongly connected set of nodes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Returns the cycles. Each begins with its first node in source order; the last node leads back to the
/// first.
pub fn cycles(targets: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> =
        components(targets).iter().filter_map(|component| shortest(targets, component)).collect();
    found.sort();
    found
}

/// Returns the strongly connected sets of nodes (Kosaraju's algorithm, without recursion).
fn components(targets: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let mut senders = vec![BTreeSet::new(); targets.len()];
    for (from, to) in
        targets.iter().enumerate().flat_map(|(from, list)| list.iter().map(move |to| (from, *to)))
    {
        senders[to].insert(from);
    }
    let mut seen = vec![false; targets.len()];
    let mut finished = Vec::new();
    for start in 0..targets.len() {
        let mut open = vec![(start, false)];
        while let Some((index, done)) = open.pop() {
            if done {
                finished.push(index);
            } else if !std::mem::replace(&mut seen[index], true) {
                open.push((index, true));
                open.extend(targets[index].iter().filter(|to| !seen[**to]).map(|to| (*to, false)));
            }
        }
    }
    let mut components = Vec::new();
    for start in finished.into_iter().rev() {
        let mut component = BTreeSet::new();
        let mut next = vec![start];
        while let Some(index) = next.pop() {
            if std::mem::replace(&mut seen[index], false) {
                component.insert(index);
                next.extend(senders[index].iter().filter(|from| seen[**from]));
            }
        }
        components.push(component);
    }
    components
}

/// Returns the shortest way from the first node of a component back to itself, or `None` for a single node
/// without one.
fn shortest(targets: &[BTreeSet<usize>], component: &BTreeSet<usize>) -> Option<Vec<usize>> {
    let start = *component.first()?;
    let mut came_from = BTreeMap::new();
    let mut next = VecDeque::from([start]);
    while let Some(index) = next.pop_front() {
        for to in targets[index].intersection(component) {
            if *to == start {
                let mut way = vec![index];
                while let Some(earlier) = came_from.get(&way[way.len() - 1]) {
                    way.push(*earlier);
                }
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(to) {
                came_from.insert(*to, index);
                next.push_back(*to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(edges: &[(usize, usize)], count: usize) -> Vec<Vec<usize>> {
        let mut targets = vec![BTreeSet::new(); count];
        edges.iter().for_each(|(from, to)| {
            targets[*from].insert(*to);
        });
        cycles(&targets)
    }

    #[test]
    fn each_set_of_nodes_that_leads_round_is_told_once_and_briefly() {
        assert_eq!(of(&[(0, 1), (1, 2), (0, 2)], 3), [[]; 0] as [[usize; 0]; 0]);
        assert_eq!(of(&[(0, 0)], 1), [[0]]);
        assert_eq!(of(&[(0, 1), (1, 2), (2, 0), (1, 0)], 3), [[0, 1]]);
        assert_eq!(of(&[(3, 1), (1, 3), (0, 1), (2, 4), (4, 2), (3, 2)], 5), [[1, 3], [2, 4]]);
    }
}
