//! Writes a drawing as SVG that every browser shows without further resources.

use std::fmt::Write;

use super::layout::{Frame, Size, Sizes, arrange};
use super::{Drawing, EdgeKind, Node, NodeKind};

const TITLE_FONT: f64 = 13.0;
const NOTE_FONT: f64 = 11.0;
/// Width of a monospaced character, as a fraction of the font size.
const CHARACTER: f64 = 0.602;
/// Width of the cut corners of a hexagon, in pixels.
const CUT: f64 = 16.0;

/// The program has too many nodes and edges to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{nodes} nodes are too many to be laid out here")]
pub struct TooLarge {
    pub nodes: usize,
}

pub fn to_svg(drawing: &Drawing) -> Result<String, TooLarge> {
    let label = |text: &String| {
        (!text.is_empty()).then(|| Size { width: width(text, NOTE_FONT) + 10.0, height: 16.0 })
    };
    let sizes = Sizes {
        nodes: drawing.nodes.iter().map(size).collect(),
        labels: drawing.edges.iter().map(|edge| label(&edge.label)).collect(),
    };
    let layout = arrange(drawing, &sizes).ok_or(TooLarge { nodes: drawing.nodes.len() })?;
    let Size { width, height } = layout.size;
    let (width, height) = (width.ceil(), height.ceil());
    let name = drawing.nodes.first().map_or("", |node| node.title.as_str());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\">\n<title>{}</title>\n",
        escaped(name)
    );
    svg.push_str(HEAD);
    states(&mut svg, drawing);
    for (edge, path) in drawing.edges.iter().zip(&layout.paths) {
        let class = if edge.kind == EdgeKind::Failure { "failure" } else { "next" };
        let _ = writeln!(svg, "<path class=\"edge {class}\" d=\"{path}\" marker-end=\"url(#{class})\"/>");
    }
    for (edge, frame) in drawing.edges.iter().zip(&layout.labels) {
        if let Some(frame) = frame {
            let class = if edge.kind == EdgeKind::Failure { "label failing" } else { "label" };
            rect(&mut svg, "paper", frame, 3.0);
            text(&mut svg, class, &edge.label, (frame.x, frame.y + 4.0), NOTE_FONT);
        }
    }
    for (node, frame) in drawing.nodes.iter().zip(&layout.nodes) {
        draw(&mut svg, node, frame);
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

const HEAD: &str = "<style>
.paper { fill: #ffffff; }
.edge { fill: none; stroke: #6b7280; stroke-width: 1.5; }
.edge.failure { stroke: #b91c1c; stroke-dasharray: 5 4; }
.title { fill: #111827; text-anchor: middle; }
.note { fill: #4b5563; text-anchor: middle; }
.label { fill: #374151; text-anchor: middle; }
.label.failing { fill: #b91c1c; }
.node { stroke-width: 1.5; fill: #f9fafb; stroke: #6b7280; }
.node.start, .node.end, .node.return { fill: #ecfdf5; stroke: #047857; }
.node.task { fill: #eff6ff; stroke: #1d4ed8; }
.node.child { fill: #eef2ff; stroke: #4338ca; }
.node.approval { fill: #fff1f2; stroke: #be123c; }
.node.timer { fill: #fff7ed; stroke: #c2410c; }
.node.signal, .node.send { fill: #fdf4ff; stroke: #a21caf; }
.node.gather, .node.wait { fill: #f0fdfa; stroke: #0f766e; }
.node.decision { fill: #fefce8; stroke: #a16207; }
.node.loop { fill: #f5f3ff; stroke: #6d28d9; }
.node.catch, .node.throw { fill: #fef2f2; stroke: #b91c1c; }
</style>
<defs>
<marker id=\"next\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
<path d=\"M0 0L10 5L0 10z\" fill=\"#6b7280\"/></marker>
<marker id=\"failure\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
<path d=\"M0 0L10 5L0 10z\" fill=\"#b91c1c\"/></marker>
</defs>
<rect class=\"paper\" width=\"100%\" height=\"100%\"/>
";

/// Writes the colours of run states, which override those of node kinds.
fn states(svg: &mut String, drawing: &Drawing) {
    let rules: Vec<String> = drawing
        .states()
        .map(|state| {
            let (fill, line) = state.colours();
            format!(".node.{}-state {{ fill: {fill}; stroke: {line}; stroke-width: 2.5; }}\n", state.name())
        })
        .collect();
    if !rules.is_empty() {
        let _ = writeln!(svg, "<style>\n{}</style>", rules.concat());
    }
}

fn is_cut(kind: NodeKind) -> bool {
    matches!(kind, NodeKind::Decision | NodeKind::Loop)
}

fn size(node: &Node) -> Size {
    let text = width(&node.title, TITLE_FONT).max(width(&node.note, NOTE_FONT));
    let cut = if is_cut(node.kind) { 2.0 * CUT } else { 0.0 };
    let height = if node.note.is_empty() { 30.0 } else { 46.0 };
    Size { width: (text + 28.0 + cut).max(84.0), height }
}

fn draw(svg: &mut String, node: &Node, frame: &Frame) {
    let Frame { x, y, size: Size { width, height } } = *frame;
    let state = node.state.map_or(String::new(), |state| format!(" {}-state", state.name()));
    let class = format!("node {}{state}", class(node.kind));
    if is_cut(node.kind) {
        let (left, right, top, bottom) =
            (x - width / 2.0, x + width / 2.0, y - height / 2.0, y + height / 2.0);
        let _ = writeln!(
            svg,
            "<path class=\"{class}\" d=\"M{left:.1} {y:.1}L{:.1} {top:.1}H{:.1}L{right:.1} {y:.1}L{:.1} \
             {bottom:.1}H{:.1}z\"/>",
            left + CUT,
            right - CUT,
            right - CUT,
            left + CUT
        );
    } else {
        let round = match node.kind {
            NodeKind::Start | NodeKind::End => height / 2.0,
            NodeKind::Return | NodeKind::Split | NodeKind::Gather | NodeKind::Timer => 14.0,
            NodeKind::Throw | NodeKind::Child => 2.0,
            _ => 7.0,
        };
        rect(svg, &class, frame, round);
        if node.kind == NodeKind::Child {
            let inner = Frame { size: Size { width: width - 8.0, height: height - 8.0 }, ..*frame };
            rect(svg, &class, &inner, 1.0);
        }
    }
    let middle = if node.note.is_empty() { y + 4.5 } else { y - 3.0 };
    text(svg, "title", &node.title, (x, middle), TITLE_FONT);
    if !node.note.is_empty() {
        text(svg, "note", &node.note, (x, y + 14.0), NOTE_FONT);
    }
}

fn class(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Start => "start",
        NodeKind::Task => "task",
        NodeKind::Child => "child",
        NodeKind::Approval => "approval",
        NodeKind::Timer => "timer",
        NodeKind::Signal => "signal",
        NodeKind::Wait => "wait",
        NodeKind::Split | NodeKind::Gather => "gather",
        NodeKind::Send => "send",
        NodeKind::Decision => "decision",
        NodeKind::Loop => "loop",
        NodeKind::Catch => "catch",
        NodeKind::Throw => "throw",
        NodeKind::Return => "return",
        NodeKind::End => "end",
    }
}

fn rect(svg: &mut String, class: &str, frame: &Frame, round: f64) {
    let Frame { x, y, size: Size { width, height } } = *frame;
    let (left, top) = (x - width / 2.0, y - height / 2.0);
    let _ = writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round}\"/>"
    );
}

/// Writes a text with its length, so that it stays within its box in every font.
fn text(svg: &mut String, class: &str, text: &str, (x, y): (f64, f64), font: f64) {
    let length = width(text, font);
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{font}\" textLength=\"{length:.1}\" \
         lengthAdjust=\"spacingAndGlyphs\">{}</text>",
        escaped(text)
    );
}

fn width(text: &str, font: f64) -> f64 {
    // Characters beyond the first blocks of Unicode are often twice as wide.
    let cells: u32 = text
        .chars()
        .map(|c| if u32::from(c) >= 0x1100 && c != '\u{2026}' && c != '\u{2013}' { 2 } else { 1 })
        .sum();
    f64::from(cells) * font * CHARACTER
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML allows these characters in no form.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
