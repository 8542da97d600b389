//! Reads: complete listings, filters, counts.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::{Compensation, RunId, Status};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn runs_query(play: &Play<'_>) -> RunQuery {
    RunQuery { tenant: play.tenant.clone(), limit: 100, ..RunQuery::default() }
}

async fn found(play: &Play<'_>, query: RunQuery) -> Vec<String> {
    play.world.list_runs(query).await.unwrap().rows.into_iter().map(|row| row.id.0).collect()
}

pub async fn a_run_that_takes_back_what_it_did_says_so(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("plain", |draft| draft.awaiting(&["go"])).await;
    play.waiting("running", |draft| draft.awaiting(&[Compensation::UNDER_WAY])).await;
    play.waiting("done", |draft| draft.awaiting(&[Compensation::DONE]).failed()).await;
    play.waiting("called-off", |draft| draft.cancelled().awaiting(&[Compensation::UNDER_WAY])).await;
    let rows = play.world.list_runs(runs_query(&play)).await.unwrap().rows;
    let listed: BTreeMap<&str, Compensation> =
        rows.iter().map(|row| (row.id.as_str(), row.compensation)).collect();
    let expected = [
        ("plain", Compensation::None),
        ("running", Compensation::Running),
        ("done", Compensation::Done),
        ("called-off", Compensation::Failed),
    ];
    assert_eq!(listed, BTreeMap::from(expected));
    for (run, compensation) in expected {
        assert_eq!(play.picture(&run.into()).await.summary.compensation, compensation);
    }
}

/// Pages of three, while other calls create and end runs.
pub async fn a_walk_through_runs_meets_each_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    // Some runs share a millisecond and some do not; some have ended and some have not.
    for n in 0..20 {
        play.start(&format!("r{n:02}")).await;
        if n % 3 == 0 {
            stage.clock().advance(rhythm_core::Millis(1));
        }
    }
    for claimed in play.claims(7).await {
        play.done(&Draft::of(&claimed).completed()).await;
    }
    let (mut seen, mut cursor, mut page_number) = (vec![], None, 0);
    loop {
        let page = play.world.list_runs(RunQuery { cursor, limit: 3, ..runs_query(&play) }).await.unwrap();
        assert!(page.rows.len() <= 3);
        assert!(page.rows.is_sorted_by(|a, b| a.created_at >= b.created_at), "newest first");
        seen.extend(page.rows.into_iter().map(|row| row.id.0));
        play.start(&format!("new{page_number}")).await;
        let claimed = play.claims(1).await;
        play.done(&Draft::of(&claimed[0]).completed()).await;
        page_number += 1;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
        assert!(page_number < 50, "the walk does not end");
    }
    let walked: BTreeSet<_> = seen.iter().filter(|id| id.starts_with('r')).cloned().collect();
    assert_eq!(walked, (0..20).map(|n| format!("r{n:02}")).collect());
    assert_eq!(seen.len(), seen.iter().collect::<BTreeSet<_>>().len(), "nothing twice: {seen:?}");
}

pub async fn runs_are_found_by_what_they_are(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let labels = |team: &str| BTreeMap::from([("team".to_owned(), team.to_owned())]);
    play.waiting("completed", Draft::completed).await;
    play.waiting("failed", Draft::failed).await;
    play.waiting("cancelled", Draft::cancelled).await;
    play.waiting("waiting", |draft| draft).await;
    play.start_as(NewRun { labels: labels("blue"), ..new_run("blue") }).await;
    play.claim().await;
    play.start_as(NewRun { labels: labels("red"), workflow: "other".to_owned(), ..new_run("red") }).await;
    for status in ["completed", "failed", "cancelled", "waiting"] {
        let query = RunQuery { status: Status::parse(status), ..runs_query(&play) };
        assert_eq!(found(&play, query).await, [status]);
    }
    let query = RunQuery { status: Some(Status::Pending), ..runs_query(&play) };
    assert_eq!(found(&play, query).await, ["red"]);
    let query = RunQuery { status: Some(Status::Running), ..runs_query(&play) };
    assert_eq!(found(&play, query).await, ["blue"]);
    let query = RunQuery { workflow: Some("other".to_owned()), ..runs_query(&play) };
    assert_eq!(found(&play, query).await, ["red"]);
    let query = RunQuery { blocked: true, ..runs_query(&play) };
    assert_eq!(found(&play, query).await, [""; 0]);
    assert_eq!(found(&play, runs_query(&play)).await.len(), 6);
}

pub async fn runs_are_found_by_all_of_their_labels(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let start = async |id: &str, labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        play.start_as(NewRun { labels, ..new_run(id) }).await;
    };
    start("ended", &[("team", "blue"), ("city", "Berlin")]).await;
    let claimed = play.claim().await;
    play.done(&Draft::of(&claimed).completed()).await;
    start("blue", &[("team", "blue"), ("city", "Köln")]).await;
    start("red", &[("team", "red"), ("empty", "")]).await;
    start("plain", &[]).await;
    let (equal, present) = (WantedLabel::equal, WantedLabel::present);
    for (labels, expected) in [
        (vec![equal("team", "blue")], &["blue", "ended"][..]),
        (vec![equal("team", "green")], &[]),
        (vec![equal("blue", "team")], &[]),
        (vec![present("team")], &["red", "blue", "ended"]),
        (vec![present("colour")], &[]),
        (vec![present("empty")], &["red"]),
        (vec![equal("empty", "")], &["red"]),
        (vec![equal("team", "")], &[]),
        (vec![equal("team", "blue"), equal("city", "Berlin")], &["ended"]),
        (vec![present("city"), equal("team", "blue")], &["blue", "ended"]),
        (vec![present("city"), present("empty")], &[]),
        (vec![equal("team", "blue"), equal("team", "red")], &[]),
    ] {
        let query = RunQuery { labels: labels.clone(), ..runs_query(&play) };
        assert_eq!(found(&play, query).await, expected, "{labels:?}");
    }
    let both = vec![present("team"), equal("city", "Köln")];
    let other = RunQuery { workflow: Some("other".to_owned()), labels: both, ..runs_query(&play) };
    assert_eq!(found(&play, other).await, [""; 0]);
    let child =
        RunQuery { parent: Some(RunId::new("r")), labels: vec![present("team")], ..runs_query(&play) };
    assert_eq!(found(&play, child).await, [""; 0]);
}

pub async fn a_listed_run_is_the_one_of_its_picture(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("live", |draft| draft.task(1)).await;
    play.waiting("ended", Draft::failed).await;
    let rows = play.world.list_runs(runs_query(&play)).await.unwrap().rows;
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(play.picture(&row.id).await.summary, row);
    }
    assert_eq!(play.find(&"nobody".into()).await, None);
    assert_eq!(play.history(&"nobody".into()).await, []);
}

pub async fn a_walk_through_tasks_meets_each_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let tasks = (0..10).map(|n| new_task(&format!("t{n}")));
    play.enqueue(tasks.collect()).await;
    for task in play.takes(4).await {
        play.finish(&task, TaskOutcome::Completed { output: json("1") }).await;
    }
    play.waiting("r", |draft| draft.task(1)).await;
    let (mut seen, mut cursor) = (BTreeSet::new(), None);
    for _ in 0..50 {
        let query = TaskQuery { tenant: play.tenant.clone(), cursor, limit: 3, ..TaskQuery::default() };
        let page = play.world.list_tasks(query).await.unwrap();
        for row in page.rows {
            assert_eq!(play.task(&row.id).await, row);
            assert!(seen.insert(row.id.clone()), "{} came twice", row.id);
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((cursor, seen.len()), (None, 11));
}

pub async fn tasks_are_found_by_what_they_are(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for id in ["done", "broken", "stopped", "running"] {
        play.queue(new_task(id)).await;
    }
    let tasks = play.takes(4).await;
    play.finish(&tasks[0], TaskOutcome::Completed { output: json("1") }).await;
    play.finish(&tasks[1], TaskOutcome::Exhausted { failure: failure("X"), hold: false }).await;
    play.finish(&tasks[2], TaskOutcome::Cancelled { failure: failure("CANCELLED") }).await;
    play.queue(NewTask { options: in_queue("mail"), name: "send".to_owned(), ..new_task("ready") }).await;
    play.queue(NewTask { options: delayed(secs(9)), ..new_task("delayed") }).await;
    let find = async |state: Option<TaskState>, queue: Option<&str>, name: Option<&str>| {
        let (queue, name) = (queue.map(str::to_owned), name.map(str::to_owned));
        let tenant = play.tenant.clone();
        let query = TaskQuery { tenant, state, queue, name, limit: 100, cursor: None };
        let rows = play.world.list_tasks(query).await.unwrap().rows;
        rows.into_iter().map(|row| row.id.0).collect::<Vec<_>>()
    };
    assert_eq!(find(Some(TaskState::Completed), None, None).await, ["done"]);
    assert_eq!(find(Some(TaskState::Failed), None, None).await, ["broken"]);
    assert_eq!(find(Some(TaskState::Cancelled), None, None).await, ["stopped"]);
    assert_eq!(find(Some(TaskState::Running), None, None).await, ["running"]);
    assert_eq!(find(Some(TaskState::Ready), None, None).await, ["ready"]);
    assert_eq!(find(Some(TaskState::Delayed), None, None).await, ["delayed"]);
    assert_eq!(find(None, Some("mail"), None).await, ["ready"]);
    assert_eq!(find(None, None, Some("send")).await, ["ready"]);
    assert_eq!(find(None, Some("mail"), Some("work")).await, [""; 0]);
    assert_eq!(find(None, None, None).await.len(), 6);
}

pub async fn a_walk_through_letters_meets_each_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.enqueue((0..7).map(|n| new_task(&format!("t{n}"))).collect()).await;
    for task in play.takes(7).await {
        play.finish(&task, TaskOutcome::Exhausted { failure: failure("X"), hold: false }).await;
    }
    let (mut seen, mut cursor) = (BTreeSet::new(), None);
    for _ in 0..50 {
        let query = DeadQuery { tenant: play.tenant.clone(), cursor, limit: 2, ..DeadQuery::default() };
        let page = play.world.list_dead(query).await.unwrap();
        assert!(page.rows.into_iter().all(|letter| seen.insert(letter.task)), "a letter came twice");
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((cursor, seen.len()), (None, 7));
}

pub async fn queues_are_counted(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let oldest = play.now().await;
    play.enqueue(vec![new_task("a"), new_task("b"), new_task("c")]).await;
    play.take().await;
    stage.clock().advance(secs(5));
    play.queue(NewTask { options: delayed(secs(5)), ..new_task("d") }).await;
    play.queue(NewTask { options: in_queue("mail"), ..new_task("m") }).await;
    play.order(Control::PauseQueue { queue: "mail".to_owned() }).await;
    let rows = play.world.queues(&play.tenant).await.unwrap();
    let row = |name: &str| rows.iter().find(|row| row.name == name).cloned().expect("the queue is listed");
    let default = row("default");
    assert_eq!((default.ready, default.delayed, default.running, default.held), (2, 1, 1, 0));
    assert_eq!((default.paused, default.workers, default.oldest_ready_at), (false, 1, Some(oldest)));
    let mail = row("mail");
    assert_eq!((mail.ready, mail.paused, mail.workers), (1, true, 0));
}

pub async fn health_names_the_world(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("ended", Draft::completed).await;
    play.waiting("live", |draft| draft.task(1)).await;
    let health = play.world.health().await.unwrap();
    assert!(!health.world.is_empty());
    assert_eq!(health.schema, health.schema_known);
}

pub async fn a_cursor_nobody_gave_is_refused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (tenant, cursor) = (play.tenant.clone(), Some("nonsense".to_owned()));
    let runs = RunQuery { tenant: tenant.clone(), cursor: cursor.clone(), limit: 5, ..RunQuery::default() };
    let tasks =
        TaskQuery { tenant: tenant.clone(), cursor: cursor.clone(), limit: 5, ..TaskQuery::default() };
    let dead = DeadQuery { tenant, cursor, limit: 5, ..DeadQuery::default() };
    assert!(matches!(play.world.list_runs(runs).await, Err(WorldError::Invalid(_))));
    assert!(matches!(play.world.list_tasks(tasks).await, Err(WorldError::Invalid(_))));
    assert!(matches!(play.world.list_dead(dead).await, Err(WorldError::Invalid(_))));
}

pub async fn versions_are_listed_with_their_open_runs(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let register = async |source: &str| {
        let (tenant, definitions) = (play.tenant.clone(), vec![definition("order", source)]);
        play.world.register(Register { tenant, definitions }).await.unwrap();
    };
    let version = |source: &str| rhythm_core::Version::of(source.as_bytes());
    let listed = async || {
        let rows = play.world.versions(&play.tenant, "order").await.unwrap();
        rows.into_iter().map(|row| (row.version, row.current, row.open_runs)).collect::<Vec<_>>()
    };
    assert_eq!(listed().await, []);
    register("one").await;
    let first = play.world.versions(&play.tenant, "order").await.unwrap().remove(0);
    stage.clock().advance(secs(1));
    register("two").await;
    let of_version = |id: &str, source: &str| NewRun {
        workflow: "order".to_owned(),
        version: version(source),
        ..new_run(id)
    };
    for (id, source) in [("a", "one"), ("b", "one"), ("c", "two"), ("d", "one")] {
        play.start_as(of_version(id, source)).await;
    }
    // Runs of another workflow and ended runs do not count.
    play.start_as(NewRun { workflow: "other".to_owned(), ..of_version("e", "one") }).await;
    let claimed = play.claims(10).await;
    let ended = claimed.iter().find(|claimed| claimed.run.id.as_str() == "d").unwrap();
    play.done(&Draft::of(ended).completed()).await;
    assert_eq!(listed().await, [(version("two"), true, 1), (version("one"), false, 2)]);
    stage.clock().advance(secs(1));
    register("one").await;
    assert_eq!(listed().await, [(version("two"), false, 1), (version("one"), true, 2)]);
    let again = play.world.versions(&play.tenant, "order").await.unwrap().remove(1);
    assert_eq!((again.registered_at, again.kind), (first.registered_at, first.kind));
    let other = rhythm_core::TenantId::new("somebody else");
    assert_eq!(play.world.versions(&other, "order").await.unwrap(), []);
}
