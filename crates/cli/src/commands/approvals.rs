mod decide;
mod link;
mod list;
mod show;
mod which;

use clap::Subcommand;
use rhythm_engine::client::Decision;

use crate::config::Settings;
use crate::errors::CliResult;

/// Questions runs put to people: look at them, answer them, send links to answer them
#[derive(Debug, Subcommand)]
pub enum Approvals {
    List(list::List),
    Show(show::Show),
    /// Say yes; only the first answer counts, and whoever comes later is told so
    Approve(decide::Answer),
    /// Say no; only the first answer counts, and whoever comes later is told so
    Reject(decide::Answer),
    Link(link::Link),
}

impl Approvals {
    pub async fn run(self, settings: Settings) -> CliResult {
        match self {
            Self::List(command) => command.run(settings).await,
            Self::Show(command) => command.run(settings).await,
            Self::Approve(answer) => answer.run(settings, Decision::Approve).await,
            Self::Reject(answer) => answer.run(settings, Decision::Reject).await,
            Self::Link(command) => command.run(settings).await,
        }
    }
}
