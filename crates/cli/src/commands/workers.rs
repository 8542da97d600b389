use clap::Args;
use rhythm_engine::unserved::{Unserved, unserved};
use rhythm_engine::world::WorkerRow;
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::relative;

/// List the workers that live, and those that are gone without a word
#[derive(Debug, Args)]
pub struct Workers {}

impl Workers {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let now = session.now().await?;
        let rows = session.rhythm.world().workers(session.client.tenant()).await?;
        let lost = unserved(&session.client).await?;
        if session.out.is_json() {
            let mut answer = json!({ "rows": rows, "next": null });
            if !lost.is_empty() {
                answer["unserved"] = json!(lost);
            }
            return session.out.json(&answer);
        }
        let words = Words {
            columns: &["WORKER", "STATE", "QUEUES", "RUNNING", "STARTED", "LAST BEAT", "TASKS"],
            none: "no live workers; `rhythm worker` starts one",
        };
        session.out.list(rows, words, |WorkerRow { card, started_at, beat_at, running, live }| {
            vec![
                card.id.to_string(),
                if *live { "live" } else { "gone" }.to_owned(),
                short(&card.queues.join(","), 40),
                format!("{running}/{}", card.concurrency),
                relative(now, *started_at),
                relative(now, *beat_at),
                short(&card.tasks.join(","), 40),
            ]
        })?;
        for Unserved { what, count, oldest, .. } in lost {
            let since = relative(now, oldest);
            session
                .out
                .line(format!("no live worker does {what}: {count} waiting, the oldest since {since}"))?;
        }
        Ok(())
    }
}
