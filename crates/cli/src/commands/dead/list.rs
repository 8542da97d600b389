use clap::{Args, ValueEnum};
use rhythm_core::{BlockedCode, RunId};
use rhythm_engine::world::{DeadLetter, DeadQuery, LetterStatus, RunQuery, RunSummary};

use super::choice::{Choice, Nodes};
use crate::args::Paging;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::short_ids::ShortIds;
use crate::times::relative;

/// List dead letters, newest first
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    choice: Choice,
    /// Those that were decided instead
    #[arg(long, value_name = "STATUS")]
    status: Option<StatusArg>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatusArg {
    Pending,
    Reprocessed,
    Discarded,
}

impl List {
    pub async fn run(self, settings: Settings) -> CliResult {
        let status = match self.status.unwrap_or(StatusArg::Pending) {
            StatusArg::Pending => LetterStatus::Pending,
            StatusArg::Reprocessed => LetterStatus::Reprocessed,
            StatusArg::Discarded => LetterStatus::Discarded,
        };
        // Only letters have a queue, and later pages hold letters only.
        let by_task =
            self.choice.is_given() || self.paging.cursor.is_some() || status != LetterStatus::Pending;
        let session = Session::read(&settings).await?;
        let query = DeadQuery {
            statuses: [status].into(),
            cursor: self.paging.cursor,
            limit: usize::from(self.paging.limit),
            ..self.choice.query(&session).await?
        };
        let mut page = session.rhythm.world().list_dead(query).await?;
        page.rows = Nodes::default().keep(&session, page.rows, &self.choice).await?;
        let now = session.now().await?;
        let words = Words {
            columns: &["TASK", "NAME", "QUEUE", "FATE", "ATTEMPTS", "DIED", "FAILURE"],
            none: "no dead letters: nothing is out of attempts",
        };
        let held = if by_task { Vec::new() } else { held_runs(&session, &settings, &page.rows).await? };
        let ids = ShortIds::of(page.rows.iter().map(|letter| &letter.task.0));
        session.out.page(&page, words, |letter| {
            vec![
                ids.show(&letter.task.0),
                letter.options.shown(&letter.name),
                letter.options.queue.clone(),
                letter.fate.as_str().to_owned(),
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

/// Returns the newest runs held for a node that is not a task, and so has no letter.
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
