//! Text for Graphviz.

use super::{Drawing, EdgeKind, NodeKind};

pub fn to_dot(drawing: &Drawing) -> String {
    let mut text =
        "digraph workflow {\n  rankdir=TB;\n  node [fontname=\"monospace\", fontsize=11];\n".to_owned();
    text.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    for (number, node) in drawing.nodes.iter().enumerate() {
        let label = match node.note.as_str() {
            "" => escaped(&node.title),
            note => format!("{}\\n{}", escaped(&node.title), escaped(note)),
        };
        text.push_str(&format!("  n{number} [label=\"{label}\", {}];\n", shape(node.kind)));
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

fn shape(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Start | NodeKind::End | NodeKind::Return => "shape=box, style=\"rounded,bold\"",
        NodeKind::Task | NodeKind::Wait => "shape=box, style=rounded",
        NodeKind::Child => "shape=box, peripheries=2",
        NodeKind::Timer => "shape=ellipse",
        NodeKind::Signal | NodeKind::Send => "shape=cds",
        NodeKind::Split => "shape=trapezium",
        NodeKind::Gather => "shape=invtrapezium",
        NodeKind::Decision => "shape=diamond",
        NodeKind::Loop => "shape=hexagon",
        NodeKind::Catch | NodeKind::Throw => "shape=box, style=dashed",
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
