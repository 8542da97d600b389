use clap::Args;
use rhythm_core::{RunId, Status};
use rhythm_engine::explain::{Explanation, Reason, explain};

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::clean;
use crate::session::Session;
use crate::times::relative;

/// Say why a run stands where it stands, and what would move it
#[derive(Debug, Args)]
pub struct Explain {
    run: String,
}

impl Explain {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let explanation = explain(&session.client, &RunId::new(self.run)).await?;
        if session.out.is_json() {
            return session.out.json(&explanation);
        }
        tell(&session, &explanation).await
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
