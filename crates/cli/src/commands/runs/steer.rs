//! Commands that move or stop a run: signal, cancel, pause, resume.

use clap::Args;
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
        let run = session.client.find_run(&self.run).await?;
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
        let run = session.client.find_run(&self.run).await?;
        // A failed run would keep the message in case it is reopened.
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
        let (run, reason) = (session.client.find_run(&self.run).await?, self.reason);
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
        let (run, reason) = (session.client.find_run(&self.run).await?, self.reason);
        let text = match session.client.control(Control::ResumeRun { run: run.clone(), reason }).await? {
            Controlled::Done => format!("run {run} goes on"),
            Controlled::Unchanged => format!("run {run} was not paused"),
        };
        session.out.done(text, &json!({ "run": run, "paused": false }))
    }
}
