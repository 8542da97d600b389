//! `can_emit_to` binds every way out of a node, whoever wrote it: a run that is led elsewhere would fail there.

use std::collections::BTreeSet;

use super::{Refused, codes};
use crate::ir::Graph;

/// Whether no node is newly led to where it may not emit. What was so before is the workflow's own, and was warned of.
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

/// From and to.
fn breaches(graph: &Graph) -> BTreeSet<(&str, &str)> {
    let bound = graph.nodes.iter().filter_map(|node| Some((node, node.can_emit_to.as_ref()?)));
    let of = bound.flat_map(|(node, allowed)| {
        let exits = node.exits().into_iter().flat_map(|exit| exit.to);
        let beyond = exits.filter(|target| !allowed.contains(target));
        beyond.map(|target| (node.id.as_str(), graph.nodes[*target].id.as_str()))
    });
    of.collect()
}
