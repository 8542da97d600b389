use clap::Args;
use rhythm_engine::world::{DeadQuery, LetterStatus};

use crate::args::Paging;
use crate::commands::dead::choice::{Choice, Nodes};
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::short_ids::ShortIds;
use crate::times::relative;

/// List tasks that failed for good, newest first: dead letters, and what runs have handled
#[derive(Debug, Args)]
pub struct Failed {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    paging: Paging,
}

impl Failed {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let query = DeadQuery {
            statuses: LetterStatus::ALL.into(),
            cursor: self.paging.cursor,
            limit: usize::from(self.paging.limit),
            ..self.choice.query(&session).await?
        };
        let mut page = session.rhythm.world().list_dead(query).await?;
        page.rows = Nodes::default().keep(&session, page.rows, &self.choice).await?;
        let now = session.now().await?;
        let words = Words {
            columns: &["TASK", "NAME", "FATE", "STATUS", "ATTEMPTS", "FAILED", "FAILURE"],
            none: "no task has failed",
        };
        let ids = ShortIds::of(page.rows.iter().map(|task| &task.task.0));
        session.out.page(&page, words, |task| {
            vec![
                ids.show(&task.task.0),
                task.options.shown(&task.name),
                task.fate.as_str().to_owned(),
                task.status.as_str().to_owned(),
                task.attempts.to_string(),
                relative(now, task.died_at),
                short(&task.failure.to_string(), 60),
            ]
        })
    }
}
