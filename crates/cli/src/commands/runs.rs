mod at;
mod compensate;
mod delete;
mod dismiss;
mod events;
mod follow;
mod fork;
mod list;
mod patch;
mod patches;
mod path;
mod people;
mod places;
mod position;
mod retry;
mod show;
mod steer;

use clap::Subcommand;

use crate::commands::start::Start;
use crate::config::Settings;
use crate::errors::CliResult;

/// Look at runs and steer them
#[derive(Debug, Subcommand)]
#[command(after_help = "\
RUN is the whole id of a run, or its last characters, as the tables show them: at least 6, and followed by the numbers of \
a child (.3) where there are any. They are looked for among the newest 10,000 runs, and must fit one of them.")]
pub enum Runs {
    List(list::List),
    Show(show::Show),
    Events(events::Events),
    Path(path::Path),
    At(at::At),
    Fork(fork::Fork),
    Start(Start),
    Patch(patch::Patch),
    Patches(patches::Patches),
    Signal(steer::Signal),
    Cancel(steer::Cancel),
    Pause(steer::Pause),
    Resume(steer::Resume),
    Retry(retry::Retry),
    Compensate(compensate::Compensate),
    Dismiss(dismiss::Dismiss),
    Delete(delete::Delete),
}

impl Runs {
    pub async fn run(self, settings: Settings) -> CliResult {
        match self {
            Self::List(command) => command.run(settings).await,
            Self::Show(command) => command.run(settings).await,
            Self::Events(command) => command.run(settings).await,
            Self::Path(command) => command.run(settings).await,
            Self::At(command) => command.run(settings).await,
            Self::Fork(command) => command.run(settings).await,
            Self::Start(command) => command.run(settings).await,
            Self::Patch(command) => command.run(settings).await,
            Self::Patches(command) => command.run(settings).await,
            Self::Signal(command) => command.run(settings).await,
            Self::Cancel(command) => command.run(settings).await,
            Self::Pause(command) => command.run(settings).await,
            Self::Resume(command) => command.run(settings).await,
            Self::Retry(command) => command.run(settings).await,
            Self::Compensate(command) => command.run(settings).await,
            Self::Dismiss(command) => command.run(settings).await,
            Self::Delete(command) => command.run(settings).await,
        }
    }
}
