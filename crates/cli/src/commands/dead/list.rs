use clap::Args;
use rhythm_core::RunId;
use rhythm_engine::world::DeadQuery;

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
        session.out.page(&page, words, |letter| {
            vec![
                letter.task.to_string(),
                letter.name.clone(),
                letter.options.queue.clone(),
                letter.attempts.to_string(),
                relative(now, letter.died_at),
                short(&letter.failure.to_string(), 60),
            ]
        })
    }
}
