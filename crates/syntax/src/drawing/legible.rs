//! Checks that hold for every layout, for use in the tests of each language.

use super::Drawing;
use super::layout::{Frame, Layout, Size, Sizes, arrange};

fn laid_out(drawing: &Drawing) -> Layout {
    let label = |text: &String| (!text.is_empty()).then_some(Size { width: 40.0, height: 16.0 });
    let sizes = Sizes {
        nodes: drawing
            .nodes
            .iter()
            .map(|node| Size { width: 60.0 + node.title.len() as f64, height: 40.0 })
            .collect(),
        labels: drawing.edges.iter().map(|edge| label(&edge.label)).collect(),
    };
    arrange(drawing, &sizes).unwrap()
}

fn overlap(a: &Frame, b: &Frame) -> bool {
    (a.x - b.x).abs() < (a.size.width + b.size.width) / 2.0 - 0.1
        && (a.y - b.y).abs() < (a.size.height + b.size.height) / 2.0 - 0.1
}

/// Asserts that no boxes overlap, that none leaves the page, and that no line passes through a foreign box.
pub fn check(drawing: &Drawing) {
    let layout = laid_out(drawing);
    let boxes: Vec<&Frame> = layout.nodes.iter().chain(layout.labels.iter().flatten()).collect();
    for (place, one) in boxes.iter().enumerate() {
        assert!(one.x - one.size.width / 2.0 >= 0.0 && one.x + one.size.width / 2.0 <= layout.size.width);
        assert!(one.y - one.size.height / 2.0 >= 0.0 && one.y + one.size.height / 2.0 <= layout.size.height);
        for other in &boxes[place + 1..] {
            assert!(!overlap(one, other), "{one:?} covers {other:?}");
        }
    }
    for (edge, path) in drawing.edges.iter().zip(&layout.paths) {
        for (x, y) in points(path) {
            for (node, frame) in layout.nodes.iter().enumerate() {
                let dot = Frame { x, y, size: Size { width: 0.0, height: 0.0 } };
                let own = node == edge.from || node == edge.to;
                assert!(own || !overlap(&dot, frame), "{edge:?} passes through {:?}", drawing.nodes[node]);
            }
        }
    }
}

/// Returns some points of a path.
fn points(path: &str) -> Vec<(f64, f64)> {
    let (mut x, mut y, mut found) = (0.0, 0.0, Vec::new());
    let mut words = path.split_inclusive(['M', 'V', 'C']).peekable();
    let mut letter = ' ';
    for word in &mut words {
        let numbers: Vec<f64> =
            word.trim_end_matches(['M', 'V', 'C']).split_whitespace().map(|n| n.parse().unwrap()).collect();
        match (letter, numbers.as_slice()) {
            ('M', [a, b]) => (x, y) = (*a, *b),
            ('V', [b]) => {
                found.extend((0..=10).map(|step| (x, y + (b - y) * f64::from(step) / 10.0)));
                y = *b;
            }
            ('C', [ax, ay, bx, by, cx, cy]) => {
                for step in 0..=20 {
                    let t = f64::from(step) / 20.0;
                    let at = |p0: f64, p1: f64, p2: f64, p3: f64| {
                        let u = 1.0 - t;
                        u * u * u * p0 + 3.0 * u * u * t * p1 + 3.0 * u * t * t * p2 + t * t * t * p3
                    };
                    found.push((at(x, *ax, *bx, *cx), at(y, *ay, *by, *cy)));
                }
                (x, y) = (*cx, *cy);
            }
            (' ', []) => {}
            other => panic!("{other:?} in {path}"),
        }
        letter = word.chars().last().unwrap();
    }
    found
}
