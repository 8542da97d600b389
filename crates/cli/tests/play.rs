//! `rhythm run FILE`: which world it uses, what it leaves unchanged and what it leaves behind. Also read-only
//! commands.

mod rig;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rig::{Answer, Rig, answer, eventually};

const ECHO: &str = "return await Task.run(\"echo\", inputs)\n";
const WAITS: &str = "let s = await Signal.next(\"go\")\nreturn s\n";

/// Returns a command without a named world. Temporary files go to a folder of the test.
fn unnamed(rig: &Rig, args: &[&str]) -> Command {
    std::fs::create_dir_all(rig.path().join("tmp")).unwrap();
    let mut command = rig.command(args);
    command.env_remove("RHYTHM_WORLD").env("TMPDIR", rig.path().join("tmp"));
    command
}

fn play(rig: &Rig, args: &[&str]) -> Answer {
    answer(unnamed(rig, args))
}

fn left(rig: &Rig) -> Vec<PathBuf> {
    std::fs::read_dir(rig.path().join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn world_in(text: &str) -> String {
    let at = text.find("--world ").unwrap_or_else(|| panic!("no world in {text:?}")) + "--world ".len();
    text[at..].split([' ', '`', '\n']).next().unwrap().to_owned()
}

#[test]
fn a_file_plays_in_a_temporary_world_where_there_is_no_other() {
    let rig = Rig::sqlite();
    rig.write("hello.flow", ECHO);
    let played = play(&rig, &["run", "hello.flow", "--input", "7"]);
    assert_eq!((played.code, played.stdout.as_str()), (0, "7\n"), "{played:?}");
    assert_eq!(left(&rig), Vec::<PathBuf>::new(), "a completed run leaves nothing");
    assert!(!rig.path().join(".rhythm").exists());
    assert!(!played.stderr.contains("--world"), "{played:?}");
}

#[test]
fn a_run_that_fails_keeps_its_world_and_every_hint_names_it() {
    let rig = Rig::sqlite();
    rig.write("bad.flow", "throw \"no\"\n");
    let played = play(&rig, &["run", "bad.flow", "-q"]);
    assert_eq!(played.code, 1, "{played:?}");
    let world = world_in(&played.stderr);
    let hints = played.stderr.split('`').filter(|part| part.starts_with("rhythm "));
    let hints: Vec<&str> = hints.collect();
    assert!(!hints.is_empty());
    for hint in hints {
        assert!(hint.contains(&format!("--world {world}")), "{hint}");
        let arguments: Vec<&str> = hint.split(' ').skip(1).collect();
        if arguments[0] == "explain" {
            assert_eq!(play(&rig, &arguments).code, 0, "{hint}");
        }
    }
    assert_eq!(left(&rig).len(), 1);
}

#[test]
fn a_file_that_cannot_be_run_leaves_nothing() {
    let rig = Rig::sqlite();
    rig.write("wrong.flow", "return (\n");
    assert_eq!(play(&rig, &["run", "wrong.flow"]).code, 1);
    assert_eq!(left(&rig), Vec::<PathBuf>::new());
}

#[test]
fn a_run_that_waits_for_others_says_where_and_goes_on_from_there() {
    let rig = Rig::sqlite();
    rig.write("wait.flow", WAITS);
    let mut child = watched(unnamed(&rig, &["run", "wait.flow", "--quiet"]));
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let world = world_in(&line);
    let rows = answer(unnamed(&rig, &["--world", &world, "-ojson", "runs", "list"]));
    let rows: serde_json::Value = serde_json::from_str(&rows.stdout).unwrap();
    let run = rows["rows"][0]["id"].as_str().unwrap().to_owned();
    let sent = play(&rig, &["--world", &world, "runs", "signal", &run, "go", "--payload", "5"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "5\n");
    assert_eq!(left(&rig), Vec::<PathBuf>::new());
}

#[test]
fn a_world_that_is_there_is_taken() {
    let rig = Rig::sqlite();
    rig.write("hello.flow", ECHO);
    std::fs::create_dir(rig.path().join(".rhythm")).unwrap();
    assert_eq!(play(&rig, &["run", "hello.flow", "-q"]).code, 0);
    assert!(rig.path().join(".rhythm/rhythm.db").exists());
    let other = Rig::sqlite();
    other.write("hello.flow", ECHO);
    other.write("rhythm.toml", "world = \"sqlite:mine.db\"\n");
    assert_eq!(play(&other, &["run", "hello.flow", "-q"]).code, 0);
    assert!(other.path().join("mine.db").exists());
}

#[test]
fn a_name_is_not_looked_for_where_there_is_no_world() {
    let rig = Rig::sqlite();
    for args in [&["run", "order"][..], &["run", "--resume", "r"]] {
        let refused = play(&rig, args);
        assert!(refused.code == 3 && refused.stderr.contains("WORLD020"), "{refused:?}");
    }
    assert!(!rig.path().join(".rhythm").exists());
}

on_both_worlds!(
    a_file_plays_beside_what_is_registered,
    a_run_of_a_file_steps_and_does_nothing_else,
    registering_tells_of_schedules
);

fn a_file_plays_beside_what_is_registered(rig: &Rig) {
    rig.write("order.flow", "return 1\n");
    rig.ok(&["workflows", "register", "order.flow"]);
    let before = rig.json(&["workflows", "list"]);
    rig.write("order.flow", "```\nschedule: \"* * * * *\"\n```\nreturn 2\n");
    assert_eq!(rig.ok(&["run", "order.flow", "-q"]), "2");
    assert_eq!(rig.json(&["workflows", "list"])["rows"][0]["version"], before["rows"][0]["version"]);
    assert_eq!(rig.json(&["schedules", "list"])["rows"].as_array().unwrap().len(), 0);
    assert_eq!(rig.ok(&["run", "order", "-q"]), "1");
    rig.write("new.flow", "return 3\n");
    assert_eq!(rig.ok(&["run", "new.flow", "-q"]), "3");
    rig.fails(&["start", "new"], 3, "ENGINE001");
    rig.ok(&["workflows", "register", "new.flow"]);
    assert_eq!(rig.ok(&["run", "new", "-q"]), "3", "what was played can be registered");
    let runs = rig.json(&["runs", "list"]);
    let run = runs["rows"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    rig.ok(&["verify", &run]);
}

fn a_run_of_a_file_steps_and_does_nothing_else(rig: &Rig) {
    rig.write("other.flow", ECHO);
    rig.write("parent.flow", "return await Workflow.run(\"other\", 4)\n");
    rig.ok(&["workflows", "register", "other.flow"]);
    let waiting = rig.ok(&["start", "other", "--input", "1"]);
    let task = rig.ok(&["tasks", "enqueue", "echo", "--input", "2"]);
    assert_eq!(rig.ok(&["run", "parent.flow", "-q"]), "4", "children are stepped, and their tasks done");
    assert_eq!(rig.json(&["runs", "show", &waiting])["status"], "pending");
    assert_eq!(rig.json(&["tasks", "show", &task])["state"], "ready");
}

fn registering_tells_of_schedules(rig: &Rig) {
    let write = |schedule: &str| {
        let front = match schedule {
            "" => String::new(),
            rule => format!("```\nschedule: \"{rule}\"\n```\n"),
        };
        rig.write("daily.flow", &format!("{front}return 1\n"));
        rig.ok(&["workflows", "register", "daily.flow"]).lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    let added = write("0 9 * * *");
    assert!(added.starts_with("scheduled daily: `0 9 * * *`, starts next at "), "{added}");
    assert_eq!(write("0 9 * * *"), "");
    let changed = write("0 8 * * *");
    let start = "schedule of daily changed from `0 9 * * *` to `0 8 * * *`, starts next at ";
    assert!(changed.starts_with(start), "{changed}");
    assert_eq!(write(""), "schedule of daily removed (it was `0 8 * * *`)");
    assert_eq!(write(""), "");
}

#[test]
fn what_only_looks_makes_no_database() {
    let rig = Rig::sqlite();
    for args in [
        &["runs", "list"][..],
        &["runs", "show", "r"],
        &["workflows", "list"],
        &["tasks", "list"],
        &["dead", "list"],
        &["approvals", "list"],
        &["schedules", "list"],
        &["queues", "list"],
        &["node-types", "list"],
        &["workers"],
        &["explain", "r"],
        &["verify", "r"],
        &["db", "status"],
        &["db", "doctor"],
    ] {
        rig.fails(args, 3, "WORLD020");
    }
    assert_eq!(std::fs::read_dir(rig.path()).unwrap().count(), 0, "nothing was made");
}

/// The database has only the first migration, as an old one does.
#[test]
fn what_only_looks_brings_no_schema_up_to_date() {
    let rig = Rig::sqlite();
    rig.ok(&["db", "migrate"]);
    rig.execute("DELETE FROM schema_migrations WHERE version > 1");
    rig.fails(&["runs", "list"], 6, "WORLD011");
    let versions = rig.query("SELECT MAX(version) FROM schema_migrations");
    assert_eq!(versions, [[Some("1".to_owned())]]);
}

/// The copy was taken while a process wrote: rows that are only in the log are read, and no new file appears.
#[test]
fn a_copy_that_cannot_be_written_is_read() {
    use std::os::unix::fs::PermissionsExt;

    let rig = Rig::sqlite();
    rig.write("hello.flow", ECHO);
    rig.ok(&["workflows", "register", "hello.flow"]);
    let open = rusqlite::Connection::open(rig.path().join("rhythm.db")).unwrap();
    // An open reader keeps SQLite from checkpointing the log.
    open.execute_batch("BEGIN; SELECT COUNT(*) FROM definition;").unwrap();
    let run = rig.ok(&["start", "hello"]);
    let copy = rig.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    for name in ["rhythm.db", "rhythm.db-wal"] {
        std::fs::copy(rig.path().join(name), copy.join(name)).unwrap();
        set_mode(&copy.join(name), 0o444);
    }
    assert!(std::fs::metadata(copy.join("rhythm.db-wal")).unwrap().len() > 0, "the log holds something");
    set_mode(&copy, 0o555);
    let world = format!("sqlite:{}", copy.join("rhythm.db").display());
    let shown = rig.json(&["--world", &world, "runs", "show", &run]);
    assert_eq!(shown["workflow"], "hello");
    let refused = rig.run(&["--world", &world, "runs", "cancel", &run]);
    set_mode(&copy, 0o755);
    let is_root = std::fs::metadata(rig.path()).is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    assert!(is_root || refused.stderr.contains("WORLD003"), "{refused:?}");

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn watched(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}

/// Reads lines up to one that contains the text.
fn until(said: &mut impl BufRead, text: &str) -> String {
    let mut all = String::new();
    while !all.contains(text) {
        assert!(said.read_line(&mut all).unwrap() > 0, "no {text:?} in {all}");
    }
    all
}

#[test]
fn ctrl_c_says_what_it_waits_for_and_a_second_one_ends_it() {
    let rig = Rig::sqlite();
    rig.write("slow.flow", "return await Task.run(\"sleep\", { seconds: 600 })\n");
    let mut child = watched(rig.command(&["run", "slow.flow"]));
    let mut said = BufReader::new(child.stderr.take().unwrap());
    until(&mut said, "started");
    eventually("the task runs", || {
        let tasks = rig.json(&["tasks", "list"]);
        tasks["rows"].as_array().unwrap().iter().any(|task| task["state"] == "running")
    });
    interrupt(&child);
    let told = until(&mut said, "waiting for task");
    assert!(told.contains("waiting for task sleep to end; Ctrl-C again ends at once"), "{told}");
    interrupt(&child);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("CLI017") && rest.contains("rhythm run --resume"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_that_completes_after_ctrl_c_gives_its_result() {
    let rig = Rig::sqlite();
    rig.write("slow.flow", "let r = await Task.run(\"shell.exec\", { command: \"sh\", args: [\"-c\", \"until [ -e go ]; do sleep 0.02; done; echo done\"] })\nreturn 8\n");
    let mut child = watched(rig.command(&["run", "slow.flow", "--allow-shell"]));
    let mut said = BufReader::new(child.stderr.take().unwrap());
    until(&mut said, "started");
    eventually("the task runs", || {
        let tasks = rig.json(&["tasks", "list"]);
        tasks["rows"].as_array().unwrap().iter().any(|task| task["state"] == "running")
    });
    interrupt(&child);
    until(&mut said, "waiting for task shell.exec");
    rig.write("go", "");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), b"8\n".to_vec()));
}
