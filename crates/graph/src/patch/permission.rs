//! Checks `can_emit_to` for every exit of a node, whether the graph or a patch added it: a run that takes a
//! forbidden exit would fail.

use std::collections::BTreeSet;

use super::{Refused, codes};
use crate::ir::Graph;

/// Refuses a patch that adds an exit to a node outside `can_emit_to`. Exits from before are part of the
/// workflow, and compiling them gave a warning.
pub fn check_permission(before: &Graph, after: &Graph) -> Result<(), Refused> {
    let old = breaches(before);
    match breaches(after).into_iter().find(|breach| !old.contains(breach)) {
        Some((from, to)) => {
            let message = format!("{from} would lead to {to}, which its `can_emit_to` does not list");
            Refused::because(codes::UNAUTHORIZED, message)
        }
        None => Ok(()),
    }
}

/// Returns the forbidden edges by source and target.
fn breaches(graph: &Graph) -> BTreeSet<(&str, &str)> {
    let bound = graph.nodes.iter().filter_map(|node| Some((node, node.can_emit_to.as_ref()?)));
    let of = bound.flat_map(|(node, allowed)| {
        let exits = node.exits().into_iter().flat_map(|exit| exit.to);
        let beyond = exits.filter(|target| !allowed.contains(target));
        beyond.map(|target| (node.id.as_str(), graph.nodes[*target].id.as_str()))
    });
    of.collect()
}
