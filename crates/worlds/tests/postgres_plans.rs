//! Plans are made once and kept, often while the tables are still empty. They must find rows by their keys
//! even then: a scan that is free on one page costs milliseconds per row on a thousand pages.

mod postgres_stage;

use rhythm_conformance::play::Play;

use postgres_stage::PostgresStage;

const HOT: &[(&str, &str)] = &[
    ("insert_runs", include_str!("../src/postgres/sql/insert_runs.sql")),
    ("insert_tasks", include_str!("../src/postgres/sql/insert_tasks.sql")),
    ("insert_timers", include_str!("../src/postgres/sql/insert_timers.sql")),
    ("refuse_ended_runs", include_str!("../src/postgres/sql/refuse_ended_runs.sql")),
    ("refuse_ended_tasks", include_str!("../src/postgres/sql/refuse_ended_tasks.sql")),
    ("known_runs", include_str!("../src/postgres/sql/known_runs.sql")),
    ("lock_runs", include_str!("../src/postgres/sql/lock_runs.sql")),
    ("lock_runs_of_tasks", include_str!("../src/postgres/sql/lock_runs_of_tasks.sql")),
    ("put_messages", include_str!("../src/postgres/sql/put_messages.sql")),
    ("put_dormant", include_str!("../src/postgres/sql/put_dormant.sql")),
    ("claim_runs", include_str!("../src/postgres/sql/claim_runs.sql")),
    ("find_due", include_str!("../src/postgres/sql/find_due.sql")),
    ("claim_tasks", include_str!("../src/postgres/sql/claim_tasks.sql")),
    ("read_inbox", include_str!("../src/postgres/sql/read_inbox.sql")),
    ("read_runs", include_str!("../src/postgres/sql/read_runs.sql")),
    ("commit", include_str!("../src/postgres/sql/commit.sql")),
    ("commit_consume", include_str!("../src/postgres/sql/commit_consume.sql")),
    ("commit_end", include_str!("../src/postgres/sql/commit_end.sql")),
    ("commit_settle", include_str!("../src/postgres/sql/commit_settle.sql")),
    ("cancel_timers", include_str!("../src/postgres/sql/cancel_timers.sql")),
    ("release_runs", include_str!("../src/postgres/sql/release_runs.sql")),
    ("end_runs", include_str!("../src/postgres/sql/end_runs.sql")),
    ("end_clear", include_str!("../src/postgres/sql/end_clear.sql")),
    ("end_dormant", include_str!("../src/postgres/sql/end_dormant.sql")),
    ("finish_remove", include_str!("../src/postgres/sql/finish_remove.sql")),
    ("finish_retry", include_str!("../src/postgres/sql/finish_retry.sql")),
    ("finish_release", include_str!("../src/postgres/sql/finish_release.sql")),
    ("extend", include_str!("../src/postgres/sql/extend.sql")),
];

/// Settings of hot sessions.
const SESSION: &str = "SET search_path = rhythm; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off";

const TABLES: &[&str] = &["live_run", "ended_run", "run_queue", "inbox", "timer", "task", "ended_task"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hot_statements_look_rows_up_by_key_whatever_the_statistics_say() {
    let stage = PostgresStage::open().await;
    let play = Play::on(&stage).await;
    let mut wrong = scans(&stage, "empty").await;
    for id in ["a", "b", "c"] {
        play.waiting(id, |draft| draft.task(1).task(2)).await;
    }
    stage.database.client().await.batch_execute("ANALYZE").await.unwrap();
    wrong.extend(scans(&stage, "three rows").await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns every access to our tables that does not find its rows by key.
async fn scans(stage: &PostgresStage, what: &str) -> Vec<String> {
    let client = stage.database.client().await;
    client.batch_execute(SESSION).await.unwrap();
    let mut wrong = Vec::new();
    for (name, statement) in HOT {
        client.batch_execute(&format!("PREPARE hot_{name} AS {statement}")).await.unwrap();
        let count = (1..=50).rev().find(|n| statement.contains(&format!("${n}"))).unwrap_or(0);
        let nulls = vec!["NULL"; count].join(", ");
        let rows = client.query(&format!("EXPLAIN EXECUTE hot_{name}({nulls})"), &[]).await.unwrap();
        let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        for (nth, line) in lines.iter().enumerate() {
            let next = lines.get(nth + 1).map_or("", String::as_str);
            let Some((access, table)) = line.split_once(" on ") else { continue };
            let ours = TABLES.iter().any(|known| table.starts_with(known));
            let by_key =
                next.contains("Index Cond") && ["(id = ", "(run = "].iter().any(|key| next.contains(key));
            // Claims read the partial indexes of ready and due rows in order.
            let in_order =
                ["run_queue_ready", "task_ready", "timer_due"].iter().any(|index| access.contains(index));
            if ours && access.contains("Scan") && !by_key && !in_order {
                wrong.push(format!("{name} ({what}): {} / {}", line.trim(), next.trim()));
            }
        }
    }
    wrong
}
