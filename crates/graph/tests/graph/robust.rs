//! Every text gives a result: diagnostics within the text, and either no graph or one whose indices exist.

use proptest::prelude::*;
use rhythm_graph::Graph;

use crate::{cases, compiled, files};

fn sources() -> Vec<String> {
    files()
        .iter()
        .flat_map(|file| cases(&std::fs::read_to_string(file).unwrap()))
        .map(|case| case.source)
        .collect()
}

fn assert_answered(source: &str) {
    let compiled = compiled(source);
    for diagnostic in &compiled.diagnostics {
        let range = diagnostic.span.range();
        assert!(range.start <= range.end && range.end <= source.len() + 1, "{diagnostic:?}\n{source}");
    }
    let Some(graph) = compiled.graph else {
        assert!(compiled.diagnostics.iter().any(|diagnostic| diagnostic.code < "GRAPH100"), "{source}");
        return;
    };
    assert_sound(&graph);
    let stored = serde_json::to_string(&graph).unwrap();
    assert_eq!(serde_json::from_str::<Graph>(&stored).unwrap(), graph, "{source}");
}

/// Checks the properties that the machine relies on.
fn assert_sound(graph: &Graph) {
    let mut ranks: Vec<u32> = graph.nodes.iter().map(|node| node.rank).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..graph.nodes.len() as u32).collect::<Vec<_>>());
    assert!(graph.entries().next().is_some());
    assert!(graph.endless || graph.nodes.iter().any(|node| node.is_terminal));
    for node in &graph.nodes {
        assert!(node.targets().all(|target| graph.nodes[target].rank > node.rank), "{} leads back", node.id);
        assert!(node.targets().all(|target| !graph.nodes[target].is_entry), "{} leads to an entry", node.id);
        let known = node.dependencies.iter().chain(node.can_emit_to.iter().flatten());
        assert!(
            known
                .chain(node.looping.iter().map(|looping| &looping.loop_back_to))
                .all(|index| *index < graph.nodes.len())
        );
        assert!(node.looping.iter().all(|looping| looping.max_iterations >= 1));
    }
}

/// One change: cut a piece out, insert a generated piece, or copy a piece of the text elsewhere.
#[derive(Clone, Debug)]
enum Change {
    Cut(prop::sample::Index, usize),
    Insert(prop::sample::Index, String),
    Borrow(prop::sample::Index, prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let piece = prop_oneof![
        "[\\[\\]{}:,\"' \n&*!|>~-]{1,3}",
        "[a-e0-9]{1,3}",
        Just("\u{1f600}".to_owned()),
        Just("\0".to_owned())
    ];
    prop_oneof![
        (any::<prop::sample::Index>(), 1..20_usize).prop_map(|(at, length)| Change::Cut(at, length)),
        (any::<prop::sample::Index>(), piece).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..40_usize)
            .prop_map(|(from, to, length)| Change::Borrow(from, to, length)),
    ]
}

fn changed(source: &str, changes: &[Change]) -> String {
    let mut text: Vec<char> = source.chars().collect();
    for change in changes {
        let place = |index: &prop::sample::Index, text: &[char]| index.index(text.len() + 1);
        match change {
            Change::Cut(at, length) => {
                let start = place(at, &text);
                text.drain(start..(start + length).min(text.len()));
            }
            Change::Insert(at, piece) => {
                let start = place(at, &text);
                text.splice(start..start, piece.chars());
            }
            Change::Borrow(from, to, length) => {
                let (start, target) = (place(from, &text), place(to, &text));
                let piece: Vec<char> = text[start..(start + length).min(text.len())].to_vec();
                text.splice(target..target, piece);
            }
        }
    }
    text.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_graph_is_answered(which in any::<prop::sample::Index>(), changes in prop::collection::vec(change(), 0..5)) {
        let sources = sources();
        let source: &String = which.get(&sources);
        assert_answered(&changed(source, &changes));
    }

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        assert_answered(&text);
    }

    /// Uses random edges, which give mostly cycles and joins.
    #[test]
    fn any_wiring_is_answered(
        count in 1..8_usize,
        edges in prop::collection::vec((0..8_usize, 0..8_usize, any::<bool>()), 0..12),
        loops in prop::collection::vec((0..8_usize, 0..8_usize), 0..3),
        declared in prop::collection::vec((0..8_usize, 0..8_usize), 0..4),
    ) {
        let mut nodes: Vec<serde_json::Value> = (0..count).map(|n| serde_json::json!({"id": format!("n{n}")})).collect();
        for (at, back) in loops {
            nodes[at % count]["loop"] = serde_json::json!({"max_iterations": 2, "loop_back_to": format!("n{}", back % count)});
        }
        for (at, from) in declared {
            nodes[at % count]["dependencies"] = serde_json::json!([format!("n{}", from % count)]);
        }
        let edges: Vec<serde_json::Value> = edges.into_iter().map(|(from, to, plain)| {
            let mut edge = serde_json::json!({"from": format!("n{}", from % count), "to": format!("n{}", to % count)});
            if !plain {
                edge["condition"] = "output.x".into();
            }
            edge
        }).collect();
        assert_answered(&serde_json::json!({"nodes": nodes, "edges": edges, "limits": {"max_fanout": 100}}).to_string());
    }
}

#[test]
fn large_graphs_take_little_time() {
    let chain: Vec<String> =
        (0..9_000).map(|n| format!("{{\"id\":\"n{n}\",\"dependencies\":[\"n{}\"]}}", n + 1)).collect();
    let source = format!("{{\"nodes\":[{},{{\"id\":\"n9000\"}}]}}", chain.join(","));
    assert_answered(&source);
    let star: Vec<String> = (1..9_000).map(|n| format!("{{\"from\":\"n0\",\"to\":\"n{n}\"}}")).collect();
    let nodes: Vec<String> = (0..9_000).map(|n| format!("{{\"id\":\"n{n}\"}}")).collect();
    let source = format!(
        "{{\"limits\":{{\"max_fanout\":9000}},\"nodes\":[{}],\"edges\":[{}]}}",
        nodes.join(","),
        star.join(",")
    );
    assert_answered(&source);
}

#[test]
fn a_graph_has_bounds() {
    let code = |source: &str| compiled(source).diagnostics[0].code;
    assert_eq!(code(&format!("nodes: [{{id: a, description: \"{}\"}}]", "x".repeat(1 << 20))), "GRAPH002");
    let many: Vec<String> = (0..10_001).map(|n| format!("{{id: n{n}}}")).collect();
    assert_eq!(code(&format!("nodes: [{}]", many.join(", "))), "GRAPH002");
    let deep =
        format!("{{\"nodes\": [{{\"id\": \"a\", \"config\": {}1{}}}]}}", "[".repeat(98), "]".repeat(98));
    assert_eq!(code(&deep), "GRAPH001");
}
