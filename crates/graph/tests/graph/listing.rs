//! Lists a compiled graph, one line for each node in topological order.

use rhythm_core::OnExhausted;
use rhythm_graph::Graph;
use rhythm_graph::ir::{Config, ExitKind, Node, NodeIndex};

pub fn of(graph: &Graph) -> String {
    let mut text = String::new();
    for index in graph.in_order() {
        text += &line(graph, &graph.nodes[index]);
        text.push('\n');
    }
    text
}

fn line(graph: &Graph, node: &Node) -> String {
    let names = |list: &[NodeIndex]| match list {
        [] => "nowhere".to_owned(),
        list => list.iter().map(|index| graph.nodes[*index].id.as_str()).collect::<Vec<_>>().join(", "),
    };
    let kind = match serde_json::to_value(&node.kind).unwrap() {
        serde_json::Value::String(name) => name,
        _ => "registered".to_owned(),
    };
    let mut line = format!("{} {kind}", node.id);
    let mut say = |text: String| {
        line.push_str("; ");
        line.push_str(&text);
    };
    if let Some(task) = node.task.as_ref().filter(|task| **task != node.id) {
        say(format!("runs {task}"));
    }
    if node.queue != "default" {
        say(format!("queue {}", node.queue));
    }
    if let Config::Unresolved(reference) = &node.config {
        say(format!("needs {reference}"));
    }
    if node.is_entry {
        say("entry".to_owned());
    }
    if !node.dependencies.is_empty() {
        let how = if node.wait_for_all { "waits for all of" } else { "after each of" };
        say(format!("{how} {}", names(&node.dependencies)));
    }
    for exit in node.exits() {
        let always =
            matches!(exit.kind, ExitKind::Rule(_) | ExitKind::Default | ExitKind::Break | ExitKind::Choice);
        if !exit.to.is_empty() || always {
            say(format!("{} {}", format!("{:?}", exit.kind).to_lowercase(), names(exit.to)));
        }
    }
    if let Some(looping) = &node.looping {
        say(format!("at most {} times", looping.max_iterations));
    }
    if let Some(retry) = &node.retry {
        say(format!(
            "{} attempts, {} apart, times {}",
            retry.max_attempts, retry.initial_delay, retry.multiplier
        ));
    }
    if let Some(timeout) = node.timeout {
        say(format!("{timeout} each"));
    }
    if let Some(deadline) = node.limits.deadline {
        say(format!("{deadline} in all"));
    }
    if node.on_exhausted == OnExhausted::Hold {
        say("held".to_owned());
    }
    if let Some(undo) = &node.compensator {
        say(format!("undone by {}", undo.task));
    }
    if let Some(human) = &node.human {
        let timeout = human.timeout.map_or("no end".to_owned(), |timeout| timeout.to_string());
        say(format!("asks {:?}, {timeout}, then {:?}", human.approvers, human.escalation_policy));
        human.escalation.iter().for_each(|step| say(format!("after {} {:?}", step.after, step.approvers)));
    }
    if node.is_terminal {
        say("terminal".to_owned());
    }
    line
}
