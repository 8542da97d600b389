//! Reads whole lists, page by page.

use rhythm_engine::client::Client;
use rhythm_engine::world::*;

const PAGE: usize = 500;

pub async fn runs(client: &Client) -> WorldResult<Vec<RunSummary>> {
    let query = RunQuery { tenant: client.tenant().clone(), limit: PAGE, ..RunQuery::default() };
    all(|cursor| client.world().list_runs(RunQuery { cursor, ..query.clone() })).await
}

pub async fn tasks(client: &Client) -> WorldResult<Vec<TaskSummary>> {
    let query = TaskQuery { tenant: client.tenant().clone(), limit: PAGE, ..TaskQuery::default() };
    all(|cursor| client.world().list_tasks(TaskQuery { cursor, ..query.clone() })).await
}

/// Returns every failed task, in whatever state.
pub async fn failures(client: &Client) -> WorldResult<Vec<DeadLetter>> {
    let (tenant, statuses) = (client.tenant().clone(), LetterStatus::ALL.into());
    let query = DeadQuery { tenant, statuses, limit: PAGE, ..DeadQuery::default() };
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
