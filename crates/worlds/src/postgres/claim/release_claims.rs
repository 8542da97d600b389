//! Gives claims on runs back without a transition.

use rhythm_engine::world::{ReleaseOutcome, ReleasedRun};

use crate::postgres::commit::batch::By;
use crate::postgres::commit::columns::{millis, number};
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::session::Session;
use crate::postgres::sql;

#[derive(Clone, Copy)]
pub struct Release<'a> {
    pub by: &'a By,
    pub released: &'a ReleasedRun,
}

/// Returns whether a run stayed ready.
pub async fn release(
    session: &Session,
    now: Option<i64>,
    given: &[Release<'_>],
) -> Result<bool, StatementError> {
    let (mut outcome, mut arrived, mut after) = (vec![], vec![], vec![]);
    let (mut code, mut since, mut detail) = (vec![], vec![], vec![]);
    for Release { released, .. } in given {
        let (number_of, seen, wait, blocked) = match &released.outcome {
            ReleaseOutcome::Idle { arrived } => (0, number(*arrived), None, None),
            ReleaseOutcome::Later { after, blocked } => (1, 0, Some(millis(*after)), blocked.as_ref()),
            ReleaseOutcome::Aside(blocked) => (2, 0, None, Some(blocked)),
        };
        outcome.push(number_of);
        arrived.push(seen);
        after.push(wait);
        code.push(blocked.map(|blocked| blocked.code.as_str()));
        since.push(blocked.map(|blocked| blocked.since.millis()));
        detail.push(blocked.map(|blocked| blocked.detail.as_str()));
    }
    let tenants: Vec<&str> = given.iter().map(|release| release.by.tenant.as_str()).collect();
    let runs: Vec<&str> = given.iter().map(|release| release.released.run.as_str()).collect();
    let workers: Vec<&str> = given.iter().map(|release| release.by.worker.as_str()).collect();
    let claims: Vec<i64> = given.iter().map(|release| number(release.released.claim)).collect();
    let rows = session
        .query(
            sql::RELEASE_RUNS,
            &[&now, &tenants, &runs, &workers, &claims, &outcome, &arrived, &after, &code, &since, &detail],
        )
        .await?;
    Ok(rows.first().is_some_and(|row| row.get::<_, i64>(0) > 0))
}
