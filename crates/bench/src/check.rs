//! Reads back the results of all requested work after the measurement.

use rhythm_core::{Status, Timestamp};
use rhythm_engine::client::Client;
use rhythm_engine::world::{RunQuery, TaskQuery, TaskState};
use serde_json::Value;

use crate::BenchError;
use crate::flows::{Script, payload};

const PAGE: usize = 1_000;
/// Number of runs whose output is read, because that takes a query per run. All runs must have completed, and
/// the scripts complete only with the right answers.
const OUTPUTS: u64 = 1_000;

/// Returns how many of the expected runs did not complete with this output.
pub async fn lost_runs(
    client: &Client,
    script: &Script,
    expected: u64,
    output: &Value,
) -> Result<u64, BenchError> {
    lost_runs_since(client, script, Timestamp(0), expected, output).await
}

/// The same for runs created since a moment.
pub async fn lost_runs_since(
    client: &Client,
    script: &Script,
    since: Timestamp,
    expected: u64,
    output: &Value,
) -> Result<u64, BenchError> {
    let (wanted, every) = (payload(output)?, expected.div_ceil(OUTPUTS).max(1));
    let (mut seen, mut right, mut cursor) = (0, 0, None);
    loop {
        let query = RunQuery {
            tenant: client.tenant().clone(),
            workflow: Some(script.name.to_owned()),
            cursor,
            limit: PAGE,
            ..RunQuery::default()
        };
        let page = client.world().list_runs(query).await?;
        for run in page.rows {
            // The newest runs come first; a million older ones may follow.
            if seen == expected || run.created_at < since {
                return Ok(expected - right);
            }
            let completed = run.status == Status::Completed;
            let looked_at = completed && seen % every == 0;
            seen += 1;
            if !looked_at || client.picture(&run.id).await?.output.as_ref() == Some(&wanted) {
                right += u64::from(completed);
            }
        }
        cursor = page.next;
        if seen == expected || cursor.is_none() {
            return Ok(expected - right);
        }
    }
}

/// Returns how many of the standalone tasks did not complete with their input as output.
pub async fn lost_tasks(client: &Client, expected: u64) -> Result<u64, BenchError> {
    let (mut right, mut cursor) = (0, None);
    loop {
        let query = TaskQuery {
            tenant: client.tenant().clone(),
            state: Some(TaskState::Completed),
            cursor,
            limit: PAGE,
            ..TaskQuery::default()
        };
        let page = client.world().list_tasks(query).await?;
        right += page.rows.iter().filter(|task| task.output.as_ref() == Some(&task.input)).count() as u64;
        cursor = page.next;
        if cursor.is_none() {
            return Ok(expected.saturating_sub(right));
        }
    }
}

/// Returns whether any run of the tenant has not ended.
pub async fn has_open_runs(client: &Client) -> Result<bool, BenchError> {
    // Most open runs wait, so waiting ones are checked first. They are checked again at the end, because a
    // run that was claimed during the checks may wait again.
    for status in [Status::Waiting, Status::Running, Status::Pending, Status::Waiting] {
        let (tenant, status) = (client.tenant().clone(), Some(status));
        let query = RunQuery { tenant, status, limit: 1, ..RunQuery::default() };
        if !client.world().list_runs(query).await?.rows.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
