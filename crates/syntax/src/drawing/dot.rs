//! Writes a drawing for Graphviz.

use super::{Drawing, EdgeKind, NodeKind, State};

pub fn to_dot(drawing: &Drawing) -> String {
    let mut text =
        "digraph workflow {\n  rankdir=TB;\n  node [fontname=\"monospace\", fontsize=11];\n".to_owned();
    text.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    for (number, node) in drawing.nodes.iter().enumerate() {
        let label = match node.note.as_str() {
            "" => escaped(&node.title),
            note => format!("{}\\n{}", escaped(&node.title), escaped(note)),
        };
        let colours = match node.state.map(State::colours) {
            Some((fill, line)) => format!(", fillcolor=\"{fill}\", color=\"{line}\""),
            None => String::new(),
        };
        let shape = shape(node.kind, node.state.is_some());
        text.push_str(&format!("  n{number} [label=\"{label}\", {shape}{colours}];\n"));
    }
    for edge in &drawing.edges {
        let mut attributes = vec![format!("label=\"{}\"", escaped(&edge.label))];
        match edge.kind {
            EdgeKind::Next => {}
            EdgeKind::Back => attributes.push("constraint=false".to_owned()),
            EdgeKind::Failure => attributes.push("style=dashed".to_owned()),
        }
        text.push_str(&format!("  n{} -> n{} [{}];\n", edge.from, edge.to, attributes.join(", ")));
    }
    text.push_str("}\n");
    text
}

fn shape(kind: NodeKind, filled: bool) -> String {
    let (shape, style) = match kind {
        NodeKind::Start | NodeKind::End | NodeKind::Return => ("shape=box", "rounded,bold"),
        NodeKind::Task | NodeKind::Wait => ("shape=box", "rounded"),
        NodeKind::Child => ("shape=box, peripheries=2", ""),
        NodeKind::Approval => ("shape=house", ""),
        NodeKind::Timer => ("shape=ellipse", ""),
        NodeKind::Signal | NodeKind::Send => ("shape=cds", ""),
        NodeKind::Split => ("shape=trapezium", ""),
        NodeKind::Gather => ("shape=invtrapezium", ""),
        NodeKind::Decision => ("shape=diamond", ""),
        NodeKind::Loop => ("shape=hexagon", ""),
        NodeKind::Catch | NodeKind::Throw => ("shape=box", "dashed"),
    };
    let style: Vec<&str> =
        [style, if filled { "filled" } else { "" }].into_iter().filter(|one| !one.is_empty()).collect();
    match style.is_empty() {
        true => shape.to_owned(),
        false => format!("{shape}, style=\"{}\"", style.join(",")),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
