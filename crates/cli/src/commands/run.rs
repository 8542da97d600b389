use std::time::Duration;

use clap::Args;
use rhythm::StartRun;
use rhythm_core::{Blocked, BlockedCode, Millis, RunId};
use rhythm_engine::definitions::Refused;
use rhythm_engine::explain::explain;

use crate::builtin::Allowed;
use crate::commands::start::tell;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::output::clean;
use crate::progress::Shown;
use crate::session::Session;
use crate::times;
use crate::workflow_files;

/// How long a run may stand still before it is looked into why.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the run is looked at.
const GLANCE: Duration = Duration::from_millis(50);

/// Run a workflow here and now: a flow or graph in a file or a registered name, with the built-in tasks
#[derive(Debug, Args)]
#[command(after_help = "\
The steps are shown as they happen, the result is printed when the run ends. Ctrl-C leaves the run where it stands; \
--resume goes on with it. Tasks other than the built-in ones need a worker of their own on the same world.")]
pub struct Run {
    /// A .flow or .graph.yaml file, or the name of a registered workflow, also with a version: order@3
    #[arg(value_name = "FILE|NAME", required_unless_present_any = ["resume", "tag"])]
    target: Option<String>,
    /// Run the version this tag points at; it names the workflow too
    #[arg(long)]
    tag: Option<String>,
    /// What the run gets: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// The same key always names the same run
    #[arg(long)]
    key: Option<String>,
    /// Go on with this run instead of starting one
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "input", "key", "tag"])]
    resume: Option<String>,
    #[command(flatten)]
    allowed: Allowed,
}

impl Run {
    pub async fn run(self, settings: Settings) -> CliResult {
        let input = input::payload("--input", self.input.as_deref())?;
        let session = Session::open(&settings).await?;
        let run = match (&self.resume, &self.target) {
            (Some(run), _) => RunId::new(run),
            (None, target) => {
                let workflow = registered(&session, target.as_deref().unwrap_or_default()).await?;
                let (tag, key) = (self.tag.clone(), self.key.clone());
                let start = StartRun { workflow, tag, input, key, ..StartRun::default() };
                session.client.start_run(start).await?
            }
        };
        session.client.picture(&run).await?;
        session.out.note(format!("run {run}"));
        let worker = self.allowed.add_to(session.rhythm.worker(), &settings.worker)?.start().await?;
        let mut shown = Shown::default();
        let began = std::time::Instant::now();
        let mut warned = false;
        let interrupted = loop {
            let picture = session.client.picture(&run).await?;
            shown.go_on(&session, &run, &picture.tasks).await?;
            if picture.summary.status.is_final() {
                break false;
            }
            // Nothing goes on with it by itself.
            let set_aside = |blocked: &&Blocked| blocked.code == BlockedCode::Quarantined;
            if let Some(blocked) = picture.summary.blocked.as_ref().filter(set_aside) {
                let reason = blocked.detail.clone();
                worker.stop().await?;
                return Err(CliError::Blocked { run: run.to_string(), reason });
            }
            // Nobody here can do it, and perhaps nobody anywhere.
            if !warned
                && began.elapsed() > PATIENCE
                && let Some(reason) = stuck(&session, &run).await?
            {
                // Also for whoever wants to hear nothing but the result: it may never come.
                if session.out.is_quiet() {
                    session.out.complain(&clean(&format!("  waiting    {reason}")));
                }
                session.out.progress("waiting", &reason);
                warned = true;
            }
            tokio::select! {
                () = tokio::time::sleep(GLANCE) => {}
                _ = tokio::signal::ctrl_c() => break true,
            }
        };
        worker.stop().await?;
        if interrupted {
            let help = format!(
                "`rhythm run --resume {run}` goes on with it, `rhythm explain {run}` says where it is"
            );
            return Err(CliError::Interrupted { run: run.to_string(), help });
        }
        shown.go_on(&session, &run, &[]).await?;
        let picture = session.client.picture(&run).await?;
        let status = picture.summary.status.as_str();
        let took = Millis(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        let told = tell(&session, &run, picture).await;
        session.out.progress(status, &format!("in {}: {}", times::lasted(took), shown.counts()));
        told
    }
}

/// Why the run waits for something that no living worker does.
async fn stuck(session: &Session, run: &RunId) -> CliResult<Option<String>> {
    let explained = explain(&session.client, run).await?;
    let is_stuck = |code: &str| matches!(code, "no_worker" | "no_version" | "unknown_task" | "dead_letter");
    let unserved = explained.reasons.iter().find(|reason| is_stuck(reason.code));
    Ok(unserved.map(|reason| format!("{}; it goes on when {}", reason.what, reason.moves_when)))
}

/// The name to start; a file is registered first.
async fn registered(session: &Session, target: &str) -> CliResult<String> {
    if !workflow_files::is_file(target) {
        return Ok(target.to_owned());
    }
    let mut files = workflow_files::find(&[target.to_owned()])?;
    let Some(file) = files.pop().filter(|_| files.is_empty()) else {
        return Err(CliError::BadValue(format!("{target} is a folder: name the file to run")));
    };
    match session.client.define_beside(&file.stem(), file.kind(), &file.source, file.folder()).await? {
        Ok(defined) => {
            let workflow = defined.definition.workflow.clone();
            if !session.out.is_quiet() && !defined.remarks.is_empty() {
                session.out.complain(&workflow_files::rendered(&file.path, &file.source, &defined.remarks));
            }
            session.client.register_defined(defined).await?;
            Ok(workflow)
        }
        Err(Refused { diagnostics }) => {
            session.out.complain(&workflow_files::rendered(&file.path, &file.source, &diagnostics));
            Err(CliError::Refused(format!("{target} cannot be run")))
        }
    }
}
