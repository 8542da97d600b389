//! Reads whole lists, page by page.

use rhythm::{Client, DeadQuery, RunQuery, TaskQuery};
use rhythm_engine::world::{DeadLetter, Page, RunSummary, TaskSummary, WorldResult};

const PAGE: usize = 500;

pub async fn runs(client: &Client) -> WorldResult<Vec<RunSummary>> {
    let tenant = client.tenant().clone();
    let query = RunQuery { tenant, limit: PAGE, ..RunQuery::default() };
    all(|cursor| client.world().list_runs(RunQuery { cursor, ..query.clone() })).await
}

pub async fn tasks(client: &Client) -> WorldResult<Vec<TaskSummary>> {
    let tenant = client.tenant().clone();
    let query = TaskQuery { tenant, limit: PAGE, ..TaskQuery::default() };
    all(|cursor| client.world().list_tasks(TaskQuery { cursor, ..query.clone() })).await
}

pub async fn letters(client: &Client) -> WorldResult<Vec<DeadLetter>> {
    let tenant = client.tenant().clone();
    let query = DeadQuery { tenant, limit: PAGE, ..DeadQuery::default() };
    all(|cursor| client.world().list_dead(DeadQuery { cursor, ..query.clone() })).await
}

async fn all<T, F>(page: impl Fn(Option<String>) -> F) -> WorldResult<Vec<T>>
where
    F: Future<Output = WorldResult<Page<T>>>,
{
    let (mut rows, mut cursor) = (Vec::new(), None);
    loop {
        let page = page(cursor).await?;
        rows.extend(page.rows);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(rows),
        }
    }
}
