//! The command line for clap: global options and the list of commands. Each command's own arguments are in
//! its file.

use std::num::NonZero;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands;
use crate::config::Settings;
use crate::errors::CliError;

/// Durable tasks and workflows.
#[derive(Debug, Parser)]
#[command(name = "rhythm", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
The world is where everything is kept: sqlite:PATH, or postgres://USER@HOST/DATABASE. Without --world it is taken \
from RHYTHM_WORLD, RHYTHM_DATABASE_URL, `world` in rhythm.toml (here or in a parent folder), or it is \
sqlite:.rhythm/rhythm.db.

Exit codes: 0 done, 1 what was asked about failed, 2 wrong usage or input, 3 not found, 4 conflict, 5 the world \
cannot be used now, 6 the database is damaged or does not fit this build.";

/// Options every command takes.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Where everything is kept: sqlite:PATH or postgres://USER@HOST/DATABASE
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    pub world: Option<String>,
    /// Whose data
    #[arg(long, global = true, value_name = "NAME", help_heading = "Global options")]
    pub tenant: Option<String>,
    /// Who asks, for the history, instead of $USER@HOST; of approvals: decide for this approver, as delegate
    #[arg(long = "as", global = true, value_name = "NAME", help_heading = "Global options")]
    pub user: Option<String>,
    /// How answers look
    #[arg(short, long, global = true, value_name = "FORM", help_heading = "Global options")]
    pub output: Option<Format>,
    /// Refuse a database with an old schema instead of bringing it up to date
    #[arg(long, global = true, help_heading = "Global options")]
    pub no_migrate: bool,
    /// Only answers and errors, no remarks
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(commands::run::Run),
    Check(commands::check::Check),
    Fmt(commands::fmt::Fmt),
    Test(commands::test::Test),
    Graph(commands::graph::Graph),
    Start(commands::start::Start),
    Worker(commands::worker::Worker),
    Explain(commands::explain::Explain),
    Verify(commands::verify::Verify),
    #[command(subcommand)]
    Runs(commands::runs::Runs),
    #[command(subcommand)]
    Tasks(commands::tasks::Tasks),
    #[command(subcommand, visible_alias = "dlq")]
    Dead(commands::dead::Dead),
    #[command(subcommand)]
    Approvals(commands::approvals::Approvals),
    Workers(commands::workers::Workers),
    #[command(subcommand)]
    Queues(commands::queues::Queues),
    #[command(subcommand)]
    Workflows(commands::workflows::Workflows),
    #[command(subcommand)]
    NodeTypes(commands::node_types::NodeTypes),
    #[command(subcommand)]
    Artifacts(commands::artifacts::Artifacts),
    #[command(subcommand)]
    Schedules(commands::schedules::Schedules),
    #[command(subcommand)]
    Db(commands::db::Db),
    Bench(commands::bench::Bench),
    Completions(commands::completions::Completions),
    #[command(hide = true)]
    Reference(commands::reference::Reference),
    #[command(hide = true)]
    Sandbox(commands::sandbox::Sandbox),
}

impl Command {
    /// Returns the number of threads of the runtime. Stepping runs is a small part of the work; the database
    /// does the rest and may run on this machine. With a thread per processor, several workers on one machine
    /// spend their time on switching.
    pub fn threads(&self, settings: &Settings) -> Result<usize, CliError> {
        let asked = match self {
            Self::Worker(worker) => worker.threads(&settings.worker)?,
            _ => None,
        };
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Ok(asked.unwrap_or((processors / 2).max(1)))
    }

    pub async fn run(self, settings: Settings) -> Result<(), CliError> {
        match self {
            Self::Run(command) => command.run(settings).await,
            Self::Check(command) => command.run(settings).await,
            Self::Fmt(command) => command.run(settings),
            Self::Test(command) => command.run(settings).await,
            Self::Graph(command) => command.run(settings).await,
            Self::Start(command) => command.run(settings).await,
            Self::Worker(command) => command.run(settings).await,
            Self::Explain(command) => command.run(settings).await,
            Self::Verify(command) => command.run(settings).await,
            Self::Runs(command) => command.run(settings).await,
            Self::Tasks(command) => command.run(settings).await,
            Self::Dead(command) => command.run(settings).await,
            Self::Approvals(command) => command.run(settings).await,
            Self::Workers(command) => command.run(settings).await,
            Self::Queues(command) => command.run(settings).await,
            Self::Workflows(command) => command.run(settings).await,
            Self::NodeTypes(command) => command.run(settings).await,
            Self::Artifacts(command) => command.run(settings).await,
            Self::Schedules(command) => command.run(settings).await,
            Self::Db(command) => command.run(settings).await,
            Self::Bench(command) => command.run(settings).await,
            Self::Completions(command) => command.run(settings),
            Self::Reference(command) => command.run(settings),
            // `main` ran it already, before it read settings and started threads.
            Self::Sandbox(_) => Ok(()),
        }
    }
}

/// Which part of a long listing to show.
#[derive(Clone, Debug, Args)]
pub struct Paging {
    /// The most rows to show
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,
    /// Where to go on: what the page before ended with
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}
