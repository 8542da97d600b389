//! Restrictions on an agent's patch: the number of agents, the types of nodes it may create, and the targets
//! it may let others emit to. An agent may not change the restrictions on agents.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Refused, codes, type_name};
use crate::ir::{Branch, Graph, Node, NodeIndex, NodeKind};

/// Maximum number of agents in a graph that an agent has patched, and of agents that one patch may add.
const MOST_AGENTS: usize = 5;

/// Checks an agent's patch against its restrictions. Fails with the first violation.
pub fn check_agent(before: &Graph, after: &Graph, agent: &Node) -> Result<(), Refused> {
    let known: BTreeSet<&str> = before.nodes.iter().map(|node| node.id.as_str()).collect();
    check_number(&known, after)?;
    check_bounds(before, after, agent)?;
    check_choice(&known, (before, after), agent)?;
    check_types(before, after, agent)?;
    check_targets(&known, before, after, agent)
}

fn check_number(known: &BTreeSet<&str>, after: &Graph) -> Result<(), Refused> {
    let agents = after.nodes.iter().filter(|node| node.kind == NodeKind::Agent);
    let all = agents.clone().count();
    let new = agents.filter(|node| !known.contains(node.id.as_str())).count();
    if new > MOST_AGENTS || all > MOST_AGENTS {
        let message = format!("it adds {new} agents and makes them {all}, the limit is {MOST_AGENTS}");
        return Refused::because(codes::AGENTS, message);
    }
    Ok(())
}

/// Refuses changes of limits, permissions and approvals, which were set for the agents of this graph.
fn check_bounds(before: &Graph, after: &Graph, agent: &Node) -> Result<(), Refused> {
    let refuse =
        |what: String| Refused::because(codes::UNAUTHORIZED, format!("{} may not change {what}", agent.id));
    if before.limits != after.limits {
        return refuse("the limits of the graph".to_owned());
    }
    for old in &before.nodes {
        let Some(new) = after.nodes.iter().find(|node| node.id == old.id) else { continue };
        let may_emit_to = |graph: &Graph, node: &Node| -> Option<BTreeSet<String>> {
            let allowed = node.can_emit_to.as_ref()?;
            Some(allowed.iter().map(|place| graph.nodes[*place].id.clone()).collect())
        };
        let bounds = [
            ("agent_config", old.agent_config != new.agent_config),
            ("requires_approval", old.requires_approval != new.requires_approval),
            ("allowed_tools", old.allowed_tools != new.allowed_tools),
            ("can_emit_to", may_emit_to(before, old) != may_emit_to(after, new)),
            ("max_fanout", old.max_fanout != new.max_fanout),
            ("limits", old.limits != new.limits),
            ("human_config", old.human != new.human),
        ];
        if let Some((what, _)) = bounds.into_iter().find(|(_, changed)| *changed) {
            return refuse(format!("`{what}` of {}", old.id));
        }
    }
    Ok(())
}

/// Refuses new targets for the agent's own branch, except nodes that the patch adds.
fn check_choice(
    known: &BTreeSet<&str>,
    (before, after): (&Graph, &Graph),
    agent: &Node,
) -> Result<(), Refused> {
    let choice = |graph: &Graph| -> Option<BTreeSet<String>> {
        match &graph.nodes[graph.find(&agent.id)?].branch {
            Some(Branch::AgentDriven { available_next_nodes: list, .. }) => {
                Some(list.iter().map(|place| graph.nodes[*place].id.clone()).collect())
            }
            _ => None,
        }
    };
    let (Some(old), Some(new)) = (choice(before), choice(after)) else { return Ok(()) };
    match new.difference(&old).find(|target| known.contains(target.as_str())) {
        Some(target) => {
            let message = format!("{0} may not add {target} to `available_next_nodes` of {0}", agent.id);
            Refused::because(codes::UNAUTHORIZED, message)
        }
        None => Ok(()),
    }
}

fn check_types(before: &Graph, after: &Graph, agent: &Node) -> Result<(), Refused> {
    let Some(types) = allowed(agent, &["allowed_types", "allowed_node_types"]) else { return Ok(()) };
    let is_made = |node: &&Node| before.nodes.iter().all(|old| old.id != node.id || old.kind != node.kind);
    let mut made = after.nodes.iter().filter(is_made);
    match made.find(|node| !types.contains(&type_name(&node.kind))) {
        Some(node) => {
            let kind = type_name(&node.kind);
            let message = format!("{} may not make {} a node of type {kind}", agent.id, node.id);
            Refused::because(codes::UNAUTHORIZED, message)
        }
        None => Ok(()),
    }
}

/// Checks the new edges to nodes that existed before, going back as well as forward.
fn check_targets(known: &BTreeSet<&str>, before: &Graph, after: &Graph, agent: &Node) -> Result<(), Refused> {
    let Some(targets) = allowed(agent, &["allowed_targets"]) else { return Ok(()) };
    let edges = |graph: &Graph| -> BTreeSet<(String, String)> {
        let id = |place: &NodeIndex| graph.nodes[*place].id.clone();
        let of = |node: &Node| -> Vec<(String, String)> {
            let targets = node.exits().into_iter().flat_map(|exit| exit.to);
            targets.map(|to| (node.id.clone(), id(to))).collect()
        };
        graph.nodes.iter().flat_map(of).collect()
    };
    let old = edges(before);
    let mut new = edges(after).into_iter().filter(|edge| !old.contains(edge));
    match new.find(|(_, to)| known.contains(to.as_str()) && !targets.contains(&to.as_str())) {
        Some((from, to)) => {
            let message = format!("{} may not let {from} emit to {to}", agent.id);
            Refused::because(codes::UNAUTHORIZED, message)
        }
        None => Ok(()),
    }
}

/// Returns a list of names from an agent's config. Absent: anything is allowed.
fn allowed<'a>(agent: &'a Node, keys: &[&str]) -> Option<Vec<&'a str>> {
    let config = agent.agent_config.as_ref()?;
    let list = keys.iter().find_map(|key| config.get(key)).and_then(Value::as_array)?;
    Some(list.iter().filter_map(Value::as_str).collect())
}
