use clap::{Args, ValueEnum};
use rhythm::NewSchedule;
use rhythm_core::cron::{CatchUp, Overlap};
use rhythm_engine::error::EngineError;
use rhythm_engine::worker::MAX_PAYLOAD_BYTES;
use rhythm_engine::world::ScheduleTarget;

use crate::commands::tasks::options::OptionArgs;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;
use crate::times::{exact, relative};

/// Add a schedule, or replace the one of that name
#[derive(Debug, Args)]
#[command(after_help = "\
A rule has five fields (minute, hour, day of month, month, day of week), six with seconds in front, or is @hourly, \
@daily, @weekly, @monthly or @yearly: --cron '*/5 * * * *', --cron '0 9 * * MON-FRI'.")]
pub struct Add {
    name: String,
    /// When
    #[arg(long, value_name = "RULE")]
    cron: String,
    /// Whose clock the rule means
    #[arg(long, default_value = "UTC")]
    zone: String,
    /// Enqueue this task
    #[arg(long, value_name = "NAME", conflicts_with = "workflow", required_unless_present = "workflow")]
    task: Option<String>,
    /// Start a run of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// What the task or run gets: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// What becomes of times at which no worker was there
    #[arg(long, default_value = "skip")]
    catch_up: CatchUpArg,
    /// What happens while the run started last has not ended
    #[arg(long, default_value = "skip")]
    overlap: OverlapArg,
    #[command(flatten)]
    options: OptionArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CatchUpArg {
    /// They are dropped
    Skip,
    /// Only the newest starts, however late
    One,
    /// Each starts, oldest first
    All,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OverlapArg {
    /// The new one is dropped
    Skip,
    /// Both run
    Allow,
    /// The old one is cancelled
    CancelPrevious,
}

impl Add {
    pub async fn run(self, settings: Settings) -> CliResult {
        if self.name.is_empty() || self.name.len() > 200 {
            return Err(CliError::BadValue("a schedule's name has 1 to 200 characters".into()));
        }
        let input = input::payload("--input", self.input.as_deref())?;
        if input.size() > MAX_PAYLOAD_BYTES {
            return Err(EngineError::TooLarge { size: input.size(), limit: MAX_PAYLOAD_BYTES }.into());
        }
        let target = match (self.task, self.workflow) {
            (Some(name), _) => ScheduleTarget::Task { name, input, options: self.options.options()? },
            (None, Some(workflow)) if self.options.is_empty() => ScheduleTarget::Workflow { workflow, input },
            (None, _) => {
                return Err(CliError::BadValue(
                    "--queue, --priority, --retries, --timeout and --deadline are for tasks, not workflows"
                        .into(),
                ));
            }
        };
        let new = NewSchedule {
            name: self.name,
            cron: self.cron,
            zone: self.zone,
            target,
            catch_up: match self.catch_up {
                CatchUpArg::Skip => CatchUp::Skip,
                CatchUpArg::One => CatchUp::One,
                CatchUpArg::All => CatchUp::All,
            },
            overlap: match self.overlap {
                OverlapArg::Skip => Overlap::Skip,
                OverlapArg::Allow => Overlap::Allow,
                OverlapArg::CancelPrevious => Overlap::CancelPrevious,
            },
        };
        let session = Session::open(&settings).await?;
        let schedule = session.client.put_schedule(new).await?;
        let now = session.now().await?;
        let next = match schedule.next_at {
            Some(at) => format!("fires next at {} UTC ({})", exact(at), relative(now, at)),
            None => "never fires: no such day exists".to_owned(),
        };
        session.out.done(format!("schedule {} {next}", schedule.name), &schedule)
    }
}
