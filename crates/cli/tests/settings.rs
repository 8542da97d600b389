//! Sources of settings and their precedence; the database commands; completions.

mod rig;

use rig::{Rig, answer};

fn in_folder(rig: &Rig, folder: &str, args: &[&str]) -> rig::Answer {
    let mut command = rig.command(args);
    command.env_remove("RHYTHM_WORLD").current_dir(rig.path().join(folder));
    answer(command)
}

#[test]
fn rhythm_toml_is_found_in_a_parent_folder_and_its_database_lies_beside_it() {
    let rig = Rig::sqlite();
    rig.write(
        "rhythm.toml",
        "world = \"sqlite:data/r.db\"\ntenant = \"ann\"\n[worker]\nqueues = [\"mail:5\"]\n",
    );
    std::fs::create_dir_all(rig.path().join("deep/er")).unwrap();
    let answer = in_folder(&rig, "deep/er", &["tasks", "enqueue", "echo"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(rig.path().join("data/r.db").is_file());
    let answer = in_folder(&rig, "", &["-o", "json", "--tenant", "ann", "tasks", "list"]);
    assert!(answer.stdout.contains("echo"), "{answer:?}");
}

#[test]
fn flags_beat_the_environment_and_the_environment_beats_the_file() {
    let rig = Rig::sqlite();
    rig.write("rhythm.toml", "world = \"sqlite:file.db\"\n");
    let mut command = rig.command(&["db", "migrate"]);
    command.env("RHYTHM_WORLD", "").env("RHYTHM_DATABASE_URL", "sqlite:second.db");
    assert!(answer(command).stdout.starts_with("sqlite:second.db has schema version"));
    let mut command = rig.command(&["db", "migrate"]);
    command.env("RHYTHM_WORLD", "sqlite:first.db").env("RHYTHM_DATABASE_URL", "sqlite:second.db");
    assert!(answer(command).stdout.starts_with("sqlite:first.db has schema version"));
    let answer = rig.ok(&["--world", "sqlite:flag.db", "db", "migrate"]);
    assert!(answer.starts_with("sqlite:flag.db has schema version"), "{answer}");
    assert!(!rig.path().join("file.db").exists());
}

#[test]
fn without_settings_the_database_is_in_a_folder_here() {
    let rig = Rig::sqlite();
    assert_eq!(in_folder(&rig, "", &["db", "migrate"]).code, 0);
    assert!(rig.path().join(".rhythm/rhythm.db").is_file());
}

#[test]
fn an_unknown_key_in_rhythm_toml_is_named() {
    let rig = Rig::sqlite();
    for (text, key) in [
        ("wrold = \"sqlite:x\"", "wrold"),
        ("[worker]\nconcurency = 5", "concurency"),
        ("[worker]\npoll_interval = \"often\"", "poll_interval"),
        ("world = ", "world = "),
    ] {
        rig.write("rhythm.toml", text);
        let stderr = rig.fails(&["runs", "list"], 2, "CLI004");
        assert!(stderr.contains(key) && stderr.contains("rhythm.toml"), "{stderr}");
    }
}

#[test]
fn the_worker_table_sets_up_workers() {
    let rig = Rig::sqlite();
    rig.write(
        "rhythm.toml",
        "[worker]\nqueues = [\"mail:5\", \"print\"]\nconcurrency = 3\nthreads = 5\npoll_interval = \"200ms\"\n",
    );
    let mut worker = rig.worker(&[]);
    let row = rig.json(&["workers"])["rows"][0].clone();
    assert_eq!(row["card"]["queues"], serde_json::json!(["mail", "print"]));
    assert_eq!(row["card"]["concurrency"], 3);
    worker.logs("threads=5\n");
    rig.worker(&["--threads", "3"]).logs("threads=3\n"); // flags come first
    rig.write("rhythm.toml", "[worker]\nthreads = 0\n");
    rig.fails(&["worker"], 2, "CLI008");
}

#[test]
fn a_worker_has_half_of_the_processors() {
    let processors = std::thread::available_parallelism().unwrap().get();
    Rig::sqlite().worker(&[]).logs(&format!("threads={}\n", (processors / 2).max(1)));
}

fn the_database_commands_tell_how_it_is(rig: &Rig) {
    let (exit, code) = if rig.is_sqlite() { (3, "WORLD020") } else { (6, "WORLD011") };
    rig.fails(&["db", "status"], exit, code);
    rig.ok(&["db", "migrate"]);
    rig.ok(&["db", "migrate"]);
    rig.ok(&["tasks", "enqueue", "echo"]);
    let status = rig.json(&["db", "status"]);
    assert_eq!(status["open_tasks"], 1);
    assert_eq!(status["schema"], status["schema_known"]);
    assert!(rig.ok(&["db", "status"]).contains("open tasks    1"));
    if rig.world.starts_with("sqlite:") {
        // Servers are configured differently, so their findings differ.
        assert_eq!(rig.ok(&["db", "doctor"]), "all is well");
    }
}

fn the_doctor_finds_dead_letters(rig: &Rig) {
    let worker = rig.worker(&[]);
    rig.fails(&["tasks", "enqueue", "fail", "--retries", "1", "--wait"], 1, "CLI010");
    worker.stop();
    let answer = rig.run(&["db", "doctor"]);
    assert_eq!(answer.code, 1);
    assert!(answer.stdout.contains("- 1 dead letter to be decided on: rhythm dead list\n"), "{answer:?}");
    assert!(answer.stderr.starts_with("error[CLI013]: "), "{answer:?}");
}

/// The checksums show both before a command fails on them.
fn the_doctor_finds_a_damaged_snapshot_and_a_damaged_blob(rig: &Rig) {
    rig.write("wait.flow", "let kept = inputs\nawait Signal.next(\"go\")\nreturn kept");
    rig.ok(&["workflows", "register", "wait.flow"]);
    rig.write("large.json", &serde_json::json!({ "text": "x".repeat(100_000) }).to_string());
    let worker = rig.worker(&[]);
    let run = rig.ok(&["start", "wait", "--input", "@large.json"]);
    rig.until(&["explain", &run], |why| why["reasons"][0]["code"] == "signal");
    worker.stop();
    let sound = rig.run(&["db", "doctor"]);
    assert!(!sound.stdout.contains("damaged"), "{sound:?}");
    if rig.is_postgres() {
        rig.change("UPDATE rhythm.live_run SET snapshot = set_byte(snapshot, 3, 42)");
        rig.change("UPDATE rhythm.blob SET content = set_byte(content, 9, (get_byte(content, 9) + 1) % 256)");
    } else {
        rig.change("UPDATE live_run SET snapshot = CAST('xx' || CAST(snapshot AS TEXT) AS BLOB)");
        rig.change("UPDATE blob SET content = zeroblob(length(content))");
    }
    let sick = rig.run(&["db", "doctor"]);
    assert_eq!(sick.code, 1);
    assert!(sick.stdout.contains(&format!("- the snapshot of run {run} is damaged (")), "{sick:?}");
    assert!(sick.stdout.contains("- blob sha256:") && sick.stdout.contains(" is damaged ("), "{sick:?}");
}

on_both_worlds!(
    the_database_commands_tell_how_it_is,
    the_doctor_finds_dead_letters,
    the_doctor_finds_a_damaged_snapshot_and_a_damaged_blob,
);

#[test]
fn there_are_completions_for_every_shell() {
    let rig = Rig::sqlite();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(rig.ok(&["completions", shell]).contains("enqueue"), "{shell}");
    }
    rig.fails(&["completions", "tcsh"], 2, "CLI005");
}

#[test]
fn the_version_is_told() {
    let rig = Rig::sqlite();
    assert_eq!(rig.ok(&["--version"]), format!("rhythm {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn passwords_and_tls_come_from_the_environment_as_for_psql() {
    let rig = Rig::postgres();
    let (login, place) = rig.world().split_once('@').unwrap();
    let (_, password) = login.rsplit_once(':').unwrap();
    let url = format!("postgres://rhythm@{place}");
    let ask = |variables: &[(&str, &str)]| {
        let mut command = rig.command(&["--world", &url, "db", "migrate"]);
        for variable in ["PGPASSWORD", "PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT"] {
            command.env_remove(variable);
        }
        command.env("HOME", rig.path()).envs(variables.iter().copied());
        answer(command)
    };
    assert_eq!(ask(&[]).code, 5, "there is no password");
    let answer = ask(&[("PGPASSWORD", password)]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let answer = ask(&[("PGPASSWORD", password), ("PGSSLMODE", "require")]);
    assert_eq!(answer.code, 5, "{answer:?}");
    assert!(answer.stderr.contains("WORLD016") && answer.stderr.contains("does not offer TLS"), "{answer:?}");
    rig.write(".pgpass", &format!("*:*:*:rhythm:{password}\n"));
    std::process::Command::new("chmod").arg("600").arg(rig.path().join(".pgpass")).status().unwrap();
    let answer = ask(&[]);
    assert_eq!(answer.code, 0, "{answer:?}");
}
