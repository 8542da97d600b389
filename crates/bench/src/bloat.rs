//! W9: W1 repeated while another session keeps an old snapshot open, so that no dead tuple can be removed.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::figures::ratio;
use crate::flows::STEPS;
use crate::in_process::InProcess;
use crate::progress::Progress;
use crate::report::{Measured, object};
use crate::scratch_db::Ground;
use crate::throughput::Load;
use crate::{BenchError, database};

/// Shortest time for a figure without the old snapshot.
const QUIET: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);

pub async fn measure(
    ground: &Ground,
    load: &Load,
    lasting: Duration,
    progress: &Progress,
) -> Result<Measured, BenchError> {
    let worker = InProcess::start(&ground.open().await?, load.concurrency).await?;
    STEPS.register(&worker.client).await?;
    // A warm-up: the first round opens connections and prepares statements.
    load.round(&worker).await?;
    progress.say("quiet, before");
    let quiet = Rounds::run(load, &worker, QUIET.max(lasting / 50), progress).await?;
    let old = OldSnapshot::open(ground).await?;
    progress.say(&format!("{} s beside an old snapshot", lasting.as_secs()));
    let rot = Rounds::run(load, &worker, lasting, progress).await?;
    old.close().await?;
    let (quiet_per_s, per_s) = (quiet.per_s(0.0), rot.per_s(0.8));
    let rounds = 1 + quiet.rounds + rot.rounds;
    let mut detail = load.detail();
    detail.extend(object(json!({
        "rounds": rounds,
        "first_fifth_per_s": rot.per_s_between(0.0, 0.2),
        "quiet_per_s": quiet_per_s,
        "ratio_to_quiet": ratio(per_s, quiet_per_s),
    })));
    let expected = load.tasks() * rounds;
    let measured = Measured {
        per_s,
        wall_s: Some(rot.wall().as_secs_f64()),
        lost: Some(load.lost(&worker.client, rounds).await?),
        repeated: Some(worker.executions().saturating_sub(expected)),
        detail,
        ..Measured::default()
    };
    worker.stop().await;
    Ok(measured)
}

/// Repeated rounds of W1, with the count of executions at many moments.
struct Rounds {
    rounds: u64,
    counts: Vec<(Duration, u64)>,
}

impl Rounds {
    async fn run(
        load: &Load,
        worker: &InProcess,
        lasting: Duration,
        progress: &Progress,
    ) -> Result<Self, BenchError> {
        let began = Instant::now();
        let mut all = Self { rounds: 0, counts: vec![(Duration::ZERO, worker.executions())] };
        while began.elapsed() < lasting {
            let round = load.round(worker);
            tokio::pin!(round);
            loop {
                tokio::select! {
                    ended = &mut round => { ended?; break }
                    () = tokio::time::sleep(LOOK) => all.counts.push((began.elapsed(), worker.executions())),
                }
                progress.count("seconds", began.elapsed().as_secs(), lasting.as_secs());
            }
            all.rounds += 1;
        }
        all.counts.push((began.elapsed(), worker.executions()));
        Ok(all)
    }

    fn wall(&self) -> Duration {
        self.counts.last().map_or(Duration::ZERO, |(at, _)| *at)
    }

    /// Returns the rate from this share of the time to the end.
    fn per_s(&self, from: f64) -> Option<f64> {
        self.per_s_between(from, 1.0)
    }

    fn per_s_between(&self, from: f64, to: f64) -> Option<f64> {
        let at = |share: f64| {
            let moment = self.wall().mul_f64(share);
            self.counts.iter().rfind(|(at, _)| *at <= moment)
        };
        let ((begin, before), (end, after)) = at(from).zip(at(to))?;
        ratio(Some((after - before) as f64), Some((*end - *begin).as_secs_f64()))
    }
}

/// A reader that has read once and keeps its transaction open.
enum OldSnapshot {
    Sqlite(rusqlite::Connection),
    Postgres(database::Connected),
}

impl OldSnapshot {
    async fn open(ground: &Ground) -> Result<Self, BenchError> {
        match ground.url().strip_prefix("sqlite:") {
            Some(path) => {
                let db = rusqlite::Connection::open(path)?;
                db.execute_batch(include_str!("sql/old_snapshot_sqlite.sql"))?;
                Ok(Self::Sqlite(db))
            }
            None => {
                let db = database::connect(ground.url()).await?;
                db.batch_execute(include_str!("sql/old_snapshot_postgres.sql")).await?;
                Ok(Self::Postgres(db))
            }
        }
    }

    /// Ends the reader. Fails when its transaction was already gone, because then nothing was measured.
    async fn close(self) -> Result<(), BenchError> {
        match self {
            Self::Sqlite(db) => db.execute_batch("COMMIT")?,
            Self::Postgres(db) => {
                let held = db.query_one(include_str!("sql/holds_snapshot_postgres.sql"), &[]).await?;
                if !held.get::<_, bool>(0) {
                    let text = "the server ended the transaction that was to stay open";
                    return Err(BenchError::NotMeasured(text.into()));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_the_last_fifth_is_its_own() {
        let counts = (0..=10).map(|second| {
            (Duration::from_secs(second), if second < 8 { second * 100 } else { 700 + (second - 7) * 10 })
        });
        let rounds = Rounds { rounds: 1, counts: counts.collect() };
        assert_eq!(rounds.per_s_between(0.0, 0.2), Some(100.0));
        assert_eq!(rounds.per_s(0.8), Some(10.0));
    }
}
