mod each;

use std::time::{Duration, Instant};

use clap::Args;
use rhythm::StartRun;
use rhythm_core::{Compensation, Millis, RunId, Status, Version};
use rhythm_engine::drive::wait_for_run;
use rhythm_engine::explain::explain;
use rhythm_engine::whereabouts::whereabouts;
use rhythm_engine::world::Picture;
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::progress::Shown;
use crate::session::Session;
use crate::times;
use each::{Keys, start_each};

/// Interval at which a run is read while the command waits for it.
const GLANCE: Duration = Duration::from_millis(100);

/// Start a run of a workflow and print its id
#[derive(Debug, Args)]
#[command(after_help = "\
--each starts a run for each line of a file, many in one transaction, and prints their ids in the order of the lines. Nothing is \
started unless every line is JSON that the workflow takes; those that are not are named by their numbers. Without --key and \
--key-field every call starts new runs.")]
pub struct Start {
    /// A registered workflow, also with a version (order@3, order@main), or a move of a tag (main@v3); may be left out where
    /// --tag names it
    #[arg(required_unless_present = "tag")]
    workflow: Option<String>,
    /// What the run gets: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// A run for each line of this file: JSON documents, @FILE, or - for standard input
    #[arg(long, value_name = "NDJSON", conflicts_with_all = ["input", "wait"])]
    each: Option<String>,
    /// The same key always names the same run: a repeated start is harmless. With --each: KEY:LINE for each line
    #[arg(long)]
    key: Option<String>,
    /// With --each: the key of a line is what this field of it holds
    #[arg(long, value_name = "FIELD", requires = "each", conflicts_with = "key")]
    key_field: Option<String>,
    /// Start this version instead of the current one: its number, its hash or the beginning of it, or a tag
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Higher goes first
    #[arg(long, default_value_t = 0, value_name = "N", allow_negative_numbers = true, value_parser = input::priority)]
    priority: i32,
    /// Start this much later
    #[arg(long, value_name = "DURATION")]
    delay: Option<String>,
    /// Fail the run when it has not ended after this time
    #[arg(long, value_name = "DURATION")]
    deadline: Option<String>,
    /// Start the version this tag points at
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Give the run this label, to find it by; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Show the steps of the run as they happen, wait for its end and print its output
    #[arg(long)]
    wait: bool,
}

impl Start {
    pub async fn run(self, settings: Settings) -> CliResult {
        let tag = self.tag.as_deref().map(input::tag).transpose()?;
        let labels =
            self.labels.iter().map(|label| input::pair("--label", label)).collect::<CliResult<_>>()?;
        let session = Session::open(&settings).await?;
        let workflow = self.workflow.unwrap_or_default();
        let version = match &self.version {
            // The client refuses a start that names its version twice.
            Some(named) if workflow.is_empty() || workflow.contains('@') => Some(Version::new(named)),
            Some(named) => Some(session.client.select_version(&workflow, named).await?),
            None => None,
        };
        let start = StartRun {
            workflow,
            tag,
            version,
            input: input::payload("--input", self.input.as_deref())?,
            key: self.key,
            priority: self.priority,
            delay: input::optional_duration("--delay", self.delay.as_deref())?.unwrap_or(Millis::ZERO),
            deadline: input::optional_duration("--deadline", self.deadline.as_deref())?,
            labels,
            ..StartRun::default()
        };
        let session = Session::open(&settings).await?;
        if let Some(from) = &self.each {
            let (key, field) = (start.key.clone(), self.key_field.as_deref());
            let model = StartRun { key: None, ..start };
            return start_each(&session, from, &model, &Keys { prefix: key.as_deref(), field }).await;
        }
        let run = session.client.start_run(start).await?;
        if self.wait {
            return wait_and_tell(&session, &run).await;
        }
        match session.out.is_json() {
            true => session.out.json(&json!({ "run": run })),
            false => session.out.line(run.as_str()),
        }
    }
}

/// Waits for the end of a run and prints its output. Fails if the run did not complete.
async fn wait_and_tell(session: &Session, run: &RunId) -> CliResult {
    let hint = async {
        match explain(&session.client, run).await {
            Ok(found) => {
                let command = found.reasons.iter().find_map(|reason| reason.command.as_deref());
                let command = command.map(|command| format!(" ({command})")).unwrap_or_default();
                format!("waiting for run {run}: {}{command}", found.summary)
            }
            Err(_) => format!("waiting for run {run}"),
        }
    };
    let (began, mut shown) = (Instant::now(), Shown::default());
    let ended = session.wait(wait_for_run(&session.client, run), hint);
    tokio::pin!(ended);
    let picture = loop {
        tokio::select! {
            ended = &mut ended => break ended?,
            () = tokio::time::sleep(GLANCE) => {}
        }
        if !session.out.is_quiet() {
            shown.go_on(session, run, &[]).await?;
        }
    };
    if session.out.is_quiet() {
        return tell(session, run, picture).await;
    }
    shown.go_on(session, run, &[]).await?;
    let status = picture.summary.status.as_str();
    let took = Millis(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
    let told = tell(session, run, picture).await;
    session.out.progress(status, &format!("in {}: {}", times::lasted(took), shown.counts()));
    told
}

/// Prints the output of an ended run. Fails if the run did not complete.
pub async fn tell(session: &Session, run: &RunId, picture: Picture) -> CliResult {
    let what = format!("run {run}");
    let command = |verb: &str| session.command(&format!("rhythm {verb} {run}"));
    let explain = command("explain");
    let help = match picture.summary.compensation {
        Compensation::None => {
            format!("`{explain}` says why, `{}` tries again", command("runs retry"))
        }
        Compensation::Failed => {
            let again = command("runs compensate");
            format!("`{explain}` says why, `{again}` tries again to take back what is left")
        }
        // The run was compensated, so it cannot be retried.
        Compensation::Running | Compensation::Done => {
            format!("`{explain}` says why; it has taken back what it did, so start a new run")
        }
    };
    let place = match picture.summary.status {
        Status::Failed => whereabouts(&session.client, &picture).await?,
        _ => None,
    };
    match (picture.summary.status, picture.output, picture.failure) {
        (Status::Completed, Some(output), _) => {
            let text = session.text(&output).await?;
            session.out.raw(&format!("{text}\n"))
        }
        (Status::Failed, _, Some(failure)) => {
            let place = place.map(|place| format!(" at line {}", place.line)).unwrap_or_default();
            Err(CliError::Failed { what, place, help, failure: Box::new(failure) })
        }
        (Status::Completed, None, _) => session.out.raw("null\n"),
        _ => Err(CliError::Cancelled { what }),
    }
}
