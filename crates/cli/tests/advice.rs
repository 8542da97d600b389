//! Compares whole error messages, because users act on these sentences.

mod rig;

use rig::Rig;

#[test]
fn a_folder_or_a_text_file_is_no_database() {
    let rig = Rig::sqlite();
    std::fs::create_dir(rig.path().join("data")).unwrap();
    rig.write("notes.txt", "these are some notes and no database at all");
    let advice = "help: name the file of the database: `sqlite:PATH`; it is made if it is not there\n";
    let stderr = rig.fails(&["--world", "sqlite:data", "runs", "list"], 2, "WORLD019");
    assert_eq!(stderr, format!("error[WORLD019]: data is a folder, no database\n  {advice}"));
    let stderr = rig.fails(&["--world", "sqlite:notes.txt", "runs", "list"], 2, "WORLD019");
    assert_eq!(stderr, format!("error[WORLD019]: notes.txt is a text file, no database\n  {advice}"));
    assert_eq!(
        std::fs::read_to_string(rig.path().join("notes.txt")).unwrap(),
        "these are some notes and no database at all"
    );
}

#[test]
fn a_server_that_does_not_answer_is_named_by_host_and_port() {
    let rig = Rig::sqlite();
    // A free port could be taken by another process; port 1 is reserved and never served.
    let stderr = rig.fails(&["--world", "postgres://ann@127.0.0.1:1/shop", "runs", "list"], 5, "WORLD001");
    let named =
        "error[WORLD001]: the world cannot be reached: no PostgreSQL server can be used at 127.0.0.1:1: ";
    assert!(stderr.starts_with(named), "{stderr}");
    assert!(
        stderr.ends_with("\n  help: check that the database runs and that the world URL names it\n"),
        "{stderr}"
    );
}

#[test]
fn a_database_that_is_missing_is_named_with_the_command_that_makes_it() {
    let rig = Rig::sqlite();
    let server = rig::postgres::server();
    let (base, _) = server.rsplit_once('/').unwrap();
    let stderr = rig.fails(&["--world", &format!("{base}/no_such_shop"), "runs", "list"], 3, "WORLD018");
    assert!(stderr.starts_with("error[WORLD018]: there is no database \"no_such_shop\" on "), "{stderr}");
    let advice = ": `createdb no_such_shop` makes it\n  help: create the database, or correct its name in the world URL\n";
    assert!(stderr.ends_with(advice), "{stderr}");
}

#[test]
fn an_empty_folder_has_no_such_files() {
    let rig = Rig::sqlite();
    std::fs::create_dir(rig.path().join("empty")).unwrap();
    let advice = "  help: name a file, or a folder that has such files somewhere below it\n";
    for (command, files) in [
        (&["check", "empty"][..], ".flow or .graph.yaml"),
        (&["fmt", "empty"], ".flow"),
        (&["workflows", "register", "empty"], ".flow or .graph.yaml"),
        (&["test", "empty"], "scenario (.scenario.yaml, .yaml, .yml or .json)"),
    ] {
        let stderr = rig.fails(command, 2, "CLI003");
        assert_eq!(
            stderr,
            format!("error[CLI003]: there is no {files} file in empty\n{advice}"),
            "{command:?}"
        );
    }
}

#[test]
fn the_mark_at_the_beginning_of_a_file_is_no_mistake() {
    let rig = Rig::sqlite();
    rig.write("in.json", "\u{feff}{\"from\": \"an editor\"}");
    rig.write("a.flow", "\u{feff}return inputs.from");
    rig.write("g.graph.json", "\u{feff}{\"nodes\": [{\"id\": \"echo\", \"type\": \"task\"}]}");
    rig.write("a.scenario.yaml", "\u{feff}workflow: a.flow\ninputs: {from: it}\nexpect: {output: it}\n");
    rig.write("g.scenario.yaml", "workflow: g.graph.json\ntasks: {echo: [{ok: 1}]}\nexpect: {output: 1}\n");
    assert_eq!(rig.ok(&["run", "a.flow", "--input", "@in.json", "-q"]), "\"an editor\"");
    rig.ok(&["check", "g.graph.json"]);
    assert!(rig.ok(&["test", "a.scenario.yaml", "g.scenario.yaml"]).ends_with("2 passed, 0 failed"));
}

#[test]
fn a_priority_in_words_is_told_what_a_priority_is() {
    let rig = Rig::sqlite();
    for command in
        [&["start", "order", "--priority", "high"][..], &["tasks", "enqueue", "echo", "--priority", "1.5"]]
    {
        let stderr = rig.fails(command, 2, "CLI005");
        let value = command.last().unwrap();
        let said = format!(
            "error[CLI005]: invalid value '{value}' for '--priority <N>': a priority is a whole number such as 5 or -1, higher goes first\n"
        );
        assert!(stderr.starts_with(&said), "{stderr}");
    }
}

#[test]
fn a_run_without_input_says_that_it_has_none() {
    let rig = Rig::sqlite();
    rig.write("greet.flow", "return \"hello \" + inputs.name");
    let stderr = rig.fails(&["run", "greet.flow", "-q"], 1, "CLI010");
    let said = "failed at line 1: TYPE_ERROR: `name` cannot be read: the run was started without --input, so its inputs are null";
    assert!(stderr.contains(said), "{stderr}");
}

#[test]
fn what_is_sure_to_throw_is_refused_by_check_register_and_run_and_played_by_test() {
    let rig = Rig::sqlite();
    rig.write("wrong.flow", "await Task.rum(\"charge\", { })");
    rig.write("wrong.scenario.yaml", "workflow: wrong.flow\nexpect: {error: {code: PROPERTY_NOT_FOUND}}\n");
    for command in
        [&["check", "wrong.flow"][..], &["workflows", "register", "wrong.flow"], &["run", "wrong.flow"]]
    {
        let answer = rig.run(command);
        assert_eq!(answer.code, 1, "{command:?}: {answer:?}");
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(said.contains("error[FLOW103]: `Task` has no `rum`"), "{command:?}: {answer:?}");
    }
    assert_eq!(rig.json(&["workflows", "list"])["rows"], serde_json::json!([]));
    let played = rig.ok(&["test", "wrong.scenario.yaml"]);
    assert!(played.contains("1 passed, 0 failed") && played.contains("FLOW103"), "{played}");
}

#[test]
fn the_sum_of_scenarios_is_said_once() {
    let rig = Rig::sqlite();
    rig.write("s.yaml", "source: return 1\nexpect: {output: 2}\n");
    let answer = rig.run(&["test", "s.yaml"]);
    let expected = "FAILED  scenario 1\n        output: expected 2, got 1\n0 passed, 1 failed";
    assert_eq!((answer.code, answer.stdout.trim_end()), (1, expected));
    assert!(answer.stderr.contains("error[CLI016]: not every scenario passed\n"), "{answer:?}");
    assert!(!answer.stderr.contains("1 failed"), "{answer:?}");
}

#[test]
fn the_page_of_a_code_is_shown_without_a_world() {
    let rig = Rig::sqlite();
    let page = rig.ok(&["--world", "postgres://nobody@127.0.0.1:1/x", "explain", "flow007"]);
    assert!(page.starts_with("FLOW007: `await` cannot stand here\n"), "{page}");
    assert!(page.contains("\nWhat to do\n") && !page.contains("```"), "{page}");
    assert_eq!(rig.json(&["explain", "WORLD001"])["code"], "WORLD001");
    let stderr = rig.fails(&["explain", "FLOW997"], 2, "CLI008");
    assert!(stderr.contains("there is no code FLOW997; did you mean FLOW"), "{stderr}");
    assert!(!rig.path().join("rhythm.db").exists());
}

#[test]
fn a_run_ends_with_its_time_and_counts_and_its_items_are_told_apart() {
    let rig = Rig::sqlite();
    rig.write(
        "fan.flow",
        "let hs = []\nfor (const n of [1, 2, 3]) { hs = hs.concat([Task.run(\"echo\", { n })]) }\nawait Promise.all(hs)\nreturn 3",
    );
    let answer = rig.run(&["run", "fan.flow"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "3\n"));
    for line in
        ["  started    echo  {\"n\":1}\n", "  started    echo (2)  {\"n\":2}\n", "  done       echo (3)\n"]
    {
        assert!(answer.stderr.contains(line), "{answer:?}");
    }
    let last = answer.stderr.lines().last().unwrap();
    assert!(last.starts_with("  completed  in 0.") || last.starts_with("  completed  in "), "{last}");
    assert!(last.ends_with("s: 3 tasks"), "{last}");
    assert!(!answer.stderr.contains('\u{1b}'), "no colours where no terminal is: {answer:?}");
}

#[test]
fn a_listing_of_runs_shows_how_long_they_took_and_why_they_failed() {
    let rig = Rig::sqlite();
    rig.write("bad.flow", "throw \"no stock of green tea\"");
    rig.write("good.flow", "return 1");
    assert_eq!(rig.run(&["run", "bad.flow", "-q"]).code, 1);
    rig.ok(&["run", "good.flow", "-q"]);
    let listing = rig.ok(&["runs", "list"]);
    let mut lines = listing.lines();
    let header = lines.next().unwrap();
    assert!(header.contains("TOOK") && header.ends_with("WHY"), "{listing}");
    assert!(lines.next().unwrap().contains("good"), "{listing}");
    assert!(lines.next().unwrap().ends_with("FAILED: no stock of green tea"), "{listing}");
    let rows = rig.json(&["runs", "list", "--status", "failed"]);
    assert_eq!(rows["rows"][0]["failure"]["message"], "no stock of green tea");
}
