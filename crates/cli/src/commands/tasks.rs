mod cancel;
mod enqueue;
mod failed;
pub mod list;
pub mod options;
mod show;

use clap::Subcommand;

use crate::config::Settings;
use crate::errors::CliResult;

/// Enqueue tasks and look at them
#[derive(Debug, Subcommand)]
pub enum Tasks {
    Enqueue(enqueue::Enqueue),
    List(list::List),
    Failed(failed::Failed),
    Show(show::Show),
    Cancel(cancel::Cancel),
}

impl Tasks {
    pub async fn run(self, settings: Settings) -> CliResult {
        match self {
            Self::Enqueue(command) => command.run(settings).await,
            Self::List(command) => command.run(settings).await,
            Self::Failed(command) => command.run(settings).await,
            Self::Show(command) => command.run(settings).await,
            Self::Cancel(command) => command.run(settings).await,
        }
    }
}
