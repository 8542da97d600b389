pub mod choice;
mod list;
mod settle;
mod show;

use clap::Subcommand;

use crate::config::Settings;
use crate::errors::CliResult;

/// Tasks out of attempts: look at them, run them again, drop them
#[derive(Debug, Subcommand)]
pub enum Dead {
    List(list::List),
    Show(show::Show),
    /// Run dead letters again, with fresh attempts; a run that one of them failed is opened again
    #[command(visible_alias = "reprocess")]
    Requeue(settle::Which),
    /// Drop dead letters for good; a run held for one of them gets the failure
    Discard(settle::Which),
}

impl Dead {
    pub async fn run(self, settings: Settings) -> CliResult {
        match self {
            Self::List(command) => command.run(settings).await,
            Self::Show(command) => command.run(settings).await,
            Self::Requeue(which) => which.run(settings, settle::Verb::Requeue).await,
            Self::Discard(which) => which.run(settings, settle::Verb::Discard).await,
        }
    }
}
