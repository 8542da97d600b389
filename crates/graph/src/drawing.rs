//! Draws a graph, in the formats that programs have too. Nodes are in topological order below a start node.
//! The states of a run can be shown in the drawing.

use rhythm_syntax::drawing::{Drawing, Edge, EdgeKind, Node as Shape, NodeKind as ShapeKind, State, title};

use super::ir::{Branch, ExitKind, Graph, Loop, Node, NodeIndex, NodeKind};

/// Returns the drawing. `states` are the node states by index; an empty slice draws the graph alone.
pub fn draw(name: &str, graph: &Graph, states: &[Option<State>]) -> Drawing {
    let order = graph.in_order();
    let mut places = vec![0; graph.nodes.len()];
    order.iter().enumerate().for_each(|(place, index)| places[*index] = place + 1);
    let mut drawing = Drawing::default();
    drawing.nodes.push(Shape {
        kind: ShapeKind::Start,
        title: title(name),
        note: String::new(),
        state: None,
    });
    for index in &order {
        let state = states.get(*index).copied().flatten();
        drawing.nodes.push(shape(&graph.nodes[*index], state));
    }
    for entry in graph.entries() {
        drawing.edges.push(Edge { from: 0, to: places[entry], label: String::new(), kind: EdgeKind::Next });
    }
    for index in &order {
        for edge in edges(&graph.nodes[*index], places[*index], &places) {
            if !drawing.edges.contains(&edge) {
                drawing.edges.push(edge);
            }
        }
    }
    drawing
}

fn shape(node: &Node, state: Option<State>) -> Shape {
    let (kind, word) = match &node.kind {
        NodeKind::Task => (ShapeKind::Task, "task"),
        NodeKind::Http => (ShapeKind::Task, "http"),
        NodeKind::Agent => (ShapeKind::Task, "agent"),
        NodeKind::Human => (ShapeKind::Approval, "approval"),
        NodeKind::Transform => (ShapeKind::Task, "transform"),
        NodeKind::Filter => (ShapeKind::Task, "filter"),
        NodeKind::Aggregate => (ShapeKind::Gather, "aggregate"),
        NodeKind::Conditional => (ShapeKind::Decision, "conditional"),
        NodeKind::Loop => (ShapeKind::Loop, "loop"),
        NodeKind::Parallel => (ShapeKind::Split, "parallel"),
        NodeKind::Child => (ShapeKind::Child, "workflow"),
        NodeKind::Delay => (ShapeKind::Timer, "delay"),
        NodeKind::Signal => (ShapeKind::Signal, "signal"),
        NodeKind::Registered(name) => (ShapeKind::Task, name.as_str()),
    };
    let mut note = title(word);
    if node.label.is_some() {
        note = format!("{note} {}", title(&node.id));
    }
    if let Some(task) = node.task.as_ref().filter(|task| **task != node.id && node.kind == NodeKind::Task) {
        note = format!("{note} {}", title(task));
    }
    if node.wait_for_all && node.dependencies.len() > 1 {
        note.push_str(", waits for all");
    }
    if let Some(state) = state {
        note = format!("{note}, {}", state.name());
    }
    Shape { kind, title: title(node.label.as_deref().unwrap_or(&node.id)), note, state }
}

fn edges<'n>(node: &'n Node, from: usize, places: &'n [usize]) -> impl Iterator<Item = Edge> + 'n {
    let back = node.looping.as_ref().map(|looping| looping.loop_back_to);
    node.exits().into_iter().flat_map(move |exit| {
        let label = label(node, exit.kind);
        exit.to.iter().map(move |to: &NodeIndex| {
            let kind = match exit.kind {
                _ if Some(*to) == back => EdgeKind::Back,
                ExitKind::Error | ExitKind::Rejection => EdgeKind::Failure,
                _ => EdgeKind::Next,
            };
            Edge { from, to: places[*to], label: label.clone(), kind }
        })
    })
}

fn label(node: &Node, exit: ExitKind) -> String {
    match exit {
        ExitKind::Next => String::new(),
        ExitKind::Rule(number) => rule(node, number),
        ExitKind::Default => "otherwise".to_owned(),
        ExitKind::Choice => "may choose".to_owned(),
        ExitKind::Break => "done".to_owned(),
        ExitKind::Timeout => node.looping.as_ref().map_or(String::new(), after),
        ExitKind::LoopBack => "again".to_owned(),
        ExitKind::Rejection => "rejected".to_owned(),
        ExitKind::Error => "fails".to_owned(),
    }
}

fn after(looping: &Loop) -> String {
    format!("after {}", looping.max_iterations)
}

/// Returns the text of a rule's condition if it has one, else its type.
fn rule(node: &Node, number: usize) -> String {
    let Some(Branch::Conditional { rules, .. }) = &node.branch else { return String::new() };
    let condition = rules.get(number).map(|rule| &rule.condition);
    let part = |key: &str| condition.and_then(|condition| condition.get(key)).and_then(|part| part.as_str());
    title(part("expression").or_else(|| part("query")).or_else(|| part("type")).unwrap_or("if"))
}

#[cfg(test)]
mod tests;
