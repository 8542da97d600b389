//! Flows from the command line: inputs, schedules, versions, drawings, explanations by line, time travel.

mod rig;

use rig::Rig;
use serde_json::{Value, json};

const ORDER: &str = r#"```
input:
  type: object
  required: [id]
  properties:
    id: { type: string }
    amount: { type: number, minimum: 0 }
```
let receipt = await Task.run("echo", { id: inputs.id })
return receipt
"#;

fn a_run_whose_input_does_not_fit_is_refused(rig: &Rig) {
    rig.write("order.flow", ORDER);
    rig.ok(&["workflows", "register", "order.flow"]);
    let stderr = rig.fails(&["start", "order", "--input", r#"{"id": 7, "amount": -1}"#], 2, "ENGINE012");
    for part in
        ["inputs.id: expected a string, given 7", "inputs.amount: expected at least 0, given -1", "order"]
    {
        assert!(stderr.contains(part), "{stderr}");
    }
    rig.fails(&["run", "order.flow"], 2, "ENGINE012");
    rig.fails(&["start", "order"], 2, "ENGINE012");
    let add = ["schedules", "add", "nightly", "--cron", "@daily", "--workflow", "order"];
    rig.fails(&add, 2, "ENGINE012");
    assert_eq!(rig.json(&["runs", "list"])["rows"], json!([]));
    assert_eq!(rig.ok(&["run", "order.flow", "--input", r#"{"id": "a"}"#, "--quiet"]), r#"{"id":"a"}"#);

    // A child whose input does not fit its schema fails where it is awaited.
    rig.write(
        "parent.flow",
        "try { await Workflow.run(\"order\", { id: 1 }) } catch (e) { return [e.code, e.message] }",
    );
    let caught: Value = serde_json::from_str(&rig.ok(&["run", "parent.flow", "--quiet"])).unwrap();
    assert_eq!(caught[0], "INVALID_INPUT");
    assert!(caught[1].as_str().unwrap().contains("inputs.id: expected a string, given 1"), "{caught}");

    rig.write(
        "bad.flow",
        "```\ninput:\n  type: object\n  properties:\n    id: { type: strng }\n```\nreturn 1\n",
    );
    for command in [&["check", "bad.flow"][..], &["workflows", "register", "bad.flow"]] {
        let answer = rig.run(command);
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert_eq!(answer.code, 1, "{said}");
        assert!(said.contains("error[FLOW018]: `input` is a JSON Schema"), "{said}");
        assert!(said.contains("bad.flow:5:17") && said.contains("^^^^^"), "{said}");
    }
    rig.write("away.flow", "```\ninput: { $ref: \"https://example.com/schema.json\" }\n```\nreturn 1\n");
    assert_eq!(rig.run(&["check", "away.flow"]).code, 1);

    rig.write(
        "misfit.yaml",
        "workflow: order.flow\ninputs: {id: 7}\nexpect: {status: rejected, rejected: {code: [ENGINE012], contains: [inputs.id]}}\n",
    );
    rig.ok(&["test", "misfit.yaml"]);
}

fn a_schedule_comes_and_goes_with_the_front_matter(rig: &Rig) {
    let write = |text: &str| {
        rig.write("report.flow", text);
        rig.ok(&["workflows", "register", "report.flow"]);
    };
    let listed = || rig.json(&["schedules", "list"])["rows"].clone();
    write("```\nschedule: \"0 9 * * *\"\n```\nreturn 1\n");
    let first = listed();
    assert_eq!((&first[0]["name"], &first[0]["cron"]), (&json!("report"), &json!("0 9 * * *")));
    assert_eq!(first[0]["target"], json!({ "workflow": { "workflow": "report", "input": {} } }));
    // Registering the same rule changes nothing; another rule changes only the rule.
    rig.ok(&["schedules", "pause", "report"]);
    let paused = listed();
    write("```\nschedule: \"0 9 * * *\"\n```\nreturn 2\n");
    assert_eq!(listed(), paused);
    write("```\nschedule: \"0 10 * * *\"\n```\nreturn 2\n");
    let moved = listed();
    assert_eq!((&moved[0]["cron"], &moved[0]["paused"]), (&json!("0 10 * * *"), &json!(true)));
    write("return 3\n");
    assert_eq!(listed(), json!([]));
    // Registering does not change a schedule that an operator added.
    rig.ok(&["schedules", "add", "report", "--cron", "@daily", "--workflow", "report"]);
    write("return 4\n");
    assert_eq!(listed()[0]["cron"], "@daily");
    rig.write("report.flow", "```\nschedule: \"@hourly\"\n```\nreturn 5\n");
    let stderr = rig.fails(&["workflows", "register", "report.flow"], 2, "ENGINE010");
    assert!(stderr.contains("rhythm schedules remove report"), "{stderr}");
    assert_eq!(rig.json(&["workflows", "versions", "report"])["rows"].as_array().unwrap().len(), 5);
    // A schedule passes `{}` as the input: with a schema that refuses it, no run could start.
    rig.write("never.flow", "```\nschedule: \"@daily\"\ninput: { required: [id] }\n```\nreturn 1\n");
    let said = rig.run(&["check", "never.flow"]);
    assert!(
        said.code == 1 && said.stdout.contains("FLOW018") && said.stdout.contains("never.flow:2:11"),
        "{said:?}"
    );
}

fn attempts_that_fail_are_shown_as_they_happen(rig: &Rig) {
    let options = r#"{ retries: { max_attempts: 2, initial_delay: "200ms" } }"#;
    rig.write("twice.flow", &format!(r#"await Task.run("fail", {{ message: "no courier" }}, {options})"#));
    let stderr = rig.run(&["run", "twice.flow"]).stderr;
    assert!(stderr.contains("  attempt 1  fail: FAILED: no courier"), "{stderr}");
    assert!(stderr.contains("  failed     fail: "), "{stderr}");
}

fn a_declared_schedule_starts_runs(rig: &Rig) {
    rig.write("tick.flow", "```\nschedule: \"* * * * * *\"\n```\nreturn inputs\n");
    rig.ok(&["workflows", "register", "tick.flow"]);
    let _worker = rig.worker(&[]);
    let runs = rig.until(&["runs", "list", "--workflow", "tick", "--status", "completed"], |runs| {
        !runs["rows"].as_array().unwrap().is_empty()
    });
    let run = runs["rows"][0]["id"].as_str().unwrap();
    assert_eq!(rig.json(&["runs", "show", run])["output"], json!({}));
}

fn versions_are_shown_and_compared(rig: &Rig) {
    rig.write("order.flow", ORDER);
    rig.ok(&["workflows", "register", "order.flow"]);
    let old = rig.json(&["workflows", "show", "order"])["version"].as_str().unwrap().to_owned();
    rig.ok(&["start", "order", "--input", r#"{"id": "a"}"#]);
    rig.write("order.flow", &ORDER.replace("return receipt", "await Signal.next(\"go\")\nreturn receipt"));
    rig.ok(&["workflows", "register", "order.flow"]);
    let shown = rig.json(&["workflows", "show", "order"]);
    assert_eq!((&shown["tasks"], &shown["signals"]), (&json!(["echo"]), &json!(["go"])));
    assert_eq!(shown["settings"]["input"]["required"], json!(["id"]));
    assert!(shown["source"].as_str().unwrap().contains("Signal.next"));
    let text = rig.ok(&["workflows", "show", "order", "--version", &old[7..17]]);
    assert!(text.contains("not current, of 2 versions") && text.contains("let receipt = await"), "{text}");
    assert!(!text.contains("Signal.next"), "{text}");
    let rows = rig.json(&["workflows", "versions", "order"])["rows"].clone();
    let told: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| (&row["current"], &row["open_runs"])).collect();
    assert_eq!(told, [(&json!(true), &json!(0)), (&json!(false), &json!(1))]);
    assert!(rig.ok(&["workflows", "versions", "order"]).contains("current"));

    let diff = rig.ok(&["workflows", "diff", "order", &old]);
    let lines: Vec<&str> = diff.lines().collect();
    assert!(
        lines[0].starts_with("--- order@1 sha256:") && lines[1].starts_with("+++ order@2 sha256:"),
        "{diff}"
    );
    assert!(lines.contains(&"+await Signal.next(\"go\")") && lines.contains(&" return receipt"), "{diff}");
    let same = rig.json(&["workflows", "diff", "order", "order.flow"]);
    assert_eq!((&same["same"], &same["diff"]), (&json!(true), &json!("")));
    let back = rig.json(&["workflows", "diff", "order", "order.flow", &old]);
    assert_eq!((&back["added"], &back["removed"]), (&json!(0), &json!(1)));
    rig.fails(&["workflows", "show", "nothing"], 3, "ENGINE001");
    rig.fails(&["workflows", "versions", "nothing"], 3, "ENGINE001");
    rig.fails(&["workflows", "show", "order", "--version", "ffff"], 3, "ENGINE013");
    rig.fails(&["workflows", "diff", "order", "./nothing.flow"], 2, "CLI003");
}

fn unknown_tasks_are_a_warning_at_registration(rig: &Rig) {
    rig.write("odd.flow", "task(\"echo\", {})\ntask(\"teleport\", {})");
    assert_eq!(
        rig.run(&["workflows", "register", "odd.flow"]).stderr,
        "",
        "nobody is there to know anything"
    );
    let _worker = rig.worker(&[]);
    let answer = rig.run(&["workflows", "register", "odd.flow"]);
    assert_eq!(answer.stderr, "warning: odd: no live worker knows teleport\n");
    assert_eq!(rig.json(&["workflows", "register", "odd.flow"])["rows"][0]["unserved"], json!(["teleport"]));
}

fn a_flow_is_drawn_in_three_formats(rig: &Rig) {
    rig.write(
        "order.flow",
        "if (inputs.a < 1 && \"x\" != 'y') { await Task.run(\"pack <b>\", {}) }\nreturn 1",
    );
    let mermaid = rig.ok(&["graph", "order.flow"]);
    assert!(mermaid.starts_with("flowchart TD\n  n0([\"order\"])"), "{mermaid}");
    assert!(rig.ok(&["graph", "order.flow", "--format", "dot"]).starts_with("digraph workflow {"));
    let svg = rig.ok(&["graph", "order.flow", "--format", "svg"]);
    assert!(svg.starts_with("<svg ") && svg.contains("pack &lt;b&gt;") && svg.ends_with("</svg>"), "{svg}");
    rig.ok(&["workflows", "register", "order.flow"]);
    assert_eq!(rig.ok(&["graph", "order", "--format", "svg"]), svg);
    assert_eq!(rig.json(&["graph", "order"])["format"], "mermaid");
    rig.write("bad.flow", "let = 1");
    assert!(rig.run(&["graph", "bad.flow"]).stderr.contains("FLOW"));
    rig.fails(&["graph", "nothing"], 3, "ENGINE001");
}

/// Labels and items are shown in every listing.
fn labels_and_items_name_what_is_listed(rig: &Rig) {
    rig.write("order.flow", "await Task.run(\"charge\", {}, { queue: \"q\", label: \"Charge the card\" })");
    rig.write(
        "packs.flow",
        "await Task.map(\"pack\", [{ id: \"a1\" }, { id: \"b2\" }], { queue: \"q\", key: \"id\", label: \"Pack\" })",
    );
    rig.write(
        "waits.flow",
        "await Promise.all([Timer.delay(\"1h\", { label: \"Cool down\" }), Signal.next(\"ok\", { label: \"Ann's word\" })])",
    );
    rig.ok(&["workflows", "register", "order.flow", "packs.flow", "waits.flow"]);
    let _steps = rig.worker(&[]);
    let run = rig.ok(&["start", "order"]);
    let why = reason(rig, &run, "no_worker");
    let expected =
        format!("waiting at line 1 for \"Charge the card\" (task charge, {run}:1); queue q has no worker");
    assert_eq!(why["what"], expected);
    let row = rig.json(&["tasks", "list"])["rows"][0].clone();
    assert_eq!((&row["name"], &row["options"]["label"]), (&json!("charge"), &json!("Charge the card")));
    assert!(rig.ok(&["tasks", "list"]).contains("Charge the card (charge)"));
    assert!(rig.ok(&["tasks", "show", &format!("{run}:1")]).contains("label     Charge the card"));
    let shown = rig.ok(&["runs", "show", &run]);
    assert!(shown.contains("waits for \"Charge the card\" (task charge, line 1)"), "{shown}");

    // The items of a list have different names.
    let run = rig.ok(&["start", "packs"]);
    let two = |shown: &Value| shown["tasks"].as_array().is_some_and(|tasks| tasks.len() == 2);
    let tasks = rig.until(&["runs", "show", &run], two)["tasks"].clone();
    let mut items: Vec<_> =
        tasks.as_array().unwrap().iter().map(|task| task["options"]["item"].as_u64()).collect();
    items.sort();
    assert_eq!(items, [Some(0), Some(1)]);
    for text in [rig.ok(&["tasks", "list"]), rig.ok(&["runs", "show", &run])] {
        assert!(text.contains("Pack [0: a1] (pack)") && text.contains("Pack [1: b2] (pack)"), "{text}");
    }
    let all = rig.json(&["explain", &run])["reasons"].to_string();
    assert!(all.contains("\\\"Pack\\\" [1: b2] (task pack, "), "{all}");

    let run = rig.ok(&["start", "waits"]);
    rig.until(&["explain", &run], |found| found["reasons"].as_array().is_some_and(|all| all.len() == 2));
    let text = rig.ok(&["explain", &run]);
    assert!(text.contains("waiting at line 1 for \"Cool down\" until 20"), "{text}");
    assert!(text.contains("waiting at line 1 for \"Ann's word\" (signal ok)"), "{text}");
    let shown = rig.json(&["runs", "show", &run]);
    assert_eq!(shown["timers"][0]["label"], "Cool down");
    let events = rig.json(&["runs", "events", &run])["rows"].to_string();
    assert!(
        events.contains(r#""label":"Cool down""#) && events.contains(r#""label":"Ann's word""#),
        "{events}"
    );
}

/// Covers the children of a list, dead letters of items, and the progress of `run`.
fn items_of_a_list_can_be_told_apart(rig: &Rig) {
    rig.write("kid.flow", "await Signal.next(\"done\")");
    rig.write("ships.flow", "await Workflow.map(\"kid\", [5, 6], { label: \"Ship\" })");
    rig.ok(&["workflows", "register", "kid.flow", "ships.flow"]);
    let _steps = rig.worker(&[]);
    let run = rig.ok(&["start", "ships"]);
    let two = |shown: &Value| shown["children"].as_array().is_some_and(|children| children.len() == 2);
    let children = rig.until(&["runs", "show", &run], two)["children"].clone();
    let mut items: Vec<_> = children.as_array().unwrap().iter().map(|child| child["item"].as_u64()).collect();
    items.sort();
    assert_eq!(items, [Some(0), Some(1)]);
    assert_eq!(children[0]["labels"]["label"], "Ship");
    let text = rig.ok(&["runs", "show", &run]);
    assert!(text.contains("Ship [0] (kid)") && text.contains("Ship [1] (kid)"), "{text}");
    let text = rig.ok(&["explain", &run]);
    assert!(text.contains("for [1] \"Ship\" (workflow kid, "), "{text}");

    let fail = "nodes: [{id: p, type: parallel, label: Pay, config: {items: [{message: no}, {message: nay}], task: fail, settle: true}}]";
    rig.write("fails.graph.yaml", fail);
    let said = rig.run(&["run", "fails.graph.yaml"]);
    for line in ["Pay [0] (fail)", "Pay [1] (fail)"] {
        assert!(said.stderr.contains(&format!("started    {line}")), "{said:?}");
        assert!(said.stderr.contains(&format!("failed     {line}: ")), "{said:?}");
    }
    let text = rig.ok(&["tasks", "failed"]);
    assert!(text.contains("Pay [0] (fail)") && text.contains("Pay [1] (fail)"), "{text}");
    let drawing = rig.ok(&["graph", "fails.graph.yaml"]);
    assert!(drawing.contains("Pay"), "{drawing}");
}

/// Waits until the first reason has this code, and returns it.
fn reason(rig: &Rig, run: &str, code: &str) -> Value {
    let found = rig.until(&["explain", run], |found| found["reasons"][0]["code"] == code);
    found["reasons"][0].clone()
}

fn explain_speaks_in_source_lines(rig: &Rig) {
    rig.write("kid.flow", "await Signal.next(\"done\")");
    rig.write(
        "order.flow",
        "let beside = Task.run(\"echo\", {}, { queue: \"slow\" })\n\
         let x = { n: 1 }\n\
         try {\n\
         \u{20} await Task.run(\"charge\", { x }, { queue: \"payments\" })\n\
         } catch (e) {\n\
         \u{20} x.n = e.message\n\
         }\n\
         await Promise.race([Signal.next(\"approve\"), Timer.delay(\"1h\")])\n\
         await Workflow.run(\"kid\", {})\n\
         try { await Timer.delay(\"1h\") } catch (e) { await Timer.delay(\"2h\") }\n",
    );
    rig.ok(&["workflows", "register", "order.flow", "kid.flow"]);
    let _steps = rig.worker(&[]);
    let run = rig.ok(&["start", "order"]);
    let why = reason(rig, &run, "no_worker");
    assert_eq!(
        why["what"],
        format!("waiting at line 4 for task charge ({run}:2); queue payments has no worker")
    );
    assert_eq!(
        (&why["line"], &why["source"]),
        (&json!(4), &json!("  await Task.run(\"charge\", { x }, { queue: \"payments\" })"))
    );
    assert_eq!(why["command"], "rhythm worker --queue payments");
    let all = rig.json(&["explain", &run]);
    assert_eq!(all["summary"], why["what"]);
    let beside = all["reasons"][1]["what"].as_str().unwrap();
    assert!(beside.starts_with("beside that, not awaited: task echo"), "{beside}");
    let text = rig.ok(&["explain", &run]);
    assert!(text.contains("\n       4 |   await Task.run(\"charge\""), "{text}");

    let shown = rig.json(&["runs", "show", &run]);
    assert_eq!(
        (&shown["position"]["line"], &shown["position"]["variables"]["x"]),
        (&json!(4), &json!({ "n": 1 }))
    );
    let text = rig.ok(&["runs", "show", &run]);
    assert!(text.contains("stands at line 4") && text.contains("waits for task charge (line 4)"), "{text}");
    assert!(text.contains("x         {\"n\":1}"), "{text}");

    // No worker has a handler for the task; when it is cancelled, the run gets the failure.
    let _pay = rig.worker(&["--queue", "payments"]);
    let why = reason(rig, &run, "unknown_task");
    assert!(why["what"].as_str().unwrap().starts_with("waiting at line 4 for task charge"), "{why}");
    rig.ok(&["tasks", "cancel", &format!("{run}:2")]);
    let why = reason(rig, &run, "timer");
    assert!(why["what"].as_str().unwrap().starts_with("waiting at line 8 until 20"), "{why}");
    let all = rig.json(&["explain", &run]);
    assert_eq!(all["reasons"][1]["what"], "waiting at line 8 for signal approve");
    rig.ok(&["runs", "signal", &run, "approve"]);
    reason(rig, &run, "child");
    let kid = rig.json(&["runs", "show", &run])["children"][0]["id"].as_str().unwrap().to_owned();
    let expected = format!("waiting at line 9 for workflow kid ({kid}), which is waiting");
    rig.until(&["explain", &run], |found| found["summary"] == expected.as_str());
    rig.ok(&["runs", "signal", &kid, "done"]);
    rig.until(&["explain", &run], |found| found["reasons"][0]["line"] == 10);
    rig.ok(&["runs", "cancel", &run]);
    let why = reason(rig, &run, "cancelling");
    assert_eq!(why["what"], "it was asked to stop and is cleaning up at line 10");
}

fn a_failed_run_says_where(rig: &Rig) {
    rig.write(
        "order.flow",
        "let paid = await Task.run(\"echo\", { n: 1 })\n\
         let total = paid.n + paid.missing\n\
         return total",
    );
    let stderr = rig.fails(&["run", "order.flow", "--quiet"], 1, "CLI010");
    assert!(stderr.contains(" failed at line 2: PROPERTY_NOT_FOUND"), "{stderr}");
    let run = rig.json(&["runs", "list"])["rows"][0]["id"].as_str().unwrap().to_owned();
    let why = rig.json(&["explain", &run])["reasons"][0].clone();
    assert!(why["what"].as_str().unwrap().starts_with("it failed at line 2: PROPERTY_NOT_FOUND"), "{why}");
    assert_eq!(why["source"], "let total = paid.n + paid.missing");
    let text = rig.ok(&["runs", "show", &run]);
    assert!(text.contains("failed at line 2\n   2 | let total"), "{text}");
    let failed = rig.json(&["runs", "at", &run, "4"]);
    assert_eq!((&failed["status"], &failed["position"]["line"]), (&json!("failed"), &json!(2)));
    rig.ok(&["verify", &run]);
    rig.write("task.flow", "let x = 1\nawait Task.run(\"fail\", { message: \"no\" }, { retries: 1 })");
    let stderr = rig.fails(&["run", "task.flow", "--quiet"], 1, "CLI010");
    assert!(stderr.contains(" failed at line 2: "), "{stderr}");
    rig.write("start.flow", "let x = 1\nthrow \"never\"");
    let stderr = rig.fails(&["run", "start.flow", "--quiet"], 1, "CLI010");
    assert!(stderr.contains(" failed at line 2: FAILED: never"), "{stderr}");
}

fn a_retried_task_says_when_and_why(rig: &Rig) {
    rig.write(
        "order.flow",
        "await Task.run(\"fail\", { message: \"no luck\" }, { retries: { max_attempts: 3, initial_delay: \"1h\" } })",
    );
    rig.ok(&["workflows", "register", "order.flow"]);
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "order"]);
    let why = reason(rig, &run, "task_delayed");
    let what = why["what"].as_str().unwrap();
    assert!(
        what.starts_with(&format!("waiting at line 1 for task fail ({run}:1), which is tried again at 20")),
        "{what}"
    );
    assert!(what.contains("attempt 2 of 3, after ") && what.contains("no luck"), "{what}");
}

const TRAVEL: &str = "let first = await Task.run(\"echo\", { n: 1 })
let second = first.n + 1
let answer = await Signal.next(\"go\")
let last = await Task.run(\"echo\", { n: second, by: answer.by })
return { last, second, input: inputs.a }
";

fn a_run_can_be_seen_after_every_event(rig: &Rig) {
    rig.write("order.flow", TRAVEL);
    rig.ok(&["workflows", "register", "order.flow"]);
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "order", "--input", r#"{"a": 7}"#]);
    rig.until(&["explain", &run], |found| found["reasons"][0]["code"] == "signal");
    rig.ok(&["runs", "signal", &run, "go", "--payload", r#"{"by": "ann"}"#]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    let at = |event: u64| rig.json(&["runs", "at", &run, &event.to_string()]);
    let begun = at(1);
    assert_eq!((&begun["last_event"], &begun["position"]["line"]), (&json!(2), &json!(1)));
    assert_eq!((&begun["status"], &begun["open"]["tasks"][0]["name"]), (&json!("waiting"), &json!("echo")));
    assert_eq!(at(2)["position"], begun["position"]);
    let waiting = at(3);
    assert_eq!(waiting["position"]["variables"], json!({ "first": { "n": 1 }, "second": 2 }));
    assert_eq!((&waiting["awaiting"], &waiting["position"]["line"]), (&json!(["go"]), &json!(3)));
    let events = rig.json(&["runs", "events", &run])["rows"].as_array().unwrap().len() as u64;
    assert_eq!(at(events)["status"], "completed");
    let text = rig.ok(&["runs", "at", &run, "3"]);
    assert!(text.contains("stands at line 3") && text.contains("let answer = await"), "{text}");
    assert!(rig.ok(&["runs", "at", &run, "1"]).contains("task echo"));
    rig.fails(&["runs", "at", &run, "99"], 3, "ENGINE014");
    rig.fails(&["runs", "at", "nobody", "1"], 3, "ENGINE002");
    rig.ok(&["verify", &run]);
}

fn a_fork_goes_on_by_itself(rig: &Rig) {
    rig.write("order.flow", TRAVEL);
    rig.ok(&["workflows", "register", "order.flow"]);
    let _worker = rig.worker(&[]);
    let run = rig.ok(&["start", "order", "--input", r#"{"a": 7}"#]);
    rig.until(&["explain", &run], |found| found["reasons"][0]["code"] == "signal");
    rig.ok(&["runs", "signal", &run, "go", "--payload", r#"{"by": "ann"}"#]);
    let ended = rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");

    // Forks at the wait for the signal, to send another answer. Tasks after it may run again.
    let asked = rig.fails(&["runs", "fork", &run, "--at", "3"], 2, "CLI006");
    assert!(asked.contains(&format!("{run}:3 echo (completed)")), "{asked}");
    assert!(asked.contains("keep their stable key"), "{asked}");
    let fork = rig.ok(&["runs", "fork", &run, "--at", "3", "--key", "k", "--yes"]);
    assert_eq!(rig.ok(&["runs", "fork", &run, "--at", "3", "--key", "k", "--yes"]), fork);
    assert_eq!(rig.ok(&["runs", "fork", &run, "--at", "4", "--key", "k", "--yes"]), fork, "one transition");
    rig.ok(&["runs", "signal", &fork, "go", "--payload", r#"{"by": "bob"}"#]);
    let shown = rig.until(&["runs", "show", &fork], |shown| shown["status"] == "completed");
    assert_eq!(shown["output"], json!({ "last": { "n": 2, "by": "bob" }, "second": 2, "input": 7 }));
    assert_eq!(shown["forked"], json!({ "from": run, "at_seq": 4 }));
    assert!(rig.ok(&["runs", "show", &fork]).contains(&format!("forked from  {run} after event 4")));
    let types: Vec<String> = rig.json(&["runs", "events", &fork])["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        types[..6],
        [
            "workflow_started",
            "step_scheduled",
            "step_completed",
            "signal_requested",
            "forked",
            "signal_received"
        ]
    );
    rig.ok(&["verify", &fork]);
    assert_eq!(rig.json(&["runs", "show", &run]), ended, "the origin is left as it is");
    let found = rig.json(&["runs", "list", "--label", &format!("forked_from={run}@4")]);
    assert_eq!(found["rows"][0]["id"], fork);

    // Forks at the start: the task runs again, under the new run's id.
    let again = rig.ok(&["runs", "fork", &run, "--at", "1", "--yes"]);
    rig.until(&["explain", &again], |found| found["reasons"][0]["code"] == "signal");
    rig.ok(&["verify", &again]);

    // Starts over with another input.
    let over = rig.ok(&["runs", "fork", &run, "--at", "1", "--input", r#"{"a": 8}"#, "--key", "k", "--yes"]);
    assert_eq!(
        rig.ok(&["runs", "fork", &run, "--at", "1", "--input", r#"{"a": 8}"#, "--key", "k", "--yes"]),
        over
    );
    rig.fails(
        &["runs", "fork", &run, "--at", "1", "--input", r#"{"a": 9}"#, "--key", "k", "--yes"],
        4,
        "ENGINE008",
    );
    rig.ok(&["runs", "signal", &over, "go", "--payload", r#"{"by": "eve"}"#]);
    let shown = rig.until(&["runs", "show", &over], |shown| shown["status"] == "completed");
    assert_eq!((&shown["output"]["input"], &shown["forked"]["at_seq"]), (&json!(8), &json!(2)));

    let stderr = rig.fails(&["runs", "fork", &run, "--at", "3", "--input", "{}", "--yes"], 2, "ENGINE010");
    assert!(stderr.contains("starts over"), "{stderr}");
    let stderr = rig.fails(&["runs", "fork", &run, "--at", "8"], 2, "ENGINE010");
    assert!(stderr.contains("had completed with event 8; fork it at an earlier one, such as 6"), "{stderr}");
    rig.fails(&["runs", "fork", &run, "--at", "99"], 3, "ENGINE014");
}

/// Collects two hundred records of 750 bytes at a time in a variable.
fn a_script_gathers_megabytes_and_ends(rig: &Rig) {
    rig.write(
        "gather.flow",
        "let all = []\nfor (let n of [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]) {\n  let r = await Task.run(\"echo\", { n, list: \
         inputs.list })\n  all = all.concat(r.list, [r.n])\n}\nreturn [all.length, all[0].id, all[4019], all[2010].id]",
    );
    let list: Vec<Value> = (0..200).map(|id| json!({"id": id, "text": "x".repeat(730)})).collect();
    rig.write("page.json", &json!({"list": list}).to_string());
    let key = ["run", "gather.flow", "--input", "@page.json", "--key", "k", "--quiet"];
    assert_eq!(rig.ok(&key), "[4020,0,20,0]");
    let run = rig.json(&["runs", "list"])["rows"][0]["id"].as_str().unwrap().to_owned();
    let events = rig.ok(&["runs", "events", &run]);
    assert!(!events.contains("LARGE_SNAPSHOT"), "{events}");
    rig.ok(&["verify", &run]);
    if rig.is_sqlite() {
        // Each page is stored once: inputs and outputs of tasks, the segments, and the input of the run.
        let database = rusqlite::Connection::open(rig.path().join("rhythm.db")).unwrap();
        let stored = "SELECT sum(bytes), max(bytes) FROM blob";
        let (all, largest): (i64, i64) =
            database.query_row(stored, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert!(all < 4 * 20 * 160_000 && largest < 200_000, "{all} {largest}");
    }
}

fn a_run_that_lacks_a_value_is_told_also_to_who_wants_no_remarks_and_goes_on_when_it_is_back(rig: &Rig) {
    rig.write("late.flow", "await Signal.next(\"go\")\nreturn inputs.length");
    rig.write("large.json", &format!("\"{}\"", "z".repeat(100_000)));
    rig.ok(&["workflows", "register", "late.flow"]);
    let run = rig.ok(&["start", "late", "--input", "@large.json"]);
    rig.execute("CREATE TABLE saved AS SELECT * FROM blob");
    rig.execute("DELETE FROM blob");
    rig.ok(&["runs", "signal", &run, "go"]);
    for _ in 0..2 {
        let stderr = rig.fails(&["run", "--resume", &run, "--quiet"], 1, "CLI018");
        assert!(stderr.contains("is blocked: blob sha256:") && stderr.contains("was not found"), "{stderr}");
        rig.ok(&["runs", "retry", &run]);
    }
    rig.fails(&["run", "--resume", &run, "--quiet"], 1, "CLI018");
    rig.execute("INSERT INTO blob SELECT * FROM saved");
    rig.ok(&["runs", "retry", &run]);
    assert_eq!(rig.ok(&["run", "--resume", &run, "--quiet"]), "100000");
}

on_both_worlds!(
    a_script_gathers_megabytes_and_ends,
    a_run_that_lacks_a_value_is_told_also_to_who_wants_no_remarks_and_goes_on_when_it_is_back,
    a_run_whose_input_does_not_fit_is_refused,
    a_schedule_comes_and_goes_with_the_front_matter,
    attempts_that_fail_are_shown_as_they_happen,
    a_declared_schedule_starts_runs,
    versions_are_shown_and_compared,
    unknown_tasks_are_a_warning_at_registration,
    a_flow_is_drawn_in_three_formats,
    labels_and_items_name_what_is_listed,
    items_of_a_list_can_be_told_apart,
    explain_speaks_in_source_lines,
    a_failed_run_says_where,
    a_retried_task_says_when_and_why,
    a_run_can_be_seen_after_every_event,
    a_fork_goes_on_by_itself,
);
