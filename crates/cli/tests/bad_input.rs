//! Every error has a code, a sentence, a help text and the right exit code.

mod rig;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rig::{Rig, answer};

#[test]
fn a_url_that_is_not_understood_names_the_nearest_form() {
    let rig = Rig::sqlite();
    let stderr = rig.fails(&["--world", "rhythm.db", "runs", "list"], 2, "WORLD013");
    assert!(stderr.contains("did you mean sqlite:rhythm.db?"), "{stderr}");
    rig.fails(&["--world", "", "runs", "list"], 2, "WORLD013");
    rig.fails(&["--world", "sqlite:", "runs", "list"], 2, "WORLD013");
    let stderr = rig.fails(&["--world", "mysql://ann:s3cret@host/db", "runs", "list"], 2, "WORLD013");
    assert!(!stderr.contains("s3cret"), "{stderr}");
}

#[test]
fn help_does_not_show_the_world_of_the_environment() {
    let rig = Rig::sqlite();
    let mut command = rig.command(&["worker", "--help"]);
    command.env("RHYTHM_WORLD", "postgres://ann:s3cret@host/db");
    let answer = answer(command);
    assert_eq!(answer.code, 0);
    assert!(!answer.stdout.contains("s3cret"));
}

#[test]
fn a_server_that_is_not_there_is_unavailable_and_its_password_stays_secret() {
    let rig = Rig::sqlite();
    // A free port could be taken by another process; port 1 is reserved and never served.
    let stderr =
        rig.fails(&["--world", "postgres://ann:s3cret@127.0.0.1:1/db", "runs", "list"], 5, "WORLD001");
    assert!(!stderr.contains("s3cret"), "{stderr}");
}

#[test]
fn a_wrong_password_is_denied_and_not_repeated() {
    let rig = Rig::sqlite();
    let server = rig::postgres::server();
    let (scheme, rest) = server.split_once("://").unwrap();
    let (login, place) = rest.rsplit_once('@').unwrap();
    let user = login.split(':').next().unwrap();
    let wrong = format!("{scheme}://{user}:not-the-s3cret@{place}");
    let stderr = rig.fails(&["--world", &wrong, "runs", "list"], 5, "WORLD005");
    assert!(stderr.contains("help: check user and password"), "{stderr}");
    assert!(!stderr.contains("s3cret"), "{stderr}");
}

#[test]
fn a_database_that_does_not_exist_is_said_to_be_missing() {
    let rig = Rig::sqlite();
    let server = rig::postgres::server();
    let (base, _) = server.rsplit_once('/').unwrap();
    let answer = rig.run(&["--world", &format!("{base}/no_such_database"), "runs", "list"]);
    assert!(matches!(answer.code, 3 | 5), "{answer:?}");
    assert!(answer.stderr.contains("no_such_database"), "{answer:?}");
}

#[test]
fn a_file_that_may_not_be_written_is_read_only() {
    let rig = Rig::sqlite();
    rig.ok(&["db", "migrate"]);
    let file = rig.path().join("rhythm.db");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::set_permissions(rig.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let answer = answer(unprivileged(&rig, &["tasks", "enqueue", "echo"]));
    std::fs::set_permissions(rig.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(answer.code, 5, "{answer:?}");
    assert!(answer.stderr.starts_with("error[WORLD003]: the database is read-only"), "{answer:?}");
}

/// Returns a command without root's rights, because root can write to read-only files: root runs a copy of
/// the binary as the user `nobody`.
fn unprivileged(rig: &Rig, args: &[&str]) -> std::process::Command {
    let as_root = std::process::Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !as_root {
        return rig.command(args);
    }
    let home = tempfile::tempdir().unwrap().keep();
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o755)).unwrap();
    let binary = home.join("rhythm");
    std::fs::copy(rig::BINARY, &binary).unwrap();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(binary).args(args);
    command.current_dir(rig.path()).env("RHYTHM_WORLD", &rig.world);
    command
}

#[test]
fn a_file_somebody_else_holds_is_locked() {
    let rig = Rig::sqlite();
    rig.ok(&["db", "migrate"]);
    let holder = rusqlite::Connection::open(rig.path().join("rhythm.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let stderr = rig.fails(&["tasks", "enqueue", "echo"], 5, "WORLD002");
    assert!(stderr.contains("  help: "), "{stderr}");
    holder.execute_batch("ROLLBACK").unwrap();
    rig.ok(&["tasks", "enqueue", "echo"]);
}

#[test]
fn a_newer_database_is_refused() {
    let rig = Rig::sqlite();
    rig.ok(&["db", "migrate"]);
    let database = rusqlite::Connection::open(rig.path().join("rhythm.db")).unwrap();
    database
        .execute_batch(
            "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (999, 'tomorrow', '', 0)",
        )
        .unwrap();
    let stderr = rig.fails(&["runs", "list"], 6, "WORLD010");
    assert!(stderr.contains("999"), "{stderr}");
}

#[test]
fn a_file_that_is_no_database_is_damaged() {
    let rig = Rig::sqlite();
    rig.write("rhythm.db", &"\u{1}this is not a database ".repeat(200));
    rig.fails(&["runs", "list"], 6, "WORLD009");
}

#[test]
fn without_migration_an_old_schema_is_refused() {
    let rig = Rig::sqlite();
    let stderr = rig.fails(&["--no-migrate", "tasks", "enqueue", "echo"], 6, "WORLD011");
    assert!(stderr.contains("help: run `rhythm db migrate` first"), "{stderr}");
    assert!(!rig.path().join("rhythm.db").exists());
    rig.ok(&["db", "migrate"]);
    rig.ok(&["--no-migrate", "runs", "list"]);
}

#[test]
fn invalid_json_is_pointed_at() {
    let rig = Rig::sqlite();
    let stderr = rig.fails(&["tasks", "enqueue", "echo", "--input", r#"{"a": 1,, "b": 2}"#], 2, "CLI001");
    let expected = "\
error[CLI001]: --input is not valid JSON: key must be a string at line 1 column 9
    {\"a\": 1,, \"b\": 2}
            ^
  help: put the whole value in single quotes, as in '{\"name\": \"Ann\"}', or use @FILE or - (standard input)
";
    assert_eq!(stderr, expected);
    for wrong in ["", "{", "nope", "1 2", "'a'", "{\"a\":1}}", "\u{0}", "[1,]", "\"\u{1b}\""] {
        if wrong != "\u{0}" {
            rig.fails(&["tasks", "enqueue", "echo", "--input", wrong], 2, "CLI001");
        }
    }
    rig.write("bad.json", "{\n  \"a\": trux\n}");
    let stderr = rig.fails(&["tasks", "enqueue", "echo", "--input", "@bad.json"], 2, "CLI001");
    assert!(stderr.contains("bad.json is not valid JSON") && stderr.contains("line 2"), "{stderr}");
}

#[test]
fn input_comes_from_files_and_standard_input() {
    let rig = Rig::sqlite();
    rig.write("in.json", "{\"from\": \"file\"}\n");
    let task = rig.ok(&["tasks", "enqueue", "echo", "--input", "@in.json"]);
    assert_eq!(rig.json(&["tasks", "show", &task])["input"]["from"], "file");
    let mut command = rig.command(&["tasks", "enqueue", "echo", "--input", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"[1, 2]").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let task = String::from_utf8(output.stdout).unwrap();
    assert_eq!(rig.json(&["tasks", "show", task.trim()])["input"], serde_json::json!([1, 2]));
    std::fs::write(rig.path().join("latin.json"), b"\"gr\xfc\xdfe\"").unwrap();
    let stderr = rig.fails(&["tasks", "enqueue", "echo", "--input", "@latin.json"], 2, "CLI003");
    assert!(stderr.contains("not UTF-8 text (byte 4)"), "{stderr}");
    rig.fails(&["tasks", "enqueue", "echo", "--input", "@missing.json"], 2, "CLI003");
}

#[test]
fn an_oversized_payload_is_refused_and_a_large_one_comes_back() {
    let rig = Rig::sqlite();
    rig.write("huge.json", &format!("\"{}\"", "x".repeat(32 * 1024 * 1024)));
    let stderr = rig.fails(&["tasks", "enqueue", "echo", "--input", "@huge.json"], 2, "ENGINE009");
    assert!(stderr.contains("33554434 bytes, the limit is 33554432"), "{stderr}");
    let large = "y".repeat(200_000);
    rig.write("large.json", &format!("\"{large}\""));
    let task = rig.ok(&["tasks", "enqueue", "echo", "--input", "@large.json"]);
    assert_eq!(rig.json(&["tasks", "show", &task])["input"], large);
}

#[test]
fn wrong_values_are_refused_with_their_own_codes() {
    let rig = Rig::sqlite();
    rig.fails(&["tasks", "enqueue", "echo", "--delay", "5 minutes"], 2, "CLI002");
    rig.fails(&["tasks", "enqueue", "echo", "--timeout", ""], 2, "CLI002");
    rig.fails(&["worker", "--patience", "soon"], 2, "CLI002");
    rig.fails(&["worker", "--queue", "mail:many"], 2, "CLI008");
    rig.fails(&["worker", "--concurrency", "0"], 2, "CLI008");
    rig.fails(&["worker", "--threads", "0"], 2, "CLI008");
    rig.fails(&["worker", "--threads", "1000000"], 2, "CLI008");
    rig.fails(&["tasks", "enqueue", "echo", "--retries", "-1"], 2, "CLI008");
    rig.fails(&["start", "order", "--tag", "novalue"], 3, "ENGINE020");
    rig.fails(&["start", "order", "--label", "novalue"], 2, "CLI008");
    rig.fails(&["start", "order", "--label", "=value"], 2, "CLI008");
    rig.fails(&["--tenant", "", "runs", "list"], 2, "CLI008");
    rig.fails(&["runs", "events", "some", "--cursor", "x"], 2, "CLI008");
    rig.fails(&["tasks", "enqueue", ""], 2, "ENGINE010");
    rig.fails(&["tasks", "enqueue", &"n".repeat(300)], 2, "ENGINE010");
    rig.fails(&["tasks", "enqueue", "echo", "--queue", ""], 2, "ENGINE010");
    rig.fails(&["runs", "lst"], 2, "CLI005");
    rig.fails(&["tasks", "enqueue", "echo", "--priority", "99999999999"], 2, "CLI005");
    rig.fails(&["tasks", "list", "--limit", "0"], 2, "CLI005");
    rig.fails(&["tasks", "enqueue", "echo", "--key", "k", "--count", "2"], 2, "CLI005");
}

#[test]
fn a_wrong_poll_interval_is_named() {
    let rig = Rig::sqlite();
    let mut command = rig.command(&["worker"]);
    command.env("RHYTHM_WORKER_POLL_INTERVAL", "often");
    let answer = answer(command);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.starts_with("error[CLI002]: RHYTHM_WORKER_POLL_INTERVAL: "), "{answer:?}");
}

#[test]
fn errors_are_json_when_answers_are() {
    let rig = Rig::sqlite();
    for args in [
        &["-o", "json", "runs", "show", "nobody"][..],
        &["runs", "show", "nobody", "--output=json"],
        &["--output", "json", "runs", "lst"],
    ] {
        let answer = rig.run(args);
        let error: serde_json::Value = serde_json::from_str(&answer.stderr).unwrap();
        for part in ["code", "message", "help"] {
            assert!(!error["error"][part].as_str().unwrap().is_empty(), "{args:?}: {answer:?}");
        }
        assert_eq!(answer.stdout, "");
    }
}

#[test]
fn what_does_not_exist_is_not_found() {
    let rig = Rig::sqlite();
    rig.ok(&["db", "migrate"]);
    for args in [
        &["explain", "nobody"][..],
        &["verify", "nobody"],
        &["runs", "show", "nobody"],
        &["runs", "events", "nobody"],
        &["runs", "signal", "nobody", "go"],
        &["runs", "cancel", "nobody"],
        &["runs", "retry", "nobody"],
    ] {
        rig.fails(args, 3, "ENGINE002");
    }
    rig.fails(&["start", "nothing"], 3, "ENGINE001");
    rig.fails(&["tasks", "show", "nothing"], 3, "ENGINE005");
    for verb in ["show", "requeue", "discard"] {
        rig.fails(&["dead", verb, "nothing"], 3, "ENGINE003");
    }
    for verb in ["show", "remove", "pause", "resume"] {
        rig.fails(&["schedules", verb, "nothing"], 3, "ENGINE004");
    }
    rig.fails(&["runs", "pause", "nobody"], 3, "WORLD006");
    rig.fails(&["tasks", "cancel", "nothing"], 3, "WORLD006");
    // A name may be paused before any task or worker uses it.
    let said = rig.ok(&["queues", "pause", "tomorrow"]);
    assert_eq!(said, "queue tomorrow is paused; so far no task or worker has used that name");
    assert_eq!(rig.ok(&["queues", "resume", "nothing"]), "queue nothing was not paused");
}

#[test]
fn stored_text_cannot_play_with_the_terminal() {
    let rig = Rig::sqlite();
    rig.ok(&["tasks", "enqueue", "evil\u{1b}[2J\u{7}name"]);
    let listing = rig.ok(&["tasks", "list"]);
    assert!(!listing.contains('\u{1b}') && listing.contains("evil\\u{1b}[2J"), "{listing}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let rig = Rig::sqlite();
    rig.ok(&["tasks", "enqueue", "echo", "--count", "1000", "--input", "\"some text to fill the pipe\""]);
    let mut command = rig.command(&["-o", "json", "tasks", "list", "--limit", "1000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}
