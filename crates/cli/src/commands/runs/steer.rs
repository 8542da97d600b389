//! What moves or stops a run: signal, cancel, pause, resume, retry.

use clap::Args;
use rhythm_core::RunId;
use rhythm_engine::client::RetryNode;
use rhythm_engine::error::EngineError;
use rhythm_engine::explain::kept_signal;
use rhythm_engine::world::{Control, Controlled};
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::input;
use crate::session::Session;

/// Send a run a signal
#[derive(Debug, Args)]
pub struct Signal {
    run: String,
    /// What the run waits for
    name: String,
    /// What the signal carries: JSON, @FILE, or - for standard input
    #[arg(long, visible_alias = "input", value_name = "JSON")]
    payload: Option<String>,
    /// Makes a repeated call harmless: one id is one signal
    #[arg(long)]
    id: Option<String>,
}

impl Signal {
    pub async fn run(self, settings: Settings) -> CliResult {
        let payload = input::payload("--payload", self.payload.as_deref())?;
        let session = Session::open(&settings).await?;
        let run = RunId::new(self.run);
        let before = session.client.picture(&run).await?;
        session.client.signal(&run, &self.name, payload, self.id).await?;
        let unawaited = kept_signal(&before, &self.name);
        if let Some(why) = unawaited.as_ref().filter(|_| !session.out.is_json()) {
            session.out.note(format!("note[signal_kept]: {why}"));
        }
        let text = format!("signal {} is on its way to run {run}", self.name);
        let answer = json!({ "run": run, "signal": self.name, "note": unawaited });
        session.out.done(text, &answer)
    }
}

/// Ask a run to stop: once to let it clean up, twice to end it at once
#[derive(Debug, Args)]
pub struct Cancel {
    run: String,
    /// Kept in the history
    #[arg(long, default_value = "")]
    reason: String,
}

impl Cancel {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let run = RunId::new(self.run);
        // A failed run would take the message and keep it for the case that it is opened again.
        if session.client.picture(&run).await?.summary.status.is_final() {
            return Err(EngineError::Ended(run.to_string()).into());
        }
        session.client.cancel(&run, &self.reason).await?;
        session.out.done(format!("run {run} was asked to stop"), &json!({ "run": run, "cancelling": true }))
    }
}

/// Keep a run from moving until it is resumed; its tasks under way finish
#[derive(Debug, Args)]
pub struct Pause {
    run: String,
    /// Kept in the history
    #[arg(long, default_value = "")]
    reason: String,
}

impl Pause {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let (run, reason) = (RunId::new(self.run), self.reason);
        let text = match session.client.control(Control::PauseRun { run: run.clone(), reason }).await? {
            Controlled::Done => format!("run {run} is paused"),
            Controlled::Unchanged => format!("run {run} was paused already"),
        };
        session.out.done(text, &json!({ "run": run, "paused": true }))
    }
}

/// Let a paused run go on
#[derive(Debug, Args)]
pub struct Resume {
    run: String,
    /// Kept in the history
    #[arg(long, default_value = "")]
    reason: String,
}

impl Resume {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let (run, reason) = (RunId::new(self.run), self.reason);
        let text = match session.client.control(Control::ResumeRun { run: run.clone(), reason }).await? {
            Controlled::Done => format!("run {run} goes on"),
            Controlled::Unchanged => format!("run {run} was not paused"),
        };
        session.out.done(text, &json!({ "run": run, "paused": false }))
    }
}

/// Open a failed or blocked run again: what failed it is tried anew
#[derive(Debug, Args)]
#[command(after_help = "\
With --node a run of a graph is tried again at that node, which must be the one it failed of or is held for. With --config the \
node begins anew with the tokens it has and this config, which is a patch of the run: checked against the node's type, \
listed by `rhythm runs patches`, undone by `rhythm runs patch --undo`.")]
pub struct Retry {
    run: String,
    /// The node that failed
    #[arg(long, value_name = "NODE", requires = "reason")]
    node: Option<String>,
    /// Its config from now on, in this run: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", requires = "node")]
    config: Option<String>,
    /// Kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Retry {
    pub async fn run(self, settings: Settings) -> CliResult {
        let config = self.config.as_deref().map(|given| input::json("--config", given)).transpose()?;
        let session = Session::open(&settings).await?;
        let run = RunId::new(self.run);
        let reason = self.reason.unwrap_or_default();
        let Some(node) = self.node else {
            session.client.retry_run(&run, &reason).await?;
            let shown = json!({ "run": run, "retried": true });
            return session.out.done(format!("run {run} is open again"), &shown);
        };
        let text = match config {
            Some(_) => format!("run {run} tries node {node} again, with another config"),
            None => format!("run {run} tries node {node} again"),
        };
        let shown = json!({ "run": run, "retried": true, "node": node, "config": config });
        session.client.retry_node(&run, RetryNode { node, config, reason }).await?;
        session.out.done(text, &shown)
    }
}
