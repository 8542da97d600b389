//! `composite` and `python_sandbox`: which member decides, and when a sandbox is asked.

use super::*;

fn composite(operator: &str, conditions: Vec<Value>) -> Value {
    json!({"type": "composite", "operator": operator, "conditions": conditions})
}

fn cel(expression: &str) -> Value {
    json!({"type": "cel", "expression": expression})
}

fn sandbox(name: &str) -> Value {
    json!({"type": "python_sandbox", "code": name})
}

#[test]
fn a_member_that_decides_makes_up_for_those_that_cannot_say() {
    let (yes, no, unknown) = (|| cel("true"), || cel("false"), || cel("output.missing"));
    for (operator, members, expected) in [
        ("AND", vec![yes(), yes()], Verdict::Met),
        ("AND", vec![yes(), no()], Verdict::NotMet),
        ("AND", vec![unknown(), no()], Verdict::NotMet),
        ("and", vec![no(), unknown()], Verdict::NotMet),
        ("OR", vec![no(), no()], Verdict::NotMet),
        ("OR", vec![unknown(), yes()], Verdict::Met),
        ("NOT", vec![no()], Verdict::Met),
        ("NOT", vec![yes()], Verdict::NotMet),
    ] {
        assert_eq!(verdict(composite(operator, members), json!({})), expected, "{operator}");
    }
    for (operator, members) in
        [("AND", vec![yes(), unknown()]), ("OR", vec![unknown(), no()]), ("NOT", vec![unknown()])]
    {
        not_evaluable(verdict(composite(operator, members), json!({})), "missing");
    }
}

#[test]
fn composites_without_sense_are_refused() {
    assert_eq!(refused(composite("AND", vec![])).place, "conditions");
    assert_eq!(refused(composite("XOR", vec![cel("true")])).place, "operator");
    assert_eq!(refused(composite("NOT", vec![cel("true"), cel("true")])).place, "conditions");
    let inner = composite("OR", vec![cel("true"), cel("(")]);
    assert_eq!(refused(composite("AND", vec![inner])).place, "conditions[0].conditions[1].expression");
    let deep = (0..70).fold(cel("true"), |inner, _| composite("NOT", vec![inner]));
    assert_eq!(refused(deep).kind, ErrorKind::TooLarge);
}

#[test]
fn a_sandbox_is_asked_only_when_nothing_else_decides() {
    assert_eq!(verdict(composite("AND", vec![sandbox("a"), cel("false")]), json!({})), Verdict::NotMet);
    assert_eq!(verdict(composite("OR", vec![sandbox("a"), cel("true")]), json!({})), Verdict::Met);
    let open = verdict(composite("AND", vec![cel("true"), sandbox("a"), sandbox("b")]), json!({}));
    assert!(matches!(open, Verdict::Ask(call) if call.code == "a" && call.index == 0));
}

#[test]
fn a_question_that_is_open_goes_before_a_member_that_cannot_say() {
    let unknown = || cel("output.missing");
    for (operator, decides, other) in [("AND", false, true), ("OR", true, false)] {
        for members in [vec![unknown(), sandbox("a")], vec![sandbox("a"), unknown()]] {
            let condition = Condition::compile(&composite(operator, members)).unwrap();
            let (output, inputs) = (json!({}), json!(null));
            let scope = Scope { output: &output, context: Default::default(), inputs: &inputs };
            let open = condition.evaluate(&scope, &Answers::new());
            assert!(matches!(&open, Verdict::Ask(call) if call.code == "a"), "{operator}: {open:?}");
            let answered =
                |says: bool| condition.evaluate(&scope, &Answers::from([(0, Answer::of(&json!(says)))]));
            assert_eq!(answered(decides), Verdict::of(decides), "{operator}");
            not_evaluable(answered(other), "missing");
        }
    }
}

#[test]
fn answers_are_asked_for_one_by_one_and_belong_to_their_place() {
    let source = composite("OR", vec![sandbox("a"), composite("NOT", vec![sandbox("b")])]);
    let condition = Condition::compile(&source).unwrap();
    let (output, inputs) = (json!(1), json!(null));
    let scope = Scope { output: &output, context: Default::default(), inputs: &inputs };
    let mut answers = Answers::new();
    let mut asked = Vec::new();
    let last = loop {
        match condition.evaluate(&scope, &answers) {
            Verdict::Ask(call) => {
                asked.push(call.code.clone());
                answers.insert(call.index, Answer::of(&json!(false)));
            }
            last => break last,
        }
    };
    assert_eq!((asked, last), (vec!["a".to_owned(), "b".to_owned()], Verdict::Met));
}

#[test]
fn an_answer_that_is_no_boolean_is_no_answer() {
    let condition = Condition::compile(&sandbox("a")).unwrap();
    let (output, inputs) = (json!(1), json!(null));
    let scope = Scope { output: &output, context: Default::default(), inputs: &inputs };
    for wrong in [json!(1), json!("true"), json!(null), json!([true])] {
        let answers = Answers::from([(0, Answer::of(&wrong))]);
        not_evaluable(condition.evaluate(&scope, &answers), "not a boolean");
    }
}

#[test]
fn sandboxes_without_code_or_with_strange_limits_are_refused() {
    assert_eq!(refused(json!({"type": "python_sandbox"})).place, "code");
    assert_eq!(refused(json!({"type": "python_sandbox", "code": "x", "timeout_ms": 0})).place, "timeout_ms");
    assert_eq!(
        refused(json!({"type": "python_sandbox", "code": "x", "max_memory_mb": 1e9})).place,
        "max_memory_mb"
    );
    let long = "x".repeat(70_000);
    assert_eq!(refused(sandbox(&long)).kind, ErrorKind::TooLarge);
    not_evaluable(verdict(json!({"type": "python_sandbox", "code_ref": "sha256:e1"}), json!(1)), "sha256:e1");
    not_evaluable(verdict(sandbox("x"), json!("y".repeat(1 << 20))), "1 MiB");
}
