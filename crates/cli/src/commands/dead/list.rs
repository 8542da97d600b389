use clap::Args;
use rhythm_core::{BlockedCode, RunId};
use rhythm_engine::world::{DeadLetter, DeadQuery, RunQuery, RunSummary};

use crate::args::Paging;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::relative;

/// List dead letters, newest first
#[derive(Debug, Args)]
pub struct List {
    /// Only those of this run
    #[arg(long)]
    run: Option<String>,
    /// Only those of this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

impl List {
    pub async fn run(self, settings: Settings) -> CliResult {
        // Only letters have a queue, and a page further on is about letters alone.
        let by_task = self.run.is_some() || self.queue.is_some() || self.paging.cursor.is_some();
        let query = DeadQuery {
            tenant: settings.tenant.clone(),
            run: self.run.map(RunId::new),
            queue: self.queue,
            cursor: self.paging.cursor,
            limit: usize::from(self.paging.limit),
        };
        let session = Session::open(&settings).await?;
        let page = session.rhythm.world().list_dead(query).await?;
        let now = session.now().await?;
        let words = Words {
            columns: &["TASK", "NAME", "QUEUE", "ATTEMPTS", "DIED", "FAILURE"],
            none: "no dead letters: nothing is out of attempts",
        };
        let held = if by_task { Vec::new() } else { held_runs(&session, &settings, &page.rows).await? };
        session.out.page(&page, words, |letter| {
            vec![
                letter.task.to_string(),
                letter.name.clone(),
                letter.options.queue.clone(),
                letter.attempts.to_string(),
                relative(now, letter.died_at),
                short(&letter.failure.to_string(), 60),
            ]
        })?;
        for (run, what) in held {
            session.out.note(format!("run {run} is held: {what}; see `rhythm explain {run}`"));
        }
        Ok(())
    }
}

/// Runs that are held for a node that is no task, which leaves no letter. The newest are enough to know of.
async fn held_runs(
    session: &Session,
    settings: &Settings,
    letters: &[DeadLetter],
) -> CliResult<Vec<(RunId, String)>> {
    let query = RunQuery { tenant: settings.tenant.clone(), blocked: true, limit: 20, ..RunQuery::default() };
    let runs = session.rhythm.world().list_runs(query).await?.rows;
    let has_letter = |run: &RunSummary| letters.iter().any(|letter| letter.run.as_ref() == Some(&run.id));
    let held = runs.into_iter().filter(|run| !has_letter(run)).filter_map(|run| {
        let blocked = run.blocked.filter(|blocked| blocked.code == BlockedCode::DeadLetter)?;
        Some((run.id, blocked.detail))
    });
    Ok(held.collect())
}
