use clap::Args;
use rhythm_core::Status;
use rhythm_engine::explain::{Explanation, Reason, explain};
use serde_json::json;

use crate::config::Settings;
use crate::error_pages::{self, Page};
use crate::errors::{CliError, CliResult};
use crate::output::{Output, clean};
use crate::session::Session;
use crate::times::relative;

/// Say why a run stands where it stands and what would move it, or what an error code means
#[derive(Debug, Args)]
pub struct Explain {
    /// A run, or an error code such as FLOW007
    #[arg(value_name = "RUN|CODE")]
    target: String,
}

impl Explain {
    pub async fn run(self, settings: Settings) -> CliResult {
        if let Some(page) = error_pages::find(&self.target) {
            return show(&page, settings.output);
        }
        if error_pages::looks_like_a_code(&self.target) {
            let near = error_pages::nearest(&self.target);
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(CliError::BadValue(format!("there is no code {}{near}", self.target)));
        }
        let session = Session::read(&settings).await?;
        let mut explanation = explain(&session.client, &session.client.find_run(&self.target).await?).await?;
        for reason in &mut explanation.reasons {
            reason.command = reason.command.take().map(|command| session.command(&command));
        }
        if session.out.is_json() {
            return session.out.json(&explanation);
        }
        tell(&session, &explanation).await
    }
}

/// Prints the page of an error code. This opens no world.
fn show(page: &Page, out: Output) -> CliResult {
    match out.is_json() {
        true => out.json(&json!({ "code": page.code, "title": page.title(), "page": page.text })),
        false => out.raw(&page.shown(|heading| out.bold(heading))),
    }
}

async fn tell(session: &Session, explanation: &Explanation) -> CliResult {
    let now = session.now().await?;
    let stands = match explanation.status {
        Status::Completed | Status::Failed => format!("has {}", explanation.status.as_str()),
        Status::Cancelled => "was cancelled".to_owned(),
        open => format!("is {}", open.as_str()),
    };
    let headline = format!("run {} {stands}", explanation.run);
    session.out.styled(&session.out.bold(&headline))?;
    for Reason { what, since, moves_when, command, line, source, .. } in &explanation.reasons {
        let since = since.map(|since| format!(" ({})", relative(now, since))).unwrap_or_default();
        session.out.styled(&format!("\n  {}{since}", clean(what)))?;
        if let (Some(line), Some(source)) = (line, source) {
            session.out.styled(&format!("    {line:>4} | {}", clean(source)))?;
        }
        session.out.styled(&format!("    moves when: {}", clean(moves_when)))?;
        if let Some(command) = command {
            session.out.styled(&format!("    try:        {}", session.out.bold(command)))?;
        }
    }
    Ok(())
}
