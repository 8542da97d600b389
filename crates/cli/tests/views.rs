//! The SQL views: both databases have the columns that docs/reference/views.md lists, and the views answer
//! the questions they were made for.

mod rig;

use std::collections::BTreeMap;
use std::path::Path;

use rig::Rig;
use serde_json::{Value, json};

/// Columns of each view with their types, as the page lists them.
type Page = BTreeMap<String, Vec<(String, String)>>;

fn page() -> Page {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/views.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut page = Page::new();
    for section in text.split("\n## `").skip(1) {
        let (view, rest) = section.split_once('`').unwrap();
        let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        // The section after the last view is not about a view.
        let rest = rest.split("\n## ").next().unwrap();
        let rows = rest.lines().filter(|line| line.starts_with("| `")).map(cells);
        let columns = rows.map(|cells| (cells[1].trim_matches('`').to_owned(), cells[2].clone()));
        page.insert(view.to_owned(), columns.collect());
    }
    page
}

/// Internal views, for other views and for the engine.
const OWN: [&str; 7] =
    ["any_run", "letter", "living", "node_answer", "open_node", "run_summary", "settled_step"];

fn the_page_lists_every_view_and_column(rig: &Rig) {
    rig.ok(&["db", "migrate"]);
    let views = match rig.is_postgres() {
        true => "SELECT table_name FROM information_schema.views WHERE table_schema = 'rhythm'",
        false => "SELECT name FROM sqlite_master WHERE type = 'view'",
    };
    let views = rig.query(views).into_iter().filter_map(|row| row[0].clone());
    let mut views: Vec<String> = views.filter(|view| !OWN.contains(&view.as_str())).collect();
    views.sort();
    let page = page();
    assert_eq!(page.keys().cloned().collect::<Vec<_>>(), views, "left: docs/reference/views.md");
    for (view, columns) in page {
        let found: Vec<(String, String)> = if rig.is_postgres() {
            let query = format!(
                "SELECT column_name, CASE data_type WHEN 'bigint' THEN 'integer' WHEN 'boolean' THEN 'bool' WHEN 'jsonb' \
                 THEN 'json' WHEN 'timestamp with time zone' THEN 'time' ELSE data_type END \
                 FROM information_schema.columns WHERE table_schema = 'rhythm' AND table_name = '{view}' \
                 ORDER BY ordinal_position"
            );
            let rows = rig.query(&query).into_iter();
            rows.map(|row| (row[0].clone().unwrap(), row[1].clone().unwrap())).collect()
        } else {
            // In SQLite the columns of a view have no types; the next test checks the values.
            let rows =
                rig.query(&format!("SELECT name FROM pragma_table_xinfo('{view}') ORDER BY cid")).into_iter();
            let types = columns.iter().map(|(_, kind)| kind.clone()).chain(std::iter::repeat("?".to_owned()));
            rows.zip(types).map(|(row, kind)| (row[0].clone().unwrap(), kind)).collect()
        };
        assert_eq!(columns, found, "{view}: left is the page");
    }
}

const ORDER: &str = "\
metadata: {name: order}
nodes:
  - {id: pay, type: task, config: {task: echo, order: 1}, dependents: [tell, boss, ship]}
  - {id: tell, type: task, config: {task: echo}}
  - {id: boss, type: human, config: {approvers: [ann]}}
  - {id: ship, type: signal, config: {name: packed}}
";

const SHAKY: &str = "\
let size = 7
await Task.run(\"fail\", { message: \"no\" }, { retries: { max_attempts: 2, initial_delay: \"10ms\" } })
";

const TURNS: &str = "let state = { round: 3 }\nawait Signal.next(\"go\")\nreturn state\n";

const BROKEN: &str = "metadata: {name: broken}\nnodes: [{id: charge, type: task, config: {task: fail, message: never}, retry: {max_attempts: 1}}]\n";

/// The played runs: a graph that waits for a person and a signal, a waiting flow, a failed flow, and a task
/// without a worker.
struct Played {
    order: String,
    turns: String,
    shaky: String,
    _worker: rig::Worker,
}

fn play(rig: &Rig) -> Played {
    for (name, text) in [("order.graph.yaml", ORDER), ("shaky.flow", SHAKY), ("turns.flow", TURNS)] {
        rig.write(name, text);
        rig.ok(&["workflows", "register", name]);
    }
    rig.ok(&["tasks", "enqueue", "echo", "--queue", "orders", "--priority", "3"]);
    let worker = rig.worker(&[]);
    let [order, turns, shaky] = ["order", "turns", "shaky"].map(|name| rig.ok(&["start", name]));
    rig.until(&["runs", "show", &shaky], |shown| shown["status"] == "failed");
    rig.until(&["approvals", "list"], |list| list["rows"].as_array().unwrap().len() == 1);
    rig.until(&["explain", &turns], |why| why["reasons"][0]["code"] == "signal");
    rig.until(&["tasks", "list"], |list| list["rows"].as_array().unwrap().len() == 1);
    Played { order, turns, shaky, _worker: worker }
}

fn texts(rows: Vec<Vec<Option<String>>>) -> Vec<String> {
    let cell = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    rows.into_iter().map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join(" ")).collect()
}

/// Runs a query in the PostgreSQL dialect, translated for SQLite.
fn ask(rig: &Rig, query: &str) -> Vec<String> {
    if rig.is_postgres() {
        return texts(rig.query(query));
    }
    let now = |less: &str| format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now'{less})");
    let query = query
        .replace("now() - interval '30 seconds'", &now(", '-30 seconds'"))
        .replace("now()", &now(""))
        .replace(" FOR UPDATE SKIP LOCKED", "");
    texts(rig.query(&query))
}

/// The queries that the designs behind Rhythm run on their tables.
fn every_question_of_the_designs_has_its_answer(rig: &Rig) {
    let Played { order, turns, shaky, _worker } = play(rig);
    let ask = |query: &str| ask(rig, query);
    let count = |query: &str| ask(query).len();

    let context = format!(
        "SELECT c.statement_index IS NULL, c.locals, d.version_hash = c.workflow_version_hash, d.source \
         FROM workflow_execution_context c JOIN workflow_definitions d ON c.workflow_definition_id = d.id \
         WHERE c.execution_id = '{turns}'"
    );
    let found = ask(&context).remove(0).replace(' ', "");
    let no = if rig.is_postgres() { "f" } else { "0" };
    let yes = if rig.is_postgres() { "t" } else { "1" };
    let expected = format!("{no}{{\"state\":{{\"round\":3}}}}{yes}{}", TURNS.replace(' ', ""));
    assert_eq!(found, expected);
    assert_eq!(
        count(&context.replace(
            "c.statement_index IS NULL, c.locals, d.version_hash = c.workflow_version_hash,",
            "c.*, d.version_hash,"
        )),
        1
    );

    let silent =
        "SELECT worker_id FROM worker_heartbeats WHERE last_heartbeat < now() - interval '30 seconds'";
    assert_eq!((count(silent), count(&silent.replace('<', ">"))), (0, 1));
    let next = "SELECT * FROM executions WHERE status = 'pending' AND queue = 'orders' AND scheduled_at <= now() \
        ORDER BY priority DESC, created_at ASC LIMIT 1 FOR UPDATE SKIP LOCKED";
    assert_eq!(count(next), 1);
    let next = next.replace('*', "type, execution_type, target_name, state, priority");
    assert_eq!(ask(&next), ["task task echo ready 3"]);

    let types =
        format!("SELECT event_type FROM events WHERE run_id = '{shaky}' ORDER BY event_idx, timestamp");
    assert_eq!(
        ask(&types),
        ["workflow_started", "step_scheduled", "step_retrying", "step_failed", "workflow_failed"]
    );
    assert_eq!(count(&types.replace("event_type", "*").replace(", timestamp", "")), 5);
    let path = format!(
        "SELECT from_node, to_node, created_at IS NULL FROM event_log \
         WHERE run_id = '{order}' AND event_type = 'token.emitted' ORDER BY created_at, sequence_num"
    );
    let mut path = ask(&path);
    path[1..].sort();
    let edges = ["- pay", "pay boss", "pay ship", "pay tell"].map(|edge| format!("{edge} {no}"));
    assert_eq!(path, edges);
    let replayed = ask(&format!(
        "SELECT event_type FROM event_log WHERE run_id = '{order}' AND event_data IS NOT NULL ORDER BY sequence_num"
    ));
    let times = |name: &str| replayed.iter().filter(|kind| *kind == name).count();
    assert_eq!((times("node.emitted"), times("node.consumed"), times("approval.created")), (4, 3, 1));

    let asked = ask("SELECT approval_id, timeout_at FROM approvals WHERE status = 'pending'");
    assert!(asked.len() == 1 && asked[0].starts_with(&format!("{order}/")), "{asked:?}");
    let snapshots = "SELECT run_id, value FROM run_counter_snapshots \
        WHERE snapshot_at = (SELECT max(snapshot_at) FROM run_counter_snapshots)";
    assert_eq!(ask(snapshots), [format!("{order} 1")], "the token at ship; who asks has taken its own");
    let since = format!("SELECT delta FROM applied_keys WHERE run_id = '{order}' AND applied_at > now()");
    assert_eq!((count(&since), count(&since.replace('>', "<="))), (0, 7));
    let counters = format!(
        "SELECT sum(delta), (SELECT value FROM run_counters WHERE run_id = '{order}') FROM applied_keys \
         WHERE run_id = '{order}'"
    );
    assert_eq!(ask(&counters), ["1 1"]);
    let done = format!(
        "SELECT node_id, output_cas_ref FROM node_executions WHERE run_id = '{order}' AND status = 'SUCCESS' \
         ORDER BY ended_at DESC"
    );
    assert_eq!(ask(&done), ["tell -", "pay -"]);
    let letters = format!("SELECT * FROM dlq WHERE run_id = '{shaky}'");
    assert_eq!(count(&letters), 1);
    assert_eq!(ask(&letters.replace('*', "failure_reason, attempts")), ["no 2"]);
    rig.write("broken.graph.yaml", BROKEN);
    rig.ok(&["workflows", "register", "broken.graph.yaml"]);
    let broken = rig.ok(&["start", "broken"]);
    rig.until(&["runs", "show", &broken], |shown| shown["status"] == "failed");
    let whose = format!("SELECT node_id, token_id FROM dlq WHERE run_id = '{broken}'");
    assert_eq!(ask(&whose), ["charge 1"]);
    let late = "SELECT run_id FROM runs WHERE status = 'RUNNING' AND deadline_at < now()";
    assert_eq!(count(late), 0);
    let known = "SELECT count(*) FROM runs WHERE deadline_at IS NULL AND status IN ('waiting', 'failed')";
    assert_eq!(ask(known), ["4"], "no deadline is no time");
    let ended = format!(
        "SELECT status, attempt FROM executions WHERE run_id = '{order}' AND type = 'task' ORDER BY id"
    );
    assert_eq!(ask(&ended), ["completed 1", "completed 1"], "a task that has ended is still there");
    let tried = format!("SELECT attempt, next_at IS NULL FROM attempts WHERE run_id = '{shaky}'");
    assert_eq!(ask(&tried), [format!("1 {no}")]);
    rig.ok(&["runs", "signal", &order, "packed"]);
}

/// Checks that each value has the type that the page lists.
fn every_value_has_the_type_of_its_column(rig: &Rig) {
    let Played { order, _worker, .. } = play(rig);
    rig.ok(&["runs", "signal", &order, "packed", "--payload", "{\"by\": 1}"]);
    rig.ok(&["approvals", "approve", &format!("{order}/boss"), "--as", "ann"]);
    rig.until(&["runs", "show", &order], |shown| shown["status"] == "completed");
    rig.write("type.json", &json!({ "name": "ask", "capabilities": { "supports_retry": true } }).to_string());
    rig.ok(&["node-types", "register", "type.json"]);
    rig.ok(&["artifacts", "put", "type.json"]);
    for (view, columns) in page() {
        let rows = rig.query(&format!("SELECT * FROM {view}"));
        assert!(!rows.is_empty(), "{view} has no rows");
        for (at, (column, kind)) in columns.iter().enumerate() {
            for value in rows.iter().filter_map(|row| row[at].as_deref()) {
                let fits = match kind.as_str() {
                    "integer" => value.parse::<i64>().is_ok(),
                    "bool" => ["t", "f", "1", "0"].contains(&value),
                    "json" => serde_json::from_str::<Value>(value).is_ok(),
                    "time" => value.starts_with("20") && value.contains(':'),
                    _ => true,
                };
                assert!(fits, "{view}.{column} is to be {kind}, is {value:?}");
            }
        }
    }
    let counter =
        format!("SELECT final_counter_value, dlq_count, submitted_by FROM runs WHERE run_id = '{order}'");
    assert!(texts(rig.query(&counter))[0].starts_with("0 0 "), "{counter}");
}

on_both_worlds!(
    the_page_lists_every_view_and_column,
    every_question_of_the_designs_has_its_answer,
    every_value_has_the_type_of_its_column,
);
