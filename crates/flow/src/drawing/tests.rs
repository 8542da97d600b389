use proptest::prelude::*;
use rhythm_syntax::drawing::legible::check;
use rhythm_syntax::drawing::*;

use super::*;
use crate::arbitrary::{Flavour, program};
use crate::parse;

const ORDER: &str = r#"workflow(ctx, inputs) {
  let stock = Task.run("reserve", inputs)
  try {
    await Task.run("charge", { amount: inputs.amount })
    if (inputs.express) {
      sleep("1h")
    } else if (inputs.check) {
      let answer = await Signal.when("approve", { timeout: "3d" })
      if (!answer.ok) { throw { message: "refused" } }
    }
    for (const item of inputs.items) {
      if (item.gift) { continue }
      await Promise.all([Task.run("pack", item), Promise.race([Workflow.run("ship", item), Timer.delay(60)]), stock])
    }
  } catch (e) {
    await Task.run("refund", {})
    return { status: "refunded" }
  }
  while (false) { log("never") }
  return await Task.timeout(Task.run("mail", {}), "10m")
}"#;

fn drawn(source: &str) -> Drawing {
    draw("order", &parse(source).file, source)
}

fn told(source: &str) -> Vec<String> {
    let drawing = drawn(source);
    let name = |node: usize| drawing.nodes[node].title.clone();
    let told = drawing.edges.iter().map(|edge| {
        let arrow = match (edge.kind, edge.label.as_str()) {
            (EdgeKind::Failure, _) => "-fails->".to_owned(),
            (EdgeKind::Back, _) => "-again->".to_owned(),
            (EdgeKind::Next, "") => "->".to_owned(),
            (EdgeKind::Next, label) => format!("-{label}->"),
        };
        format!("{} {arrow} {}", name(edge.from), name(edge.to))
    });
    told.collect()
}

#[test]
fn waits_branches_loops_and_ends_are_nodes() {
    let nodes: Vec<(NodeKind, String, String)> =
        drawn(ORDER).nodes.into_iter().map(|node| (node.kind, node.title, node.note)).collect();
    let expected = [
        (NodeKind::Start, "order", ""),
        (NodeKind::Task, "reserve", "task, started, line 2"),
        (NodeKind::Task, "charge", "task, line 4"),
        (NodeKind::Decision, "inputs.express", "line 5"),
        (NodeKind::Timer, "1h", "timer, line 6"),
        (NodeKind::Decision, "inputs.check", "line 7"),
        (NodeKind::Signal, "approve", "signal, line 8"),
        (NodeKind::Decision, "!answer.ok", "line 9"),
        (NodeKind::Throw, "throw { message: \"refused\" }", "line 9"),
        (NodeKind::Loop, "for item of inputs.items", "line 11"),
        (NodeKind::Decision, "item.gift", "line 12"),
        (NodeKind::Split, "start together", "line 13"),
        (NodeKind::Task, "pack", "task, line 13"),
        (NodeKind::Child, "ship", "workflow, line 13"),
        (NodeKind::Timer, "60 s", "timer, line 13"),
        (NodeKind::Gather, "race", "together, line 13"),
        (NodeKind::Gather, "all: stock", "together, line 13"),
        (NodeKind::Catch, "catch e", "line 15"),
        (NodeKind::Task, "refund", "task, line 16"),
        (NodeKind::Return, "return { status: \"refunded\" }", "line 17"),
        (NodeKind::Loop, "while false", "line 19"),
        (NodeKind::Task, "mail", "task, line 20, at most 10m"),
        (NodeKind::Return, "return", "line 20"),
    ];
    let expected: Vec<_> =
        expected.iter().map(|(kind, title, note)| (*kind, (*title).to_owned(), (*note).to_owned())).collect();
    assert_eq!(nodes, expected);
}

#[test]
fn a_constant_label_is_the_title_and_any_other_is_not() {
    let drawing = drawn(
        "const at = inputs.at\nawait Task.run(\"charge\", {}, { label: \"Charge the card\" })\n\
         await Task.run(\"mail\", {}, { label: at })\nsleep(\"1h\", { label: \"Cool down\" })\n\
         await Signal.when(\"ok\", { timeout: 5, label: \"The manager's word\" })\n\
         await Task.map(\"pay\", inputs.bills, { label: \"Pay a bill\" })",
    );
    let told: Vec<_> =
        drawing.nodes.iter().map(|node| (node.title.as_str(), node.note.as_str())).skip(1).take(5).collect();
    let expected = [
        ("Charge the card", "task charge, line 2"),
        ("mail", "task, line 3"),
        ("Cool down", "timer 1h, line 4"),
        ("The manager's word", "signal ok, line 5"),
        ("Pay a bill", "task for each item pay, line 6"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn edges_follow_the_program() {
    let edges = told(ORDER);
    for expected in [
        "order -> reserve",
        "reserve -> charge",
        "inputs.express -no-> inputs.check",
        "charge -fails-> catch e",
        "throw { message: \"refused\" } -fails-> catch e",
        "!answer.ok -no-> for item of inputs.items",
        "inputs.check -no-> for item of inputs.items",
        "item.gift -again-> for item of inputs.items",
        "item.gift -no-> start together",
        "start together -> pack",
        "start together -> ship",
        "all: stock -fails-> catch e",
        "ship -> race",
        "60 s -> race",
        "race -> all: stock",
        "pack -> all: stock",
        "all: stock -again-> for item of inputs.items",
        "for item of inputs.items -done-> while false",
        "while false -again-> while false",
        "refund -> return { status: \"refunded\" }",
    ] {
        assert!(edges.iter().any(|edge| edge == expected), "{expected} is not in {edges:#?}");
    }
    // A member's failure fails its group.
    assert!(
        !edges.iter().any(|edge| edge.starts_with("return") || edge == "pack -fails-> catch e"),
        "{edges:#?}"
    );
    assert_eq!(told("let x = 1"), ["order -> end"]);
    // A statement after the end is unreachable.
    assert_eq!(told("return 1\ntask(\"a\")"), ["order -> return 1"]);
    assert_eq!(
        told("while (x) { task(\"a\") break task(\"b\") }\ntask(\"c\")"),
        ["order -> while x", "while x -each round-> a", "while x -done-> c", "a -> c", "c -> end",]
    );
}

#[test]
fn labels_are_escaped_in_every_format() {
    let evil = r#"task("\"]</text><script>alert(1)</script>&\\ #quot; `x` \u0000\n|{}")"#;
    let drawing = drawn(evil);
    let (mermaid, dot, svg) = (to_mermaid(&drawing), to_dot(&drawing), to_svg(&drawing).unwrap());
    assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;"), "{svg}");
    assert!(!svg.contains('\0') && !mermaid.contains('\0') && !dot.contains('\0'));
    let node = |text: &str| text.lines().find(|line| line.contains("script")).unwrap().to_owned();
    // The label has two quotes around it and none inside.
    assert_eq!(node(&mermaid).matches('"').count(), 2, "{mermaid}");
    assert!(
        !node(&mermaid).contains(['<', '`', '|']) || node(&mermaid).matches('<').count() == 1,
        "{mermaid}"
    );
    assert!(node(&dot).contains(r#"label="\"]</text>"#), "{dot}");
    let name = draw("a\"><b>", &parse("task(\"x\")").file, "task(\"x\")");
    assert!(to_svg(&name).unwrap().contains("a&quot;&gt;&lt;b&gt;"));
}

#[test]
fn long_texts_are_cut() {
    let drawing = drawn(&format!("task(\"{}\")\nif (a  &&\n  b) {{ return 1 }}", "é".repeat(500)));
    assert_eq!(drawing.nodes[1].title.chars().count(), TITLE_LIMIT + 1);
    assert_eq!(drawing.nodes[2].title, "a && b");
}

#[test]
fn what_is_too_large_is_refused_not_attempted() {
    let body = "await Task.run(\"a\", {})\n".repeat(3_000);
    let source = format!("try {{\n{body}}} catch (e) {{ return 1 }}");
    assert_eq!(to_svg(&drawn(&source)), Err(TooLarge { nodes: 3_004 }));
    assert!(to_dot(&drawn(&source)).len() > 3_000);
}

#[test]
fn nothing_covers_anything() {
    check(&drawn(ORDER));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_can_be_drawn(bytes in prop::collection::vec(any::<u8>(), 0..600), sound: bool) {
        let flavour = if sound { Flavour::Sound } else { Flavour::Syntax };
        let text = program(&bytes, flavour).text();
        let drawing = drawn(&text);
        for edge in &drawing.edges {
            prop_assert!(edge.from < edge.to || edge.kind == EdgeKind::Back, "{edge:?}");
        }
        check(&drawing);
        prop_assert_eq!(to_svg(&drawing), to_svg(&drawn(&text)));
        to_mermaid(&drawing);
        to_dot(&drawing);
    }
}
