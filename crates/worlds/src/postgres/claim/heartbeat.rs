//! Heartbeats: a worker shows that it is alive and renews its claims.

use std::collections::HashSet;

use rhythm_core::{TaskId, Timestamp};
use rhythm_engine::world::{Extend, Extended, WorldResult};

use crate::postgres::commit::columns::{json, millis, number, stored};
use crate::postgres::connection::reconnecting::{Param, ReconnectingClient};
use crate::postgres::read::rows::time;
use crate::postgres::sql;

pub async fn extend(
    link: &ReconnectingClient,
    now: Option<i64>,
    lock_key: i64,
    request: Extend,
) -> WorldResult<Extended> {
    let card = &request.card;
    let kinds: Vec<&str> = card.kinds.iter().map(|kind| kind.as_str()).collect();
    let mut beats: Vec<_> = request.tasks.iter().collect();
    beats.sort_by(|a, b| a.claim.task.cmp(&b.claim.task));
    let ids: Vec<&str> = beats.iter().map(|beat| beat.claim.task.as_str()).collect();
    let claims: Vec<i64> = beats.iter().map(|beat| number(beat.claim.claim)).collect();
    let progress: Vec<Option<String>> = beats.iter().map(|beat| stored(beat.progress.as_ref())).collect();
    let running = i32::try_from(request.running).unwrap_or(i32::MAX);
    let params: &[Param<'_>] = &[
        &now,
        &request.tenant.as_str(),
        &card.id.as_str(),
        &json(card),
        &kinds,
        &card.workflows,
        &card.queues,
        &running,
        &lock_key,
        &request.leaving,
        &millis(request.hold),
        &vec![request.tenant.as_str(); ids.len()],
        &ids,
        &claims,
        &progress,
        &millis(card.silence),
    ];
    let rows = link.query_urgently(sql::EXTEND, params).await?;
    let mut renewed = HashSet::new();
    let mut cancelled = Vec::new();
    for row in rows.iter().filter(|row| row.get::<_, Option<&str>>("id").is_some()) {
        renewed.insert(row.get::<_, String>("id"));
        if row.get("cancel") {
            cancelled.push(TaskId(row.get("id")));
        }
    }
    let claimed = request.tasks.iter().map(|beat| &beat.claim.task);
    let lost = claimed.filter(|task| !renewed.contains(task.as_str())).cloned().collect();
    Ok(Extended { at: rows.first().map_or(Timestamp::default(), |row| time(row, "now")), lost, cancelled })
}
