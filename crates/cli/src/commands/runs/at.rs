use clap::Args;
use rhythm_core::fold::End;
use rhythm_core::{RunId, Status};
use rhythm_engine::programs::Programs;
use rhythm_engine::travel::{Moment, at};
use serde_json::json;

use super::position;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Table, short};
use crate::session::Session;
use crate::times::exact;

/// Show a run as it was after one of its events, by folding its history up to there
#[derive(Debug, Args)]
#[command(after_help = "\
`rhythm runs events RUN` shows the events with their numbers. A transition is written whole: each of its events shows \
the run after the last of them.")]
pub struct At {
    run: String,
    /// The number of the event
    #[arg(value_name = "EVENT")]
    event: u64,
}

impl At {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let run = session.client.find_run(&self.run).await?;
        let moment = at(&session.client, &Programs::default(), &run, self.event).await?;
        match session.out.is_json() {
            true => session.out.json(&json!({
                "run": run,
                "event": moment.event,
                "last_event": moment.last,
                "at": moment.past.state.at,
                "status": status(&moment),
                "position": moment.place,
                "awaiting": moment.past.state.awaiting,
                "cancelling": moment.past.state.cancelling,
                "open": {
                    "tasks": moment.past.open.tasks.values().collect::<Vec<_>>(),
                    "timers": moment.past.open.timers.values().collect::<Vec<_>>(),
                    "children": moment.past.open.children.values().collect::<Vec<_>>(),
                },
            })),
            false => tell(&session, &run, &moment),
        }
    }
}

fn status(moment: &Moment) -> Status {
    match &moment.past.end {
        Some(End::Completed(_)) => Status::Completed,
        Some(End::Failed(_)) => Status::Failed,
        Some(End::Cancelled(_)) => Status::Cancelled,
        None if moment.past.state.snapshot.is_none() => Status::Pending,
        None => Status::Waiting,
    }
}

fn tell(session: &Session, run: &RunId, moment: &Moment) -> CliResult {
    let state = &moment.past.state;
    let cancelling = if state.cancelling { ", cancelling" } else { "" };
    session.out.details(&[
        ("run", run.to_string()),
        ("event", format!("{} {}", moment.event.seq, moment.event.data.kind())),
        ("after event", moment.last.to_string()),
        ("time", exact(state.at)),
        ("status", format!("{}{cancelling}", status(moment).as_str())),
    ])?;
    if let Some(place) = &moment.place {
        position::tell(session, status(moment), place)?;
    }
    let open = &moment.past.open;
    let mut table = Table::new(&["NUMBER", "WHAT", "INPUT"]);
    for (number, task) in &open.tasks {
        let input = task.input.text().unwrap_or("(large)");
        table.row(vec![number.to_string(), format!("task {}", task.name), short(input, 80)]);
    }
    for (number, timer) in &open.timers {
        table.row(vec![number.to_string(), format!("timer until {}", exact(timer.fire_at)), String::new()]);
    }
    for (number, child) in &open.children {
        let input = child.input.text().unwrap_or("(large)");
        table.row(vec![number.to_string(), format!("workflow {}", child.workflow), short(input, 80)]);
    }
    session.out.section("under way", &table)
}
