use proptest::prelude::*;
use rhythm_syntax::drawing::legible::check;
use rhythm_syntax::drawing::{to_dot, to_mermaid, to_svg};

use super::*;
use crate::{Context, compile};

const ORDER: &str = r#"
nodes:
  - {id: check, type: http, config: {url: "https://example.com"}, dependents: [score], error_path: [mend]}
  - id: score
    branch:
      rules: [{condition: {type: cel, expression: output.n > 80}, next_nodes: [ask, gift]}]
      default: [mail]
  - {id: ask, type: human, dependents: [pay], rejection_path: [mail]}
  - {id: gift, type: child, config: {workflow: gift}, dependents: [pay]}
  - {id: pay, config: {task: charge}, loop: {condition: output.again, max_iterations: 3, break_path: [mail], timeout_path: [mend]}}
  - {id: mail}
  - {id: mend, type: delay, config: {for: 1h}}
"#;

fn drawn(source: &str, states: &[Option<State>]) -> Drawing {
    let compiled = compile(source, &Context::default());
    draw("order", &compiled.graph.expect("a graph"), states)
}

#[test]
fn every_way_a_token_can_take_is_an_edge() {
    let drawing = drawn(ORDER, &[]);
    let name = |node: usize| drawing.nodes[node].title.as_str();
    let told: Vec<String> = drawing
        .edges
        .iter()
        .map(|edge| format!("{} {:?} {} {}", name(edge.from), edge.kind, edge.label, name(edge.to)))
        .collect();
    let expected = [
        "order Next  check",
        "check Next  score",
        "check Failure fails mend",
        "score Next output.n > 80 ask",
        "score Next output.n > 80 gift",
        "score Next otherwise mail",
        "ask Next  pay",
        "ask Failure rejected mail",
        "gift Next  pay",
        "pay Back again pay",
        "pay Next after 3 mend",
        "pay Next done mail",
    ];
    assert_eq!(told, expected);
    assert_eq!(drawing.nodes[5].note, "task charge, waits for all");
    assert!(drawing.edges.iter().all(|edge| edge.from < edge.to || edge.kind == EdgeKind::Back));
}

#[test]
fn a_node_with_a_label_shows_it_above_its_id() {
    let source = "nodes: [{id: pay, label: Charge the card, config: {task: charge}}, {id: mail}]";
    let nodes = drawn(source, &[]).nodes;
    let told: Vec<_> = nodes.iter().skip(1).map(|node| (node.title.as_str(), node.note.as_str())).collect();
    assert_eq!(told, [("Charge the card", "task pay charge"), ("mail", "task")]);
}

#[test]
fn a_run_is_laid_over_its_graph_in_every_format() {
    use State::{Done, Failed, Running, Skipped, Waiting};
    let states = [Some(Done), Some(Done), Some(Waiting), Some(Running), None, Some(Skipped), Some(Failed)];
    let (plain, shown) = (drawn(ORDER, &[]), drawn(ORDER, &states));
    let mermaid = to_mermaid(&shown);
    assert!(
        mermaid.contains("  classDef done fill:#dcfce7,stroke:#15803d\n  class n1,n2 done\n"),
        "{mermaid}"
    );
    assert!(!to_mermaid(&plain).contains("classDef"));
    let dot = to_dot(&shown);
    assert!(dot.contains("style=\"rounded,filled\", fillcolor=\"#dcfce7\", color=\"#15803d\""), "{dot}");
    assert!(!to_dot(&plain).contains("fillcolor"));
    let svg = to_svg(&shown).unwrap();
    assert!(
        svg.contains("class=\"node approval waiting-state\"") && svg.contains(".node.waiting-state {"),
        "{svg}"
    );
    assert!(svg.contains(">approval, waiting</text>"));
    assert!(!to_svg(&plain).unwrap().contains("-state"));
}

#[test]
fn names_of_types_and_tasks_cannot_break_out_of_their_labels() {
    let source = r#"{"nodes": [{"id": "a", "config": {"task": "\"]<script>&\u0000"}}]}"#;
    let drawing = drawn(source, &[]);
    let svg = to_svg(&drawing).unwrap();
    assert!(!svg.contains("<script") && !svg.contains('\0'), "{svg}");
    assert!(!to_mermaid(&drawing).contains("<script"));
}

/// A tree where every node except the root loops back to its sender.
#[test]
fn what_is_wide_and_goes_round_often_can_be_drawn() {
    let mut source = "nodes:\n  - {id: n0}\n".to_owned();
    for n in 1..60 {
        let sender = (n - 1) / 3;
        let looping = format!("loop: {{max_iterations: 2, loop_back_to: n{sender}}}");
        source += &format!("  - {{id: n{n}, dependencies: [n{sender}], {looping}}}\n");
    }
    let drawing = drawn(&source, &[]);
    assert_eq!(drawing.edges.len(), 1 + 2 * 59);
    check(&drawing);
}

#[test]
fn nothing_covers_anything() {
    check(&drawn(ORDER, &[]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Uses random forward edges.
    #[test]
    fn whatever_compiles_can_be_drawn(edges in prop::collection::vec((0..12_usize, 0..12_usize), 0..24)) {
        let nodes: Vec<String> = (0..12).map(|n| format!("{{id: n{n}}}")).collect();
        let edges: Vec<String> = edges
            .into_iter()
            .filter(|(from, to)| from < to)
            .map(|(from, to)| format!("{{from: n{from}, to: n{to}}}"))
            .collect();
        let limits = "limits: {max_fanout: 12}";
        check(&drawn(&format!("{limits}\nnodes: [{}]\nedges: [{}]\n", nodes.join(", "), edges.join(", ")), &[]));
    }
}
