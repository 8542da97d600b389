//! Approvals at the terminal: listing, deciding, delegates, links.

mod rig;

use rig::{Answer, Rig};
use serde_json::{Value, json};

const GRAPH: &str = "
nodes:
  - id: ask
    type: human
    human_config: {approvers: [ann, 'user:bob'], timeout: 1h, approval_ui_url: 'https://desk.example.com'}
    dependents: [yes]
    rejection_path: [once_more]
  - id: once_more
    type: loop
    loop: {loop_back_to: ask, max_iterations: 5}
  - {id: yes, type: task, config: {task: echo}}
";
const KEY: &str = "a key that is only used by this test";

fn asked(rig: &Rig) -> String {
    rig.write("g.graph.yaml", GRAPH);
    rig.ok(&["workflows", "register", "g.graph.yaml"]);
    let run = rig.ok(&["start", "g", "--input", r#"{"sum": 12}"#]);
    pending(rig, &run);
    run
}

fn pending(rig: &Rig, run: &str) -> Value {
    let args = ["approvals", "list", "--run", run, "--state", "pending"];
    rig.until(&args, |page| page["rows"].as_array().unwrap().len() == 1)["rows"][0].clone()
}

fn run_as(rig: &Rig, user: &str, args: &[&str]) -> Answer {
    let output = rig.command(args).env("USER", user).env("RHYTHM_LINK_KEY", KEY).output().unwrap();
    Answer {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn refused(answer: Answer, exit: i32, code: &str) -> String {
    assert!(answer.code == exit && answer.stderr.starts_with(&format!("error[{code}]")), "{answer:?}");
    answer.stderr
}

fn a_question_is_listed_shown_and_answered_once(rig: &Rig) {
    rig.ok(&["db", "migrate"]);
    assert_eq!(rig.ok(&["approvals", "list"]), "no approvals: nobody was asked");
    let _worker = rig.worker(&[]);
    let run = asked(rig);
    let row = pending(rig, &run);
    assert_eq!((&row["node"], &row["visit"], &row["workflow"]), (&json!("ask"), &json!(1), &json!("g")));
    let name = format!("{run}/{}", row["approval"]);
    assert!(
        rig.ok(&["approvals", "list", "--approver", "ann"]).contains(&name[28..]),
        "its run's id is shortened"
    );
    assert_eq!(rig.json(&["approvals", "list", "--approver", "carl"])["rows"], json!([]));
    let shown = rig.ok(&["approvals", "show", &name]);
    assert!(shown.contains("https://desk.example.com") && shown.contains(r#"{"sum": 12}"#), "{shown}");
    let command = format!("rhythm approvals approve {name} --as ann");
    assert!(rig.ok(&["explain", &run]).contains(&command));
    assert!(rig.run(&["approvals", "show", &name]).stderr.contains(&command));

    let told = refused(run_as(rig, "carl", &["approvals", "approve", &name]), 2, "APPROVAL003");
    assert!(told.contains("carl may not decide"), "{told}");
    let reject = ["-o", "json", "approvals", "reject", &name, "--comment", "why", "--data", "[7]"];
    let answer = run_as(rig, "bob", &reject);
    let said: Value = serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"));
    assert_eq!((&said["taken"], &said["state"]), (&json!(true), &json!("decided")));
    assert_eq!((&said["decided_by"], &said["via"]), (&json!("bob"), &json!("user:bob@here")));
    assert_eq!((&said["comments"], &said["data"]), (&json!("why"), &json!([7])));
    let told = refused(run_as(rig, "ann", &["approvals", "approve", &name]), 4, "APPROVAL002");
    assert!(told.contains("reject by bob"), "{told}");
    assert_eq!(run_as(rig, "bob", &["approvals", "reject", &name]).code, 0, "one's own may be repeated");

    // The loop creates another approval.
    let again = pending(rig, &run);
    assert_eq!(again["visit"], 2);
    assert_ne!(again["approval"], row["approval"]);
    let by_node = format!("{run}/ask");
    let answer = run_as(rig, "desk", &["approvals", "approve", &by_node, "--as", "ann"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let shown = rig.json(&["approvals", "show", &format!("{run}/{}", again["approval"])]);
    assert_eq!((&shown["decided_by"], &shown["via"]), (&json!("ann"), &json!("user:desk@here")));
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    let decided = rig.json(&["approvals", "list", "--state", "decided"]);
    assert_eq!(decided["rows"].as_array().unwrap().len(), 2);

    rig.fails(&["approvals", "show", &format!("{run}/99")], 3, "APPROVAL001");
    rig.fails(&["approvals", "show", &format!("{run}/nobody")], 3, "APPROVAL001");
    rig.fails(&["approvals", "approve", "nobody/1"], 3, "ENGINE002");
    rig.fails(&["approvals", "approve", "nonsense"], 2, "CLI008");
    rig.fails(&["approvals", "approve"], 2, "CLI005");
    rig.fails(&["approvals", "list", "--state", "open"], 2, "CLI005");
}

fn a_link_shows_and_decides_for_one_person(rig: &Rig) {
    let worker = rig.worker(&[]);
    let run = asked(rig);
    let name = format!("{run}/ask");
    let link = |args: &[&str]| {
        let all = [&["approvals", "link", &name, "--base", "https://r.example.com/"], args].concat();
        run_as(rig, "clerk", &all)
    };
    rig.fails(&["approvals", "link", &name, "--for", "ann", "--base", "x"], 2, "APPROVAL004");
    refused(run_as(rig, "clerk", &["approvals", "link", &name, "--for", "ann"]), 2, "CLI008");
    refused(link(&["--for", "carl"]), 2, "APPROVAL003");
    refused(link(&["--for", "ann", "--expires", "soon"]), 2, "CLI002");
    let expired = link(&["--for", "ann", "--expires", "0s"]).stdout;
    refused(run_as(rig, "x", &["approvals", "show", "--token", expired.trim()]), 2, "APPROVAL006");
    refused(run_as(rig, "x", &["approvals", "approve", "--token", expired.trim()]), 2, "APPROVAL006");

    let url = link(&["--for", "user:ann"]).stdout.trim().to_owned();
    let token = url.strip_prefix("https://r.example.com/approvals/").unwrap();
    let altered = format!("{}A{}", &token[..10], &token[11..]);
    refused(run_as(rig, "x", &["approvals", "approve", "--token", &altered]), 2, "APPROVAL005");
    let foreign = ["--tenant", "other", "approvals", "approve", "--token", token];
    refused(run_as(rig, "x", &foreign), 2, "APPROVAL005");
    for given in [token, &url] {
        let shown = run_as(rig, "x", &["-o", "json", "approvals", "show", "--token", given]).stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["state"], "pending", "looking decides nothing");
    }
    // No worker is left to consume the answer, so it is kept.
    drop(worker);
    let answer = run_as(rig, "x", &["-o", "json", "approvals", "approve", "--token", token]);
    let said: Value = serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"));
    assert_eq!((&said["taken"], &said["state"]), (&json!(false), &json!("pending")));
    let told = refused(run_as(rig, "bob", &["approvals", "reject", &name]), 4, "APPROVAL002");
    assert!(told.contains("approve by ann"), "{told}");
    let _worker = rig.worker_about_to_start(&[]);
    rig.until(&["runs", "show", &run], |shown| shown["status"] == "completed");
    let shown = rig.json(&["approvals", "show", &name]);
    assert_eq!((&shown["decided_by"], &shown["via"]), (&json!("ann"), &json!("link:ann")));
    refused(run_as(rig, "x", &["approvals", "reject", "--token", token]), 4, "APPROVAL002");
}

/// Where approvals are shown: the option counts before the environment, and that before the file.
fn the_base_of_a_link_is_the_nearest_one(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let name = format!("{}/ask", asked(rig));
    rig.write("rhythm.toml", "[approvals]\nlink_base = \"https://file.example.com\"\n");
    let link = |variable: Option<&str>, base: &[&str]| {
        let mut command = rig.command(&[&["approvals", "link", &name, "--for", "ann"], base].concat());
        command.env("RHYTHM_LINK_KEY", KEY).envs(variable.map(|base| ("RHYTHM_LINK_BASE", base)));
        let answer = rig::answer(command);
        assert_eq!(answer.code, 0, "{answer:?}");
        answer.stdout.split("/approvals/").next().unwrap_or_default().to_owned()
    };
    let variable = Some("https://variable.example.com");
    assert_eq!(link(None, &[]), "https://file.example.com");
    assert_eq!(link(variable, &[]), "https://variable.example.com");
    assert_eq!(link(variable, &["--base", "https://option.example.com"]), "https://option.example.com");
}

on_both_worlds!(
    a_question_is_listed_shown_and_answered_once,
    a_link_shows_and_decides_for_one_person,
    the_base_of_a_link_is_the_nearest_one,
);
