use clap::Args;
use rhythm_core::cron::{CatchUp, Cron, Overlap};
use rhythm_core::{Payload, Timestamp};
use rhythm_engine::world::{Schedule, ScheduleTarget};
use serde::Serialize;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::short;
use crate::session::Session;
use crate::times::{exact, relative};

/// Number of future fires shown.
const FORETOLD: usize = 3;
const SHOWN: usize = 2_000;

/// Show one schedule and its next fires
#[derive(Debug, Args)]
pub struct Show {
    name: String,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    schedule: Schedule,
    upcoming: Vec<Timestamp>,
}

impl Show {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let schedule = super::find(&session, &self.name).await?;
        let upcoming = upcoming(&schedule);
        match session.out.is_json() {
            true => session.out.json(&Shown { schedule, upcoming }),
            false => tell(&session, &schedule, &upcoming).await,
        }
    }
}

/// Returns the next fires. A paused schedule has none.
fn upcoming(schedule: &Schedule) -> Vec<Timestamp> {
    let Ok(cron) = Cron::parse(&schedule.cron, &schedule.zone) else { return Vec::new() };
    let first = schedule.next_at.filter(|_| !schedule.paused);
    std::iter::successors(first, |fire| cron.next_after(*fire)).take(FORETOLD).collect()
}

async fn tell(session: &Session, schedule: &Schedule, upcoming: &[Timestamp]) -> CliResult {
    let now = session.now().await?;
    let time = |at: Timestamp| format!("{} UTC ({})", exact(at), relative(now, at));
    let input: &Payload = match &schedule.target {
        ScheduleTarget::Workflow { input, .. } | ScheduleTarget::Task { input, .. } => input,
    };
    let meaning = Cron::parse(&schedule.cron, &schedule.zone).map(|cron| cron.describe());
    let mut fields = vec![
        ("schedule", schedule.name.clone()),
        ("cron", schedule.cron.clone()),
        ("meaning", meaning.unwrap_or_default()),
        ("starts", super::target(&schedule.target)),
        ("input", short(input.text().unwrap_or("(large)"), SHOWN)),
        ("state", if schedule.paused { "paused" } else { "open" }.to_owned()),
        ("catch up", catch_up(schedule.catch_up).to_owned()),
        ("overlap", overlap(schedule.overlap).to_owned()),
        ("fired", format!("{} times, {} passed over", schedule.fired, schedule.missed)),
        ("last", schedule.last_at.map(time).unwrap_or_default()),
        ("started", schedule.last_started.clone().unwrap_or_default()),
    ];
    fields.extend(upcoming.iter().map(|at| ("next", time(*at))));
    session.out.details(&fields)
}

fn catch_up(policy: CatchUp) -> &'static str {
    match policy {
        CatchUp::Skip => "skip",
        CatchUp::One => "one",
        CatchUp::All => "all",
    }
}

fn overlap(policy: Overlap) -> &'static str {
    match policy {
        Overlap::Skip => "skip",
        Overlap::Allow => "allow",
        Overlap::CancelPrevious => "cancel-previous",
    }
}
