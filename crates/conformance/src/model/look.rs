//! Reads the whole observable state of both worlds and compares it.

use std::fmt::Debug;

use rhythm_core::{Status, TenantId, Timestamp};
use rhythm_engine::world::*;

use super::pair::{Pair, TENANTS, agree, both};

/// Page size, small so that cursors are used.
const PAGE: usize = 3;

impl Pair {
    pub async fn look(&mut self) {
        for (place, name) in TENANTS.iter().enumerate() {
            let tenant = TenantId::new(*name);
            self.look_at_runs(&tenant, place).await;
            self.look_at_tasks(&tenant, place).await;
            self.look_at_office(&tenant).await;
        }
        let counts = |health: Health| {
            [health.live_runs, health.ended_runs, health.open_tasks, health.timers, health.dead_letters]
        };
        let expected = self.model[0].health().await.map(counts);
        agree("health", &(), &expected, &self.world[0].health().await.map(counts));
    }

    async fn look_at_runs(&mut self, tenant: &TenantId, place: usize) {
        let all = RunQuery { tenant: tenant.clone(), limit: PAGE, ..RunQuery::default() };
        let queries = [
            all.clone(),
            RunQuery { status: Some(Status::Waiting), ..all.clone() },
            RunQuery { status: Some(Status::Failed), ..all.clone() },
            RunQuery { workflow: Some("other".to_owned()), ..all.clone() },
            RunQuery { labels: vec![WantedLabel::equal("team", "blue")], ..all.clone() },
            RunQuery { labels: vec![WantedLabel::present("team")], ..all.clone() },
            RunQuery { blocked: true, ..all },
        ];
        for query in queries {
            let expected =
                walk(async |cursor| self.model[0].list_runs(RunQuery { cursor, ..query.clone() }).await);
            let found =
                walk(async |cursor| self.world[1].list_runs(RunQuery { cursor, ..query.clone() }).await);
            let at = |run: &RunSummary| (run.created_at, run.id.to_string());
            agree("list_runs", &query, &newest_first(expected.await, at), &newest_first(found.await, at));
        }
        let known: Vec<_> = self.ledger.runs.iter().filter(|(of, _)| *of == place).cloned().collect();
        for (_, run) in known {
            let expected = self.model[0].picture(tenant, &run).await.map(tidy);
            agree("picture", &run, &expected, &self.world[0].picture(tenant, &run).await.map(tidy));
            let query = HistoryQuery { tenant: tenant.clone(), run: run.clone(), after: 0, limit: 10_000 };
            let history = both!(self, 1, history, query).unwrap_or_default();
            let seqs: Vec<u64> = history.iter().map(|event| event.seq).collect();
            let gapless: Vec<u64> = (1..=seqs.len() as u64).collect();
            assert_eq!(seqs, gapless, "the history of {run} has a gap");
            let expected = self.model[0].attempts(tenant, &run).await;
            agree("attempts", &run, &expected, &self.world[0].attempts(tenant, &run).await);
        }
    }

    async fn look_at_tasks(&mut self, tenant: &TenantId, place: usize) {
        let all = TaskQuery { tenant: tenant.clone(), limit: PAGE, ..TaskQuery::default() };
        let queries = [
            all.clone(),
            TaskQuery { state: Some(TaskState::Ready), ..all.clone() },
            TaskQuery { queue: Some("mail".to_owned()), ..all.clone() },
            TaskQuery { name: Some("play".to_owned()), ..all },
        ];
        for query in queries {
            let expected =
                walk(async |cursor| self.model[0].list_tasks(TaskQuery { cursor, ..query.clone() }).await);
            let found =
                walk(async |cursor| self.world[1].list_tasks(TaskQuery { cursor, ..query.clone() }).await);
            let at = |task: &TaskSummary| (task.created_at, task.id.to_string());
            agree("list_tasks", &query, &newest_first(expected.await, at), &newest_first(found.await, at));
        }
        for (_, task) in self.ledger.tasks.iter().filter(|(of, _)| *of == place) {
            let expected = self.model[0].task(tenant, task).await;
            agree("task", task, &expected, &self.world[0].task(tenant, task).await);
        }
        let query = DeadQuery { tenant: tenant.clone(), limit: PAGE, ..DeadQuery::default() };
        let whole = DeadQuery { statuses: LetterStatus::ALL.into(), ..query.clone() };
        for query in [whole, query.clone(), DeadQuery { queue: Some("mail".to_owned()), ..query }] {
            let expected =
                walk(async |cursor| self.model[0].list_dead(DeadQuery { cursor, ..query.clone() }).await);
            let found =
                walk(async |cursor| self.world[1].list_dead(DeadQuery { cursor, ..query.clone() }).await);
            let at = |letter: &DeadLetter| (letter.died_at, letter.task.to_string());
            agree("list_dead", &query, &newest_first(expected.await, at), &newest_first(found.await, at));
        }
    }

    async fn look_at_office(&mut self, tenant: &TenantId) {
        let (model, world) = (&self.model[0], &self.world[0]);
        agree("workers", tenant, &model.workers(tenant).await, &world.workers(tenant).await);
        agree("queues", tenant, &model.queues(tenant).await, &world.queues(tenant).await);
        agree("schedules", tenant, &model.schedules(tenant).await, &world.schedules(tenant).await);
        agree("workflows", tenant, &model.workflows(tenant).await, &world.workflows(tenant).await);
    }
}

/// Reads all rows of a list, page by page.
async fn walk<T: Debug>(ask: impl AsyncFn(Option<String>) -> WorldResult<Page<T>>) -> WorldResult<Vec<T>> {
    let mut rows = Vec::new();
    let mut cursor = None;
    loop {
        let page = ask(cursor).await?;
        rows.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(rows);
        }
    }
}

/// Lists are newest first; rows of the same moment have no order.
fn newest_first<T: Debug>(
    rows: WorldResult<Vec<T>>,
    at: impl Fn(&T) -> (Timestamp, String),
) -> WorldResult<Vec<T>> {
    let mut rows = rows?;
    assert!(rows.is_sorted_by(|a, b| at(a).0 >= at(b).0), "not newest first: {rows:#?}");
    rows.sort_by_key(|row| std::cmp::Reverse(at(row)));
    Ok(rows)
}

/// The contract gives no order to the parts of a picture, except to its messages.
fn tidy(picture: Option<Picture>) -> Option<Picture> {
    picture.map(|mut picture| {
        picture.tasks.sort_by(|a, b| a.id.cmp(&b.id));
        picture.timers.sort_by(|a, b| (a.due_at, &a.what).cmp(&(b.due_at, &b.what)));
        picture.children.sort_by(|a, b| a.id.cmp(&b.id));
        picture.dead.sort_by(|a, b| a.task.cmp(&b.task));
        picture
    })
}
