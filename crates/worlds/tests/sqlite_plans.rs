//! Statements of the hot path must find their rows by an index, whatever else the database holds.

use rhythm_conformance::play::new_run;
use rhythm_core::TenantId;
use rhythm_engine::world::{CreateRuns, World};
use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld};

/// Statements of runs, tasks, claims and commits, and of the sweep that every process runs each second.
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

/// Scans that stay short: partial indexes of ready or due rows, and the few workers.
const SMALL: &[&str] = &[
    "SCAN worker",
    "SCAN task USING COVERING INDEX task_ready",
    "SCAN run_queue USING COVERING INDEX run_queue_ready",
    "SCAN run_queue USING INDEX run_queue_ready",
    "SCAN timer USING COVERING INDEX timer_due",
    // Claimed rows: at most what all workers do at once, and read only after a lost answer.
    "SCAN run_queue USING INDEX run_queue_claimed",
    "SCAN task USING INDEX task_running",
    // The first due timers, up to the limit.
    "SCAN looked",
    // One run and the runs below it.
    "SCAN below",
    // The kinds and workflows that a claim names.
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

/// An index does not help a statement that reads all of it: claims must not get slower with thousands of
/// ready runs.
#[tokio::test]
async fn claims_take_no_longer_beside_many_ready_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plans.db");
    let world = SqliteWorld::open(&file, SqliteOptions::default()).unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    let mut before: Option<Vec<i32>> = None;
    for ready in [10, 3_000] {
        let runs = (0..ready).map(|id| new_run(&format!("{ready}-{id}"))).collect();
        world.create_runs(CreateRuns { tenant: TenantId::default(), runs }).await.unwrap();
        let tenant = TenantId::default();
        let first = effort(&connection, "next_program", rusqlite::params![tenant.as_str(), "", ""]);
        let last = effort(&connection, "next_program", rusqlite::params![tenant.as_str(), "drill", "drill"]);
        let some = effort(&connection, "ready", rusqlite::params![tenant.as_str(), "drill", "drill", 5]);
        let now = vec![first, last, some];
        assert!(now.iter().all(|steps| (1..500).contains(steps)), "{now:?}");
        assert_eq!(before.get_or_insert_with(|| now.clone()), &now, "with {ready} more");
    }
}

/// Returns the number of steps of SQLite's virtual machine that a statement of `claim_runs.sql` takes.
fn effort(connection: &rusqlite::Connection, name: &str, of: &[&dyn rusqlite::ToSql]) -> i32 {
    let text = include_str!("../src/sqlite/sql/claim_runs.sql");
    let mut sections = text.split("-- name: ").filter_map(|section| section.split_once('\n'));
    let (_, statement) = sections.find(|(section, _)| *section == name).unwrap();
    let mut statement = connection.prepare(statement).unwrap();
    let mut rows = statement.query(of).unwrap();
    while rows.next().unwrap().is_some() {}
    drop(rows);
    statement.get_status(rusqlite::StatementStatus::VmStep)
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
