//! What every step executes must find its rows by an index, whatever else the database holds.

use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld};

/// The statements behind runs, tasks, claims and commits, and the heartbeat every process runs each second.
const HOT: &[(&str, &str)] = &[
    ("runs", include_str!("../src/sqlite/sql/runs.sql")),
    ("inbox", include_str!("../src/sqlite/sql/inbox.sql")),
    ("tasks", include_str!("../src/sqlite/sql/tasks.sql")),
    ("claim_runs", include_str!("../src/sqlite/sql/claim_runs.sql")),
    ("claim_tasks", include_str!("../src/sqlite/sql/claim_tasks.sql")),
    ("commit", include_str!("../src/sqlite/sql/commit.sql")),
    ("extend", include_str!("../src/sqlite/sql/extend.sql")),
    ("upkeep", include_str!("../src/sqlite/sql/upkeep.sql")),
    ("control", include_str!("../src/sqlite/sql/control.sql")),
    ("retain", include_str!("../src/sqlite/sql/retain.sql")),
];

/// Scans that cannot grow: partial indexes of what is ready or due, and the few workers.
const SMALL: &[&str] = &[
    "SCAN worker",
    "SCAN task USING COVERING INDEX task_ready",
    "SCAN run_queue USING COVERING INDEX run_queue_ready",
    "SCAN run_queue USING INDEX run_queue_ready",
    "SCAN timer USING COVERING INDEX timer_due",
    // What is claimed: as much as all workers do at once, and asked for only after a lost answer.
    "SCAN run_queue USING INDEX run_queue_claimed",
    "SCAN task USING INDEX task_running",
    // The first timers that are due, as many as were asked for.
    "SCAN looked",
    // The kinds and workflows whoever claims has named.
    "SCAN json_each",
    "SCAN (subquery",
    "SCAN CONSTANT ROW",
];

#[test]
fn no_statement_of_the_hot_path_scans_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plans.db");
    drop(SqliteWorld::open(&file, SqliteOptions::default()).unwrap());
    let connection = rusqlite::Connection::open(&file).unwrap();
    let mut scans = Vec::new();
    for (name, text) in HOT {
        for section in text.split("-- name: ").skip(1) {
            let (section, statement) = section.split_once('\n').unwrap();
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
            // Explaining needs no values.
            let steps = plan.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Vec<_>>();
            for step in steps.into_iter().map(Result::unwrap).filter(|step| step.starts_with("SCAN")) {
                if !SMALL.iter().any(|small| step.starts_with(small)) {
                    scans.push(format!("{name}/{section}: {step}"));
                }
            }
        }
    }
    assert!(scans.is_empty(), "{scans:#?}");
}

#[test]
fn approvals_are_found_by_their_own_small_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plans.db");
    drop(SqliteWorld::open(&file, SqliteOptions::default()).unwrap());
    let connection = rusqlite::Connection::open(&file).unwrap();
    let (mut through_runs, mut by_time) = (false, false);
    for section in include_str!("../src/sqlite/sql/approvals.sql").split("-- name: ").skip(1) {
        let (section, statement) = section.split_once('\n').unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        let steps = plan.raw_query().mapped(|row| row.get::<_, String>(3)).collect::<Vec<_>>();
        let steps: Vec<String> = steps.into_iter().map(Result::unwrap).collect();
        let of_events = |step: &&String| step.contains(" c ") || step.contains(" event ");
        for step in steps.iter().filter(of_events) {
            assert!(step.contains("event_approval") || step.contains("event_asked"), "{section}: {step}");
        }
        through_runs |= section == "waiting" && steps.iter().any(|step| step.contains("event_approval"));
        by_time |= section == "all" && !steps.iter().any(|step| step.contains("TEMP B-TREE"));
    }
    assert!(through_runs, "pending ones are found through live runs");
    assert!(by_time, "all of them are read in order");
}
