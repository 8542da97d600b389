//! Listings as tables and as JSON, empty and full, page by page.

mod rig;

use rig::Rig;

const LISTINGS: [(&[&str], &str); 7] = [
    (&["runs", "list"], "no runs"),
    (&["tasks", "list"], "no tasks"),
    (&["dead", "list"], "no dead letters: nothing is out of attempts"),
    (&["workers"], "no live workers; `rhythm worker` starts one"),
    (&["queues", "list"], "no queues yet; the first task makes one"),
    (&["workflows", "list"], "no workflows are registered; `rhythm workflows register FILE` adds one"),
    (&["schedules", "list"], "no schedules; `rhythm schedules add` makes one"),
];

fn an_empty_listing_says_so(rig: &Rig) {
    rig.ok(&["db", "migrate"]);
    for (args, words) in LISTINGS {
        assert_eq!(rig.ok(args), words);
        assert_eq!(rig.json(args), serde_json::json!({ "rows": [], "next": null }));
    }
}

fn listings_page(rig: &Rig) {
    for _ in 0..5 {
        rig.ok(&["tasks", "enqueue", "echo"]);
    }
    let all = rig.json(&["tasks", "list"]);
    assert_eq!(all["rows"].as_array().unwrap().len(), 5);
    assert!(all["next"].is_null());
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["tasks", "list", "--limit", "2"];
        if let Some(cursor) = &cursor {
            args.extend(["--cursor", cursor]);
        }
        let page = rig.json(&args);
        seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row["id"].clone()));
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    let ids: Vec<_> = all["rows"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    assert_eq!(seen, ids);
    let answer = rig.run(&["tasks", "list", "--limit", "2"]);
    assert!(answer.stderr.starts_with("there are more: --cursor "), "{answer:?}");
    let answer = rig.run(&["--quiet", "tasks", "list", "--limit", "2"]);
    assert_eq!(answer.stderr, "");
}

fn tables_are_columns_with_relative_times(rig: &Rig) {
    let task = rig.ok(&["tasks", "enqueue", "echo", "--queue", "mail", "--delay", "2h30m"]);
    let table = rig.ok(&["tasks", "list"]);
    let expected = format!(
        "TASK      NAME  QUEUE  STATE    ATTEMPT  SINCE  CREATED\n\
         {}  echo  mail   delayed  1/3      in 2h  ",
        &task[28..]
    );
    let created = table.strip_prefix(&expected).unwrap_or_else(|| panic!("{table}"));
    assert!(created == "now" || created.ends_with("s ago"), "{table}");
    let queues = rig.ok(&["queues", "list"]);
    assert_eq!(
        queues,
        "QUEUE  STATE  READY  DELAYED  RUNNING  HELD  OLDEST READY  WORKERS\n\
         mail   open   0      1        0        0     -             0"
    );
}

fn listings_filter(rig: &Rig) {
    rig.ok(&["tasks", "enqueue", "echo", "--queue", "mail"]);
    rig.ok(&["tasks", "enqueue", "sleep", "--delay", "1h"]);
    let count = |args: &[&str]| {
        let args = [&["tasks", "list"], args].concat();
        rig.json(&args)["rows"].as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 2);
    assert_eq!(count(&["--queue", "mail"]), 1);
    assert_eq!(count(&["--name", "sleep"]), 1);
    assert_eq!(count(&["--state", "delayed"]), 1);
    assert_eq!(count(&["--state", "failed"]), 0);
    assert_eq!(count(&["--queue", "mail", "--name", "sleep"]), 0);
}

fn tenants_see_their_own(rig: &Rig) {
    rig.ok(&["--tenant", "ann", "tasks", "enqueue", "echo"]);
    assert_eq!(rig.ok(&["tasks", "list"]), "no tasks");
    assert_eq!(rig.json(&["--tenant", "ann", "tasks", "list"])["rows"].as_array().unwrap().len(), 1);
}

on_both_worlds!(
    an_empty_listing_says_so,
    listings_page,
    tables_are_columns_with_relative_times,
    listings_filter,
    tenants_see_their_own,
);
