//! The argument that names an approval.

use clap::Args;
use rhythm_engine::approval_link::{ApprovalLink, LinkKey};
use rhythm_engine::world::ApprovalRow;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::session::Session;

/// One approval, by its name or by a link to it.
#[derive(Debug, Args)]
pub struct Which {
    /// RUN/NUMBER, or RUN/NODE for the question the node waits with
    #[arg(required_unless_present = "token", conflicts_with = "token", value_name = "RUN/NUMBER")]
    approval: Option<String>,
    /// By a link, or by the token it ends with, instead
    #[arg(long, value_name = "LINK")]
    token: Option<String>,
}

impl Which {
    /// Returns the approval, and the link if it was named by one. Fails if there is no such approval or the
    /// link is invalid.
    pub async fn find(
        &self,
        session: &Session,
        settings: &Settings,
    ) -> CliResult<(ApprovalRow, Option<ApprovalLink>)> {
        let Some(token) = &self.token else {
            return Ok((named(session, self.approval.as_deref().unwrap_or_default()).await?, None));
        };
        let token = token.rsplit('/').next().unwrap_or_default();
        let key = LinkKey::new(settings.approvals.key())?;
        let link = key.open(token, &settings.tenant, session.now().await?)?;
        Ok((session.client.approval(&link.run, link.approval).await?, Some(link)))
    }
}

pub async fn named(session: &Session, name: &str) -> CliResult<ApprovalRow> {
    match name.rsplit_once('/') {
        Some((run, approval)) if !run.is_empty() && !approval.is_empty() => {
            let run = session.client.find_run(run).await?;
            Ok(session.client.find_approval(&run, approval).await?)
        }
        _ => Err(CliError::BadValue(format!("{name:?} names no approval: write RUN/NUMBER or RUN/NODE"))),
    }
}
