use clap::Args;
use rhythm_engine::world::Control;
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::output::count;
use crate::session::Session;

/// Remove ended runs for good, with the runs below them, their histories and their letters
#[derive(Debug, Args)]
#[command(after_help = "\
A run that is live, or has a live run or a task under way below it, is refused: cancel it first. So is one with a dead letter \
that nobody has decided about, unless --with-letters says that it goes too. The key of a deleted run is free again. Large values \
that nothing else names are removed by the workers, after their --blob-grace.")]
pub struct Delete {
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Also remove dead letters nobody has decided about
    #[arg(long)]
    with_letters: bool,
    /// Really do it
    #[arg(long)]
    yes: bool,
}

impl Delete {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let runs = session.find_runs(&self.runs).await?;
        if !self.yes {
            for run in &runs {
                session.client.picture(run).await?;
            }
            let runs = count(u64::try_from(runs.len()).unwrap_or(u64::MAX), "run");
            return Err(CliError::Unconfirmed(format!("remove {runs} for good, with the runs below")));
        }
        for run in &runs {
            let (id, letters) = (run.clone(), self.with_letters);
            session.client.control(Control::DeleteRun { run: id, letters }).await?;
            if !session.out.is_json() && !session.out.is_quiet() {
                session.out.line(format!("run {run} is deleted"))?;
            }
        }
        match session.out.is_json() {
            true => session.out.json(&json!({ "deleted": runs })),
            false => Ok(()),
        }
    }
}
