//! Behaviour of a database file: access rights, a failing disk, other processes in the way, and the views for
//! people.

mod newcomer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rhythm_core::event::{ApprovalCreated, Event, EventData};
use rhythm_core::fold::RunState;
use rhythm_core::message::{ApprovalDecided, SignalReceived};
use rhythm_core::*;
use rhythm_engine::world::*;
use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld, migrate, schema_status};
use tempfile::TempDir;

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("deep/er/rhythm.db")
    }

    fn open(&self) -> SqliteWorld {
        SqliteWorld::open(self.file(), SqliteOptions::default()).unwrap()
    }

    fn refusal(&self, options: SqliteOptions) -> WorldError {
        SqliteWorld::open(self.file(), options).err().expect("it is refused")
    }

    fn sqlite(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

fn tenant() -> TenantId {
    TenantId::default()
}

fn new_run(id: &str) -> NewRun {
    NewRun {
        id: id.into(),
        workflow: "order".into(),
        version: Version::of(b"order"),
        kind: WorkflowKind::Drill,
        input: Payload::parse("{\"n\": 1}".into()).unwrap(),
        priority: 0,
        delay: Millis::ZERO,
        deadline: None,
        labels: BTreeMap::from([("city".to_owned(), "Berlin".to_owned())]),
        parent: None,
        actor: Actor("user:ann".into()),
        trace: None,
    }
}

async fn create(world: &SqliteWorld, ids: &[&str]) -> WorldResult<Vec<Creation>> {
    let runs = ids.iter().map(|id| new_run(id)).collect();
    world.create_runs(CreateRuns { tenant: tenant(), runs }).await
}

async fn claim(world: &SqliteWorld) -> Vec<ClaimedRun> {
    let request = ClaimRuns {
        tenant: tenant(),
        worker: "w1".into(),
        kinds: vec![WorkflowKind::Drill],
        workflows: Vec::new(),
        limit: 100,
        of: None,
        hold: Millis::from_secs(30),
        ask: Default::default(),
    };
    world.claim_runs(request).await.unwrap().runs
}

fn sized_run(id: usize, bytes: usize) -> NewRun {
    let input = Payload::parse(format!("\"{}\"", "x".repeat(bytes))).unwrap();
    NewRun { input, ..new_run(&format!("r{id}")) }
}

#[tokio::test]
async fn opening_creates_the_folder_and_the_file() {
    let place = Place::new();
    let world = place.open();
    assert_eq!(create(&world, &["r1"]).await.unwrap(), [Creation::Created]);
    assert!(place.file().exists());
    let health = world.health().await.unwrap();
    assert_eq!((health.live_runs, health.schema, health.findings.len()), (1, health.schema_known, 0));
}

#[tokio::test]
async fn a_database_in_memory_is_a_world_of_its_own() {
    let open = || SqliteWorld::open(":memory:", SqliteOptions::default()).unwrap();
    let (one, two) = (open(), open());
    create(&one, &["r1"]).await.unwrap();
    assert_eq!(claim(&one).await.len(), 1);
    assert!(two.picture(&tenant(), &"r1".into()).await.unwrap().is_none());
    let picture = one.picture(&tenant(), &"r1".into()).await.unwrap().unwrap();
    assert_eq!(picture.summary.labels["city"], "Berlin");
}

#[tokio::test]
async fn handles_that_open_a_new_file_at_once_all_succeed() {
    let place = Place::new();
    let file = place.file();
    let openings: Vec<_> = (0..8)
        .map(|_| {
            let file = file.clone();
            std::thread::spawn(move || SqliteWorld::open(file, SqliteOptions::default()).map(drop))
        })
        .collect();
    for opening in openings {
        opening.join().unwrap().unwrap();
    }
    assert_eq!(schema_status(&file).unwrap().pending, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_handles_write_at_once_and_nothing_is_lost() {
    let place = Place::new();
    let handles: Vec<Arc<SqliteWorld>> = (0..3).map(|_| Arc::new(place.open())).collect();
    let mut writing = Vec::new();
    for (number, world) in handles.iter().enumerate() {
        for run in 0..40 {
            let world = world.clone();
            writing.push(tokio::spawn(async move {
                let id = format!("h{number}-{run}");
                create(&world, &[&id]).await.unwrap();
            }));
        }
    }
    for write in writing {
        write.await.unwrap();
    }
    assert_eq!(handles[0].health().await.unwrap().live_runs, 120);
    let claimed: BTreeSet<RunId> = claim(&handles[1]).await.into_iter().map(|run| run.run.id).collect();
    let rest: BTreeSet<RunId> = claim(&handles[2]).await.into_iter().map(|run| run.run.id).collect();
    assert_eq!((claimed.len(), rest.len(), claimed.is_disjoint(&rest)), (100, 20, true));
}

/// Handles queue for the writer's turn. Another program that writes the file does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_who_writes_the_file_is_waited_for() {
    let place = Place::new();
    let world = place.open();
    let stranger = place.sqlite();
    stranger.busy_timeout(Duration::from_secs(60)).unwrap();
    stranger.execute_batch("CREATE TABLE stranger (number INTEGER)").unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let told = done.clone();
    let writing = std::thread::spawn(move || {
        let mut written = 0_u64;
        while !told.load(Ordering::Relaxed) {
            stranger.execute_batch("BEGIN IMMEDIATE; INSERT INTO stranger VALUES (1); COMMIT").unwrap();
            written += 1;
            // Without this pause it would starve other writers.
            std::thread::sleep(Duration::from_millis(1));
        }
        written
    });
    for run in 0..200 {
        create(&world, &[&format!("r{run}")]).await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    assert!(writing.join().unwrap() > 0);
    assert_eq!(world.health().await.unwrap().live_runs, 200);
}

/// An old snapshot prevents checkpoints, so the log grows. It must shrink again.
#[tokio::test]
async fn a_log_that_grew_beside_an_old_snapshot_shrinks_again() {
    const KEPT: u64 = 64 << 20;
    let place = Place::new();
    let world = place.open();
    create(&world, &["first"]).await.unwrap();
    let log = || std::fs::metadata(place.file().with_extension("db-wal")).unwrap().len();
    let old = place.sqlite();
    old.execute_batch("BEGIN; SELECT count(*) FROM live_run").unwrap();
    for call in 0..24 {
        let runs = (call * 100..(call + 1) * 100).map(|id| sized_run(id, 32_000)).collect();
        world.create_runs(CreateRuns { tenant: tenant(), runs }).await.unwrap();
    }
    assert!(log() > KEPT, "{} bytes", log());
    old.execute_batch("COMMIT").unwrap();
    create(&world, &["moves the log"]).await.unwrap();
    create(&world, &["begins it again"]).await.unwrap();
    assert!(log() <= KEPT, "{} bytes", log());
}

#[tokio::test]
async fn a_request_that_fails_spoils_no_other_of_its_batch() {
    let place = Place::new();
    let world = place.open();
    let annotate = |run: &str| {
        world.control(ControlRequest {
            tenant: tenant(),
            actor: Actor::system(),
            control: Control::PauseRun { run: run.into(), reason: String::new() },
        })
    };
    create(&world, &["r1"]).await.unwrap();
    let (good, missing, better) = tokio::join!(create(&world, &["r2"]), annotate("nobody"), annotate("r1"));
    assert_eq!(good.unwrap(), [Creation::Created]);
    assert!(matches!(missing, Err(WorldError::NotFound(_))));
    assert_eq!(better.unwrap(), Controlled::Done);
}

#[tokio::test]
async fn a_write_that_fails_half_way_is_undone_alone() {
    let place = Place::new();
    let world = place.open();
    create(&world, &["r1", "r2"]).await.unwrap();
    let claimed = claim(&world).await;
    // An existing history row makes a commit fail in the middle. No engine would write it.
    place
        .sqlite()
        .execute("INSERT INTO event VALUES (1, 1, 'log', 0, NULL, NULL, 'x', NULL, '{}')", [])
        .unwrap();
    let commit = |run: &ClaimedRun| {
        let started = Event {
            seq: 1,
            at: Timestamp(1),
            cause: None,
            message: None,
            actor: Actor::system(),
            trace: None,
            data: EventData::of_message(&run.messages[0].body),
        };
        let (fence, state) = (Fence::Claim(run.claim), RunState { seq: 1, ..RunState::default() });
        let item = CommitItem {
            events: vec![started],
            children: vec![new_run(&format!("{}.1", run.run.id))],
            ..CommitItem::new(run.run.id.clone(), "c".into(), fence, state)
        };
        let hold = Millis::from_secs(30);
        world.commit(Arc::new(Commit {
            tenant: tenant(),
            worker: "w1".into(),
            hold,
            items: vec![item],
            released: Vec::new(),
        }))
    };
    let (bad, good, other) = tokio::join!(commit(&claimed[0]), commit(&claimed[1]), create(&world, &["r3"]));
    assert!(matches!(bad, Err(WorldError::Corrupt(_))), "{bad:?}");
    assert!(matches!(good.unwrap().outcomes[..], [CommitOutcome::Done(_)]));
    assert_eq!(other.unwrap(), [Creation::Created]);
    let revision = async |run: &str| {
        world.picture(&tenant(), &run.into()).await.unwrap().map(|picture| picture.row.revision)
    };
    assert_eq!((revision("r1").await, revision("r2").await), (Some(0), Some(1)));
    assert_eq!((revision("r1.1").await, revision("r2.1").await), (None, Some(0)));
}

#[tokio::test]
async fn a_database_held_by_somebody_else_is_locked_and_recovers() {
    let place = Place::new();
    drop(place.open());
    let options = SqliteOptions { busy_timeout: Duration::from_millis(30), ..SqliteOptions::default() };
    let world = SqliteWorld::open(place.file(), options).unwrap();
    let other = place.sqlite();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(create(&world, &["r1"]).await, Err(WorldError::Locked(_))));
    assert!(world.picture(&tenant(), &"r1".into()).await.unwrap().is_none(), "reads go on");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(create(&world, &["r1"]).await.unwrap(), [Creation::Created]);
}

#[tokio::test]
async fn a_full_database_says_so_and_goes_on_when_there_is_room() {
    let place = Place::new();
    let options = SqliteOptions { max_bytes: Some(1_000_000), ..SqliteOptions::default() };
    let world = SqliteWorld::open(place.file(), options).unwrap();
    let create =
        |id, bytes| world.create_runs(CreateRuns { tenant: tenant(), runs: vec![sized_run(id, bytes)] });
    let (small, large) = tokio::join!(create(0, 10), create(1, 2_000_000));
    assert_eq!(small.unwrap(), [Creation::Created], "the other one of its batch");
    assert!(matches!(large, Err(WorldError::Full(_))), "{large:?}");
    assert_eq!(create(2, 10).await.unwrap(), [Creation::Created]);
    assert_eq!(world.health().await.unwrap().live_runs, 2);
}

#[test]
fn what_is_no_database_is_refused_as_damaged() {
    let place = Place::new();
    std::fs::create_dir_all(place.file().parent().unwrap()).unwrap();
    std::fs::write(place.file(), "this is a letter, and quite a long one ".repeat(100)).unwrap();
    assert!(matches!(place.refusal(SqliteOptions::default()), WorldError::Corrupt(_)));
}

#[test]
fn a_newer_or_changed_schema_is_refused() {
    let place = Place::new();
    drop(place.open());
    let known = schema_status(&place.file()).unwrap().known;
    place.sqlite().execute("INSERT INTO schema_migrations VALUES (99, 'later', 'x', '')", []).unwrap();
    let newer = WorldError::NewerSchema { found: 99, known };
    assert_eq!(place.refusal(SqliteOptions::default()), newer);
    assert_eq!(schema_status(&place.file()).unwrap_err(), newer);
    place.sqlite().execute("DELETE FROM schema_migrations WHERE version = 99", []).unwrap();
    place.sqlite().execute("UPDATE schema_migrations SET checksum = 'x' WHERE version = 1", []).unwrap();
    assert_eq!(place.refusal(SqliteOptions::default()), WorldError::Drift { version: 1 });
}

#[test]
fn an_old_schema_is_brought_up_to_date_only_when_that_is_wished() {
    let place = Place::new();
    let by_hand = || SqliteOptions { auto_migrate: false, ..SqliteOptions::default() };
    let needed = schema_status(&place.file()).unwrap().known;
    assert_eq!(place.refusal(by_hand()), WorldError::OldSchema { found: 0, needed });
    assert!(!place.file().exists(), "asking leaves nothing behind");
    assert_eq!(migrate(&place.file()).unwrap().pending, []);
    drop(SqliteWorld::open(place.file(), by_hand()).unwrap());
}

#[tokio::test]
async fn time_does_not_go_back_behind_what_was_stored() {
    let place = Place::new();
    let at = |millis| {
        let clock = ManualClock::at(Timestamp(millis));
        let options = SqliteOptions { clock: Some(clock), ..SqliteOptions::default() };
        SqliteWorld::open(place.file(), options).unwrap()
    };
    let first = at(5_000);
    create(&first, &["r1"]).await.unwrap();
    let behind = at(2_000);
    assert_eq!(behind.now().await.unwrap(), Timestamp(5_000));
    drop((first, behind));
    assert_eq!(at(9_000).now().await.unwrap(), Timestamp(9_000));
    // Even a time that was only read stays a lower bound.
    assert_eq!(at(3_000).now().await.unwrap(), Timestamp(9_000));
}

#[tokio::test]
async fn a_newcomer_judges_by_what_it_heard() {
    let place = Place::new();
    newcomer::judges_by_what_it_heard(&place.open(), async || place.open()).await;
}

#[tokio::test]
async fn idle_claims_and_heartbeats_of_others_wake_nobody_up() {
    let place = Place::new();
    let (mine, theirs) = (place.open(), place.open());
    let mut wakeups = mine.wakeups();
    claim(&theirs).await;
    let card = WorkerRegistration {
        id: "w2".into(),
        host: "here".into(),
        pid: 1,
        version: "1".into(),
        queues: vec!["default".into()],
        tasks: Vec::new(),
        kinds: Vec::new(),
        workflows: Vec::new(),
        concurrency: 1,
        silence: Millis::from_secs(3_600),
    };
    let beat = Extend {
        tenant: tenant(),
        card,
        running: 0,
        hold: Millis::from_secs(30),
        tasks: Vec::new(),
        leaving: false,
    };
    theirs.extend(beat).await.unwrap();
    create(&theirs, &["r1"]).await.unwrap();
    wakeups.runs.changed().await.unwrap();
    assert!(!wakeups.tasks.has_changed().unwrap() && !wakeups.cancels.has_changed().unwrap());
}

#[tokio::test]
async fn people_find_views_with_readable_times() {
    let place = Place::new();
    let clock = ManualClock::at(Timestamp(1_794_774_600_123));
    let options = SqliteOptions { clock: Some(clock), ..SqliteOptions::default() };
    let world = SqliteWorld::open(place.file(), options).unwrap();
    create(&world, &["r1"]).await.unwrap();
    let body = MessageBody::Signal(SignalReceived { name: "go".into(), payload: Payload::null() });
    let message = Message { id: "s1".into(), at: Timestamp(0), actor: Actor::system(), trace: None, body };
    let deliveries = vec![Delivery { to: "r1".into(), message }];
    world.deliver(Deliver { tenant: tenant(), deliveries }).await.unwrap();
    let note = |event| ControlRequest {
        tenant: tenant(),
        actor: Actor("user:ann".into()),
        control: Control::Annotate { run: "r1".into(), event },
    };
    let asked = ApprovalCreated {
        approval: CommandId(3),
        node: "boss".into(),
        approvers: vec!["ann".into()],
        ..ApprovalCreated::default()
    };
    let answer = ApprovalDecided {
        approval: CommandId(3),
        decision: "approved".into(),
        by: "ann".into(),
        comments: String::new(),
        data: Payload::null(),
    };
    let late = |decision: &str| ApprovalDecided {
        approval: CommandId(4),
        decision: decision.into(),
        ..answer.clone()
    };
    let again = |number| ApprovalCreated { approval: CommandId(number), visit: Some(2), ..asked.clone() };
    for row in [
        EventData::ApprovalCreated(asked.clone()),
        EventData::ApprovalDecided(answer.clone()),
        EventData::ApprovalCreated(again(4)),
        EventData::ApprovalDecided(late("timeout")),
        EventData::ApprovalDecided(late("approve")),
        EventData::ApprovalCreated(again(5)),
    ] {
        world.control(note(row)).await.unwrap();
    }

    let sqlite = place.sqlite();
    let row = |query: &str| -> Vec<Option<String>> {
        let mut statement = sqlite.prepare(query).unwrap();
        let columns = statement.column_count();
        let read = |row: &rusqlite::Row<'_>| {
            (0..columns)
                .map(|at| {
                    Ok(match row.get_ref(at)? {
                        rusqlite::types::ValueRef::Null => None,
                        rusqlite::types::ValueRef::Integer(number) => Some(number.to_string()),
                        other => Some(other.as_str()?.to_owned()),
                    })
                })
                .collect()
        };
        statement.query_row([], read).unwrap()
    };
    let text = |values: &[&str]| values.iter().map(|value| Some((*value).to_owned())).collect::<Vec<_>>();
    assert_eq!(
        row("SELECT run_id, status, tags, created_at FROM runs"),
        text(&["r1", "pending", "{\"city\":\"Berlin\"}", "2026-11-15T20:30:00.123Z"])
    );
    assert_eq!(
        row("SELECT run_id, sequence_num, event_type, actor, timestamp FROM event_log ORDER BY sequence_num"),
        text(&["r1", "1", "approval.created", "user:ann", "2026-11-15T20:30:00.123Z"])
    );
    assert_eq!(row("SELECT run_id, op_key FROM applied_keys"), text(&["r1", "s1"]));
    assert_eq!(
        row("SELECT approval, node_id, status, decision, decided_by, via FROM approvals ORDER BY approval"),
        text(&["3", "boss", "decided", "approved", "ann", "user:ann"])
    );
    assert_eq!(
        row(
            "SELECT group_concat(approval || ' ' || visit || ' ' || status ORDER BY approval) FROM approvals"
        ),
        text(&["3 1 decided,4 2 timeout,5 2 pending"])
    );
    assert_eq!(
        row("SELECT execution_id, status, awaiting FROM workflow_execution_context"),
        text(&["r1", "pending", "[]"])
    );
    for view in ["events", "executions", "workflow_definitions", "worker_heartbeats", "dlq"] {
        sqlite.prepare(&format!("SELECT * FROM {view}")).unwrap().query([]).unwrap().next().unwrap();
    }
}

/// Runs in a process of its own, started and killed by the test below.
#[tokio::test]
#[ignore = "started by a_killed_process_gives_its_claims_back"]
async fn hold_a_claim_until_killed() {
    let world =
        SqliteWorld::open(std::env::var("RHYTHM_TEST_FILE").unwrap(), SqliteOptions::default()).unwrap();
    let card = WorkerRegistration {
        id: "w1".into(),
        host: "here".into(),
        pid: std::process::id(),
        version: "1".into(),
        queues: Vec::new(),
        tasks: Vec::new(),
        kinds: vec![WorkflowKind::Drill],
        workflows: Vec::new(),
        concurrency: 1,
        silence: Millis::from_secs(3_600),
    };
    let hold = Millis::from_secs(3_600);
    let beat = Extend { tenant: tenant(), card, running: 1, hold, tasks: Vec::new(), leaving: false };
    world.extend(beat).await.unwrap();
    assert_eq!(claim(&world).await.len(), 1);
    std::fs::write(std::env::var("RHYTHM_TEST_READY").unwrap(), "").unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_killed_process_gives_its_claims_back() {
    let place = Place::new();
    let world = place.open();
    create(&world, &["r1"]).await.unwrap();
    let ready = place.folder.path().join("ready");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "hold_a_claim_until_killed"])
        .env("RHYTHM_TEST_FILE", place.file())
        .env("RHYTHM_TEST_READY", &ready)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for(&ready, &mut child);
    let sweep = || world.upkeep(Upkeep::sweep(100));
    sweep().await.unwrap();
    assert!(claim(&world).await.is_empty(), "its owner lives");
    child.kill().unwrap();
    child.wait().unwrap();
    sweep().await.unwrap();
    drop(world);
    // More than a second later by the world's clock.
    let later = ManualClock::at(Timestamp(i64::try_from(unix_millis()).unwrap() + 2_000));
    let options = SqliteOptions { clock: Some(later), ..SqliteOptions::default() };
    let world = SqliteWorld::open(place.file(), options).unwrap();
    world.upkeep(Upkeep::sweep(100)).await.unwrap();
    assert_eq!(claim(&world).await.len(), 1);
    let marks = place.file().with_extension("db.workers");
    let names = std::fs::read_dir(marks).unwrap().map(|entry| entry.unwrap().file_name());
    let handles = names.filter(|name| !name.to_string_lossy().starts_with('.')).count();
    assert_eq!(handles, 1, "the dead one's file is gone");
}

fn wait_for(file: &Path, child: &mut std::process::Child) {
    while !file.exists() {
        assert!(child.try_wait().unwrap().is_none(), "the other process ended early");
        std::thread::yield_now();
    }
}

fn unix_millis() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
}

/// The database refuses a second history row with the same number.
#[tokio::test]
async fn the_file_refuses_a_second_row_of_the_same_number() {
    let place = Place::new();
    let world = place.open();
    create(&world, &["r"]).await.unwrap();
    let note = |reason: &str| ControlRequest {
        tenant: tenant(),
        actor: Actor("user:ann".into()),
        control: Control::PauseRun { run: "r".into(), reason: reason.into() },
    };
    world.control(note("once")).await.unwrap();
    let doubled = place.sqlite().execute("INSERT INTO event SELECT * FROM event", []);
    assert!(doubled.unwrap_err().to_string().contains("UNIQUE"));
}
