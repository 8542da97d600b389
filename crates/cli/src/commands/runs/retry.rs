//! Retries a run: as it is, at one node, or with another version of its workflow; one run, or all that a
//! filter selects.

use clap::{Args, ValueEnum};
use rhythm_core::{Millis, Status, Version};
use rhythm_engine::client::{RetryNode, RetryRun};
use rhythm_engine::error::EngineError;
use rhythm_engine::programs::Programs;
use rhythm_engine::versions::{Change, ChangeVersion, change_version_of, preview_change};
use rhythm_engine::world::{RunQuery, RunSummary};
use serde_json::{Value, json};

use crate::commands::workflows::versions::short_version;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::input;
use crate::output::count;
use crate::session::Session;

/// Open a failed or blocked run again: what failed it is tried anew
#[derive(Debug, Args)]
#[command(after_help = "\
With --version a run goes on with another version of its workflow, to repair a bug in it: a failed run is opened with it, a \
run that waits goes on waiting. A flow's run fits a version that has exactly one wait with the same text inside the same \
loops and tries, and that reads no variable there which the run does not have; otherwise nothing is changed and both \
sources are shown. --at-line names the statement that waits for what the run waits for. A graph's run fits when nothing is \
under way at a node that the version does not have.

Without RUN all runs of --workflow are tried, or those that --status, --label and --tag leave of them; --dry-run says what would \
become of each.

With --node a run of a graph is tried again at that node, which must be the one it failed of or is held for. With --config the \
node begins anew with the tokens it has and this config, which is a patch of the run: checked against the node's type, \
listed by `rhythm runs patches`, undone by `rhythm runs patch --undo`.")]
pub struct Retry {
    #[arg(required_unless_present = "workflow", conflicts_with = "workflow")]
    run: Option<String>,
    /// Go on with this version: its number, its hash or the beginning of it, or a tag
    #[arg(long, value_name = "VERSION", conflicts_with = "node")]
    version: Option<String>,
    /// The line of that version where the run waits
    #[arg(long, value_name = "LINE", requires = "version", conflicts_with = "workflow")]
    at_line: Option<u32>,
    /// All runs of this workflow
    #[arg(long, value_name = "NAME", conflicts_with = "node")]
    workflow: Option<String>,
    /// With --workflow: only runs with this status; failed ones unless --version is given
    #[arg(long, requires = "workflow")]
    status: Option<StatusArg>,
    /// With --workflow: only runs with this label; without =VALUE, with any value of it. May be repeated: all must fit
    #[arg(long = "label", value_name = "KEY[=VALUE]", requires = "workflow")]
    labels: Vec<String>,
    /// With --workflow: only runs that were started by this tag, or by this move of it (main@v3)
    #[arg(long, value_name = "TAG", requires = "workflow")]
    tag: Option<String>,
    /// Say what would be done, and change nothing
    #[arg(long, conflicts_with = "node")]
    dry_run: bool,
    /// The node that failed
    #[arg(long, value_name = "NODE", requires = "reason")]
    node: Option<String>,
    /// Its config from now on, in this run: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", requires = "node")]
    config: Option<String>,
    /// A new deadline, from now on; by default a run that had one has as long as before
    #[arg(long, value_name = "DURATION", conflicts_with_all = ["node", "version", "workflow"])]
    deadline: Option<String>,
    /// Kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatusArg {
    Failed,
    Waiting,
}

impl Retry {
    pub async fn run(mut self, settings: Settings) -> CliResult {
        let config = self.config.as_deref().map(|given| input::json("--config", given)).transpose()?;
        let deadline = input::optional_duration("--deadline", self.deadline.as_deref())?;
        let session = Session::open(&settings).await?;
        let reason = self.reason.clone().unwrap_or_default();
        let Some(run) = self.run.take() else { return self.all(&session, &reason).await };
        let run = session.client.find_run(&run).await?;
        if let Some(node) = self.node {
            let text = match config {
                Some(_) => format!("run {run} tries node {node} again, with another config"),
                None => format!("run {run} tries node {node} again"),
            };
            let shown = json!({ "run": run, "retried": true, "node": node, "config": config });
            session.client.retry_node(&run, RetryNode { node, config, reason }).await?;
            return session.out.done(text, &shown);
        }
        let summary = session.client.picture(&run).await?.summary;
        let to = self.wanted(&session, &summary.workflow).await?;
        let (text, shown) = self.one(&session, &summary, to.as_ref(), (&reason, deadline)).await?;
        session.out.done(text, &shown)
    }

    async fn wanted(&self, session: &Session, workflow: &str) -> CliResult<Option<Version>> {
        match &self.version {
            Some(named) => Ok(Some(session.client.select_version(workflow, named).await?)),
            None => Ok(None),
        }
    }

    /// Retries one run and returns the outcome.
    async fn one(
        &self,
        session: &Session,
        run: &RunSummary,
        to: Option<&Version>,
        (reason, deadline): (&str, Option<Millis>),
    ) -> Result<(String, Value), EngineError> {
        let id = &run.id;
        let Some(to) = to.filter(|to| **to != run.version) else {
            if self.dry_run {
                let text = format!("run {id} would be opened again");
                return Ok((text, json!({ "run": id, "retried": false, "dry_run": true })));
            }
            let reason = reason.to_owned();
            session.client.retry_run_with(id, RetryRun { reason, deadline }).await?;
            return Ok((format!("run {id} is open again"), json!({ "run": id, "retried": true })));
        };
        let wish = ChangeVersion { to: to.clone(), line: self.at_line, reason: reason.to_owned(), id: None };
        let programs = Programs::default();
        let change = match self.dry_run {
            true => preview_change(&session.client, &programs, id, &wish).await?,
            false => change_version_of(&session.client, &programs, id, &wish).await?,
        };
        let shown = json!({ "run": id, "retried": !self.dry_run && change.reopens, "dry_run": self.dry_run,
            "change": change });
        Ok((said(&change, self.dry_run), shown))
    }

    /// Retries all runs that the filter selects. A refused run does not stop the others.
    async fn all(&self, session: &Session, reason: &str) -> CliResult {
        let workflow = self.workflow.clone().unwrap_or_default();
        let to = self.wanted(session, &workflow).await?;
        let (mut done, mut refused, mut rows) = (0_u64, 0_u64, Vec::new());
        for run in self.found(session, workflow, to.as_ref()).await? {
            match self.one(session, &run, to.as_ref(), (reason, None)).await {
                Ok((text, shown)) => {
                    done += 1;
                    rows.push(shown);
                    if !session.out.is_json() && !session.out.is_quiet() {
                        session.out.line(text)?;
                    }
                }
                Err(EngineError::World(error)) if error.is_passing() => {
                    return Err(EngineError::World(error).into());
                }
                Err(error) => {
                    refused += 1;
                    rows.push(json!({ "run": run.id, "retried": false,
                        "refused": { "code": error.code(), "message": error.to_string() } }));
                    session.out.note(format!("{}: {error}", run.id));
                }
            }
        }
        let word = if self.dry_run { "would be tried again" } else { "tried again" };
        let mut text = format!("{} {word}", count(done, "run"));
        if refused > 0 {
            text.push_str(&format!(", {refused} refused"));
        }
        session
            .out
            .done(text, &json!({ "dry_run": self.dry_run, "count": done, "refused": refused, "runs": rows }))
    }

    async fn found(
        &self,
        session: &Session,
        workflow: String,
        to: Option<&Version>,
    ) -> CliResult<Vec<RunSummary>> {
        let status = match (self.status, to) {
            (Some(StatusArg::Failed), _) | (None, None) => Some(Status::Failed),
            (Some(StatusArg::Waiting), _) => Some(Status::Waiting),
            (None, Some(_)) => None,
        };
        let mut query = RunQuery {
            tenant: session.client.tenant().clone(),
            status,
            workflow: Some(workflow),
            labels: input::wanted_labels(self.tag.as_deref(), &self.labels)?,
            parent: None,
            blocked: false,
            cursor: None,
            limit: 500,
        };
        let mut found = Vec::new();
        loop {
            let page = session.rhythm.world().list_runs(query.clone()).await?;
            found.extend(page.rows.into_iter().filter(|run| is_meant(run, to)));
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(found),
            }
        }
    }
}

/// Whether a run of the filter needs a retry. Completed and cancelled runs do not, nor do runs that already
/// have the version.
fn is_meant(run: &RunSummary, to: Option<&Version>) -> bool {
    match run.status {
        Status::Failed => true,
        Status::Completed | Status::Cancelled => false,
        Status::Pending => false,
        Status::Running | Status::Waiting => to.is_some_and(|to| run.version != *to),
    }
}

fn said(change: &Change, dry_run: bool) -> String {
    let goes = if dry_run { "would go on" } else { "goes on" };
    let lines = match (change.from_line, change.to_line) {
        (Some(from), Some(to)) => format!(" at line {to} (it stood at line {from})"),
        _ => String::new(),
    };
    format!("run {} {goes} with version {}{lines}", change.run, short_version(&change.to))
}
