//! Behaviour of PostgreSQL alone: opening, reconnecting, partitions, and the views for people.

mod newcomer;
mod postgres_stage;

use std::sync::Arc;
use std::time::Duration;

use rhythm_conformance::Stage;
use rhythm_conformance::play::*;
use rhythm_core::event::{ApprovalCreated, EventData};
use rhythm_core::message::ApprovalDecided;
use rhythm_core::{CommandId, Payload, TenantId};
use rhythm_engine::world::*;
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld, migrate, schema_status};

use postgres_stage::{Database, PostgresStage, cluster};

async fn refusal(url: &str, options: PostgresOptions) -> WorldError {
    PostgresWorld::connect(url, options).await.err().expect("it is refused")
}

#[tokio::test]
async fn a_wrong_password_is_denied() {
    let (_, rest) = cluster().rsplit_once('@').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let error = refusal(&format!("postgres://rhythm:wrong@{rest}"), PostgresOptions::default()).await;
    assert!(matches!(error, WorldError::Denied(_)), "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let error = refusal("postgres://rhythm:pw@127.0.0.1:1/postgres", PostgresOptions::default()).await;
    assert!(matches!(error, WorldError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn a_database_nobody_migrated_is_refused_unless_asked_to() {
    let database = Database::create().await;
    let careful = PostgresOptions { auto_migrate: false, ..PostgresOptions::default() };
    let error = refusal(&database.url, careful.clone()).await;
    let status = schema_status(&database.url).await.unwrap();
    assert_eq!(error, WorldError::OldSchema { found: 0, needed: status.known });
    assert!(status.version == 0 && !status.pending.is_empty());
    let (once, twice) = tokio::join!(migrate(&database.url), migrate(&database.url));
    assert_eq!(once.unwrap().len() + twice.unwrap().len(), status.pending.len(), "each step is applied once");
    assert_eq!(schema_status(&database.url).await.unwrap().version, status.known);
    PostgresWorld::connect(&database.url, careful).await.unwrap();
}

/// `commit_end.sql` names the columns of a run. A column that is added later must not be missing there.
#[tokio::test]
async fn no_column_of_a_run_is_left_behind_by_its_last_commit() {
    let statement = include_str!("../src/postgres/sql/commit_end.sql");
    let (_, rest) = statement.split_once("INSERT INTO ended_run (").expect("it keeps the run");
    let (named, _) = rest.split_once(')').expect("it names the columns");
    let mut named: Vec<&str> = named.split(',').map(str::trim).collect();
    let database = Database::create().await;
    migrate(&database.url).await.unwrap();
    let query = "SELECT column_name::text FROM information_schema.columns \
        WHERE table_schema = 'rhythm' AND table_name = 'ended_run' ORDER BY 1";
    let rows = database.client().await.query(query, &[]).await.unwrap();
    let columns: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    // A run that has ended has no claim.
    named.push("claimed_by");
    // A run is dismissed after it has ended.
    named.extend(["dismissed_at", "dismissed_by"]);
    named.sort_unstable();
    assert_eq!(named, columns);
}

#[tokio::test]
async fn a_newer_database_and_a_changed_step_are_refused() {
    let database = Database::create().await;
    migrate(&database.url).await.unwrap();
    let known = schema_status(&database.url).await.unwrap().known;
    let client = database.client().await;
    let newer = "INSERT INTO rhythm.schema_migrations VALUES (99, '0099_future', 'x')";
    client.batch_execute(newer).await.unwrap();
    let error = refusal(&database.url, PostgresOptions::default()).await;
    assert_eq!(error, WorldError::NewerSchema { found: 99, known });
    let changed = "DELETE FROM rhythm.schema_migrations WHERE version = 99; \
        UPDATE rhythm.schema_migrations SET checksum = 'x' WHERE version = 2";
    client.batch_execute(changed).await.unwrap();
    let error = refusal(&database.url, PostgresOptions::default()).await;
    assert_eq!(error, WorldError::Drift { version: 2 });
}

#[tokio::test]
async fn a_newcomer_judges_by_what_it_heard() {
    let database = Database::create().await;
    let open =
        async || PostgresWorld::connect(&database.url, PostgresOptions::default()).await.expect("it opens");
    newcomer::judges_by_what_it_heard(&open().await, open).await;
}

/// A heartbeat may still be under way when its process dies and a worker of the same name starts.
#[tokio::test]
async fn the_last_heartbeat_of_the_dead_does_not_stand_for_a_successor() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    let client = stage.database.client().await;
    let keys = || async { client.query("SELECT lock_key FROM rhythm.worker", &[]).await.unwrap() };
    let before: i64 = keys().await[0].get(0);
    client.batch_execute("SET search_path TO rhythm").await.unwrap();
    let (nobody, none, numbers) = (before + 1, Vec::<String>::new(), Vec::<i64>::new());
    let (worker, tenant, card) = (play.worker.as_str(), play.tenant.as_str(), "{}");
    client
        .query(
            include_str!("../src/postgres/sql/extend.sql"),
            &[
                &None::<i64>,
                &tenant,
                &worker,
                &card,
                &none,
                &none,
                &none,
                &1i32,
                &nobody,
                &false,
                &1_000i64,
                &none,
                &none,
                &numbers,
                &none,
                &1_000i64,
            ],
        )
        .await
        .unwrap();
    assert_eq!(keys().await[0].get::<_, i64>(0), before);
}

/// Ends every connection of the world, and waits until they are gone.
async fn cut(stage: &PostgresStage) {
    let client = stage.database.client().await;
    let cut = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
        WHERE application_name = 'rhythm' AND datname = current_database()";
    client.query(cut, &[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_world_comes_back_after_its_connections_were_cut() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    play.beat(vec![]).await;
    let run = play.waiting("r", |draft| draft.own_task(1)).await;
    for round in 0..3 {
        cut(&stage).await;
        // The first call may find its connection gone; a few retries must be enough.
        let mut tries = 0;
        while let Err(error) = play.world.claim_tasks(play.take_request(1)).await {
            assert!(matches!(error, WorldError::Unavailable(_)), "{error:?}");
            tries += 1;
            assert!(tries < 10, "round {round}: {error}");
        }
        while play.world.health().await.is_err() {}
        assert!(play.find(&run).await.is_some());
    }
    // The advisory lock is held again, so the worker counts as alive.
    wait_for_lock(&stage).await;
    play.pass(secs(1)).await;
    play.pass(secs(2)).await;
    assert_eq!(play.world.workers(&TenantId::default()).await.unwrap().len(), 1);
}

async fn wait_for_lock(stage: &PostgresStage) {
    let client = stage.database.client().await;
    let held = "SELECT EXISTS (SELECT FROM pg_locks AS l JOIN rhythm.worker AS w \
        ON (l.classid::bigint << 32) | l.objid::bigint = w.lock_key WHERE l.locktype = 'advisory' AND l.granted)";
    for _ in 0..500 {
        if client.query_one(held, &[]).await.unwrap().get(0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the advisory lock was not taken again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_was_lost_is_written_once() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    let run = play.start("r").await;
    let draft = Draft::of(&play.claim().await).own_task(1);
    let first = play.done(&draft).await;
    cut(&stage).await;
    let request = || Commit {
        tenant: TenantId::default(),
        worker: play.take_request(1).worker,
        hold: secs(30),
        items: vec![draft.item.clone()],
        released: vec![],
    };
    let again = loop {
        match play.world.commit(Arc::new(request())).await {
            Ok(committed) => break committed,
            Err(error) => assert!(matches!(error, WorldError::Unavailable(_)), "{error:?}"),
        }
    };
    assert_eq!(again.outcomes, [CommitOutcome::Done(first)]);
    assert_eq!(play.picture(&run).await.row.revision, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_transaction_is_left_open() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    let run = play.waiting("r", |draft| draft.task(1)).await;
    play.deliver(&run, signal("s1", "x")).await;
    let task = play.take().await;
    play.complete(&task).await;
    play.upkeep(Upkeep::Retain { keep: days(1), keep_failed: days(1), limit: 10 }).await;
    let gone = play.control(Control::RemoveSchedule { name: "none".into() }).await;
    assert!(matches!(gone, Err(WorldError::NotFound(_))));
    play.sweep().await;
    let client = stage.database.client().await;
    let open = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = 'rhythm' AND state <> 'idle'";
    assert_eq!(client.query_one(open, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_month_is_dropped_whole_once_nothing_live_was_born_in_it() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    play.upkeep(Upkeep::Prepare).await;
    let live = play.waiting("live", |draft| draft.awaiting(&["go"])).await;
    let failed = play.waiting("failed", |draft| draft.failed()).await;
    play.deliver(&failed, signal("s1", "x")).await;
    let client = stage.database.client().await;
    let there = "SELECT to_regclass('rhythm.event_2026_11') IS NOT NULL";
    let rows = "SELECT count(*) FROM rhythm.event_2026_11";
    assert!(client.query_one(rows, &[]).await.unwrap().get::<_, i64>(0) > 0, "history lies in its month");

    stage.clock().advance(days(60));
    play.upkeep(Upkeep::Retain { keep: days(7), keep_failed: days(7), limit: 0 }).await;
    assert!(client.query_one(there, &[]).await.unwrap().get::<_, bool>(0), "a live run was born in it");

    play.deliver(&live, signal("s2", "go")).await;
    play.done(&Draft::of(&play.claim().await).completed()).await;
    stage.clock().advance(days(8));
    play.upkeep(Upkeep::Retain { keep: days(7), keep_failed: days(7), limit: 0 }).await;
    assert!(!client.query_one(there, &[]).await.unwrap().get::<_, bool>(0));
    assert_eq!((play.find(&live).await, play.find(&failed).await), (None, None));
    let left = "SELECT (SELECT count(*) FROM rhythm.inbox) + (SELECT count(*) FROM rhythm.delivered)";
    assert_eq!(client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_are_made_ahead_once() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    stage.clock().advance(days(100));
    assert_eq!(play.upkeep(Upkeep::Prepare).await.changed, 12, "four tables, three months");
    assert_eq!(play.upkeep(Upkeep::Prepare).await.changed, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_can_read_the_views() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    play.beat(vec![]).await;
    play.world
        .register(Register { tenant: TenantId::default(), definitions: vec![definition("w", "source")] })
        .await
        .unwrap();
    // jsonb cannot hold this value.
    let odd = NewRun { input: json(r#"{"nul":"a\u0000b"}"#), ..new_run("odd") };
    let run = play.start_as(odd).await;
    play.done(&Draft::of(&play.claim().await).task(1).awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "x")).await;
    let task = play.take().await;
    play.finish(&task, TaskOutcome::Exhausted { failure: failure("BROKEN"), hold: true }).await;
    for event in questions() {
        play.order(Control::Annotate { run: run.clone(), event }).await;
    }
    let client = stage.database.client().await;
    for (view, rows) in [
        ("runs", 1),
        ("events", 1),
        ("event_log", 1),
        ("executions", 2),
        ("attempts", 0),
        ("node_executions", 0),
        ("run_counters", 0),
        ("run_counter_snapshots", 0),
        ("node_type_registry", 0),
        ("workflow_definitions", 1),
        ("workflow_execution_context", 1),
        ("worker_heartbeats", 1),
        ("applied_keys", 1),
        ("approvals", 3),
        ("dlq", 1),
    ] {
        let found = client.query(&format!("SELECT * FROM rhythm.{view}"), &[]).await.unwrap();
        assert!(found.len() >= rows, "{view}: {} rows", found.len());
    }
    let shown = "SELECT r.status, r.blocked_code, c.awaiting::text, extract(year FROM r.created_at)::int \
        FROM rhythm.runs AS r JOIN rhythm.workflow_execution_context AS c \
        ON c.tenant = r.tenant AND c.execution_id = r.run_id";
    let row = client.query_one(shown, &[]).await.unwrap();
    let shown: (&str, &str, &str, i32) = (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!(shown, ("waiting", "dead_letter", "[\"go\"]", 2026));
    let asked = "SELECT string_agg(format('%s %s %s', approval, visit, status), ',' ORDER BY approval) \
        FROM rhythm.approvals";
    let shown: String = client.query_one(asked, &[]).await.unwrap().get(0);
    assert_eq!(shown, "3 1 decided,4 2 timeout,5 2 pending");
}

/// Events of an approval that was decided, one that was answered too late, and one that is open.
fn questions() -> Vec<EventData> {
    let asked = |number, visit| {
        let (approval, node) = (CommandId(number), "boss".to_owned());
        EventData::ApprovalCreated(ApprovalCreated { approval, node, visit, ..ApprovalCreated::default() })
    };
    let decided = |number, decision: &str| {
        let (approval, decision, by) = (CommandId(number), decision.to_owned(), "ann".to_owned());
        let (comments, data) = (String::new(), Payload::null());
        EventData::ApprovalDecided(ApprovalDecided { approval, decision, by, comments, data })
    };
    vec![
        asked(3, None),
        decided(3, "approve"),
        asked(4, Some(2)),
        decided(4, "timeout"),
        decided(4, "approve"),
        asked(5, Some(2)),
    ]
}

/// A claim skips rows that another transaction has locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_does_not_wait_for_a_locked_task() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    play.enqueue(vec![new_task("held"), new_task("free")]).await;
    let mut client = stage.database.client().await;
    let transaction = client.transaction().await.unwrap();
    transaction.query("SELECT FROM rhythm.task WHERE id = 'held' FOR UPDATE", &[]).await.unwrap();
    let claimed = tokio::time::timeout(Duration::from_secs(20), play.take()).await;
    assert_eq!(claimed.expect("the claim waited for the lock").id.as_str(), "free");
    transaction.rollback().await.unwrap();
}

/// Records whether the transaction that wrote a row waits for the disk.
const WATCH_SYNCS: &str = "
    CREATE TABLE public.seen (what text, waits text);
    CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.seen VALUES (TG_ARGV[0], current_setting('synchronous_commit'));
        RETURN NULL;
    END $$;
    CREATE TRIGGER told AFTER INSERT ON rhythm.event FOR EACH ROW EXECUTE FUNCTION public.note('transition');
    CREATE TRIGGER taken AFTER UPDATE ON rhythm.task
        FOR EACH ROW WHEN (NEW.state = 2) EXECUTE FUNCTION public.note('task claimed');
    CREATE TRIGGER gone AFTER DELETE ON rhythm.task FOR EACH ROW EXECUTE FUNCTION public.note('task finished');
    CREATE TRIGGER claimed AFTER UPDATE ON rhythm.run_queue
        FOR EACH ROW WHEN (NEW.worker IS NOT NULL) EXECUTE FUNCTION public.note('run claimed')";

#[tokio::test]
async fn what_is_acknowledged_waits_for_the_disk_whatever_came_before_it_on_its_session() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    let client = stage.database.client().await;
    client.batch_execute(WATCH_SYNCS).await.unwrap();
    for id in ["a", "b", "c"] {
        play.waiting(id, |draft| draft.task(1)).await;
        play.sweep().await;
        let task = play.take().await;
        play.complete(&task).await;
        play.done(&Draft::of(&play.claim().await).completed()).await;
    }
    let seen =
        client.query("SELECT DISTINCT what, waits FROM public.seen ORDER BY what, waits", &[]).await.unwrap();
    let seen: Vec<(String, String)> = seen.iter().map(|row| (row.get(0), row.get(1))).collect();
    let expected =
        [("run claimed", "off"), ("task claimed", "on"), ("task finished", "on"), ("transition", "on")];
    assert_eq!(seen, expected.map(|(what, waits)| (what.to_owned(), waits.to_owned())));
}
