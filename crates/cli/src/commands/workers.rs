use clap::Args;
use rhythm_engine::world::WorkerRow;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::relative;

/// List the live workers
#[derive(Debug, Args)]
pub struct Workers {}

impl Workers {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let now = session.now().await?;
        let rows = session.rhythm.world().workers(session.client.tenant()).await?;
        let words = Words {
            columns: &["WORKER", "QUEUES", "RUNNING", "STARTED", "LAST BEAT", "TASKS"],
            none: "no live workers; `rhythm worker` starts one",
        };
        session.out.list(rows, words, |WorkerRow { card, started_at, beat_at, running }| {
            vec![
                card.id.to_string(),
                short(&card.queues.join(","), 40),
                format!("{running}/{}", card.concurrency),
                relative(now, *started_at),
                relative(now, *beat_at),
                short(&card.tasks.join(","), 40),
            ]
        })
    }
}
