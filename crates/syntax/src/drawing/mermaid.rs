//! Writes a drawing as a Mermaid flowchart.

use super::{Drawing, EdgeKind, Node, NodeKind};

pub fn to_mermaid(drawing: &Drawing) -> String {
    let mut text = "flowchart TD\n".to_owned();
    for (number, node) in drawing.nodes.iter().enumerate() {
        let (open, close) = shape(node.kind);
        text.push_str(&format!("  n{number}{open}\"{}\"{close}\n", label(node)));
    }
    for edge in &drawing.edges {
        let arrow = if edge.kind == EdgeKind::Failure { "-.->" } else { "-->" };
        let label = match edge.label.as_str() {
            "" => String::new(),
            label => format!("|\"{}\"|", escaped(label)),
        };
        text.push_str(&format!("  n{} {arrow}{label} n{}\n", edge.from, edge.to));
    }
    for state in drawing.states() {
        let (fill, line) = state.colours();
        let members = drawing.nodes.iter().enumerate().filter(|(_, node)| node.state == Some(state));
        let members: Vec<String> = members.map(|(number, _)| format!("n{number}")).collect();
        let name = state.name();
        text.push_str(&format!(
            "  classDef {name} fill:{fill},stroke:{line}\n  class {} {name}\n",
            members.join(",")
        ));
    }
    text
}

fn shape(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::Start | NodeKind::End | NodeKind::Return => ("([", "])"),
        NodeKind::Decision => ("{", "}"),
        NodeKind::Loop => ("{{", "}}"),
        NodeKind::Child => ("[[", "]]"),
        NodeKind::Approval => ("[/", "/]"),
        NodeKind::Signal | NodeKind::Send => (">", "]"),
        NodeKind::Timer | NodeKind::Split | NodeKind::Gather => ("(", ")"),
        NodeKind::Task | NodeKind::Wait | NodeKind::Catch | NodeKind::Throw => ("[", "]"),
    }
}

fn label(node: &Node) -> String {
    match node.note.as_str() {
        "" => escaped(&node.title),
        note => format!("{}<br/>{}", escaped(&node.title), escaped(note)),
    }
}

/// Escapes every character that could end a label, begin markup or be read as an entity.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '#' | '<' | '>' | '&' | '`' | '\\' | '*' | '_' | '|' | ';' | '%' | '[' | ']' | '{'
            | '}' => {
                out.push_str(&format!("#{};", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}
