use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use rhythm_core::{Compensation, Status};
use rhythm_engine::world::{NumberedVersion, Page, RunQuery, RunSummary};
use serde::Serialize;

use crate::args::Paging;
use crate::commands::workflows::versions::numbered;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::input;
use crate::output::{Words, short, shown_labels};
use crate::session::Session;
use crate::short_ids::ShortIds;
use crate::times::{lasted, relative};

/// Number of characters of a failure in the table. `runs show` prints all of it.
const SHOWN_REASON: usize = 60;

/// List runs, newest first
#[derive(Debug, Args)]
pub struct List {
    /// Only runs with this status; `suspended` is `waiting`
    #[arg(long, ignore_case = true)]
    status: Option<StatusArg>,
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only runs with this label; without =VALUE, with any value of it. May be repeated: all must fit
    #[arg(long = "label", value_name = "KEY[=VALUE]")]
    labels: Vec<String>,
    /// Only runs that were started by this tag, or by this move of it (main@v3)
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only children of this run
    #[arg(long, value_name = "RUN")]
    parent: Option<String>,
    /// Only runs that cannot go on without help, also those whose tasks no live worker can do
    #[arg(long)]
    blocked: bool,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatusArg {
    Pending,
    Running,
    #[value(alias = "suspended")]
    Waiting,
    Completed,
    Failed,
    Cancelled,
}

impl List {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let parent = match &self.parent {
            Some(parent) => Some(session.client.find_run(parent).await?),
            None => None,
        };
        let query = RunQuery {
            tenant: settings.tenant.clone(),
            status: self.status.map(status),
            workflow: self.workflow,
            labels: input::wanted_labels(self.tag.as_deref(), &self.labels)?,
            parent,
            blocked: self.blocked,
            cursor: self.paging.cursor,
            limit: usize::from(self.paging.limit),
        };
        let page = numbered_page(&session, session.rhythm.world().list_runs(query).await?).await?;
        let now = session.now().await?;
        let words = Words {
            columns: &["RUN", "WORKFLOW", "STATUS", "CREATED", "TOOK", "LABELS", "WHY"],
            none: "no runs",
        };
        let ids = ShortIds::of(page.rows.iter().map(|row| &row.run.id.0));
        session.out.page(&page, words, |row| {
            let run = &row.run;
            vec![
                ids.show(&run.id.0),
                numbered(&run.workflow, row.version_number, &run.version),
                state(run),
                relative(now, run.created_at),
                // For a live run this is the time since its creation.
                lasted(run.ended_at.unwrap_or(now).since(run.created_at)),
                shown_labels(&run.labels),
                run.failure
                    .as_ref()
                    .map(|failure| short(&failure.to_string(), SHOWN_REASON))
                    .unwrap_or_default(),
            ]
        })
    }
}

/// A run with the number of its version.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    run: RunSummary,
    version_number: Option<u64>,
}

async fn numbered_page(session: &Session, page: Page<RunSummary>) -> CliResult<Page<Row>> {
    let mut known: BTreeMap<String, Vec<NumberedVersion>> = BTreeMap::new();
    let mut rows = Vec::with_capacity(page.rows.len());
    for run in page.rows {
        if !known.contains_key(&run.workflow) {
            let (tenant, world) = (session.client.tenant(), session.rhythm.world());
            known.insert(run.workflow.clone(), world.version_numbers(tenant, &run.workflow).await?);
        }
        let found = known[&run.workflow].iter().find(|row| row.version == run.version);
        rows.push(Row { version_number: found.map(|row| row.number), run });
    }
    Ok(Page { rows, next: page.next })
}

fn status(arg: StatusArg) -> Status {
    match arg {
        StatusArg::Pending => Status::Pending,
        StatusArg::Running => Status::Running,
        StatusArg::Waiting => Status::Waiting,
        StatusArg::Completed => Status::Completed,
        StatusArg::Failed => Status::Failed,
        StatusArg::Cancelled => Status::Cancelled,
    }
}

/// Returns the status with remarks: `waiting (paused)`, `waiting (blocked: dead_letter)`,
/// `failed (compensated)`.
pub fn state(run: &RunSummary) -> String {
    let mut remarks = Vec::new();
    if run.paused {
        remarks.push("paused".to_owned());
    }
    if run.cancelling && !run.status.is_final() {
        remarks.push("cancelling".to_owned());
    }
    match run.compensation {
        Compensation::None => {}
        Compensation::Running => remarks.push("compensating".to_owned()),
        Compensation::Done => remarks.push("compensated".to_owned()),
        Compensation::Failed => remarks.push("compensation failed".to_owned()),
    }
    if let Some(blocked) = &run.blocked {
        remarks.push(format!("blocked: {}", blocked.code.as_str()));
    }
    match remarks.is_empty() {
        true => run.status.as_str().to_owned(),
        false => format!("{} ({})", run.status.as_str(), remarks.join(", ")),
    }
}
