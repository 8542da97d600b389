use clap::Args;
use rhythm_core::Timestamp;
use rhythm_engine::approval_link::{ApprovalLink, LinkKey};
use rhythm_engine::error::EngineError;
use rhythm_engine::world::{ApprovalState, person};
use serde::Serialize;

use super::which::named;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;
use crate::times::exact;

/// Make a link by which one person may decide, for a while; opening it decides nothing
///
/// It is signed with RHYTHM_LINK_KEY, or `link_key` under `[approvals]` in rhythm.toml. Whoever has the link decides as the
/// person it is for, so send it to nobody else.
#[derive(Debug, Args)]
pub struct Link {
    /// RUN/NUMBER, or RUN/NODE for the question the node waits with
    #[arg(value_name = "RUN/NUMBER")]
    approval: String,
    /// Who is to decide: one of the approvers
    #[arg(long = "for", value_name = "NAME")]
    person: String,
    /// How long it may be used
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    expires: String,
    /// Where approvals are shown; by default RHYTHM_LINK_BASE, or `link_base` under `[approvals]`
    #[arg(long, value_name = "URL")]
    base: Option<String>,
}

#[derive(Serialize)]
struct Made {
    url: String,
    token: String,
    #[serde(rename = "for")]
    person: String,
    expires_at: Timestamp,
}

impl Link {
    pub async fn run(self, settings: Settings) -> CliResult {
        let key = LinkKey::new(settings.approvals.key())?;
        let base = self.base.or(settings.approvals.link_base.clone()).ok_or_else(|| {
            CliError::BadValue("a link needs to know where it leads: --base https://...".to_owned())
        })?;
        let lifetime = input::duration("--expires", &self.expires)?;
        let session = Session::read(&settings).await?;
        let row = named(&session, &self.approval).await?;
        if row.state != ApprovalState::Pending {
            return Err(EngineError::ApprovalClosed(Box::new(row)).into());
        }
        let who = person(&self.person).to_owned();
        if !row.allows(&who) {
            let (run, approval, approvers) = (row.run.to_string(), row.approval, row.approvers);
            return Err(EngineError::NotAnApprover { run, approval, who, approvers }.into());
        }
        let expires_at = session.now().await?.plus(lifetime);
        let tenant = settings.tenant.clone();
        let link =
            ApprovalLink { tenant, run: row.run, approval: row.approval, person: who.clone(), expires_at };
        let token = key.seal(&link);
        let url = format!("{}/approvals/{token}", base.trim_end_matches('/'));
        session.out.note(format!("for {who}, until {} UTC", exact(expires_at)));
        match session.out.is_json() {
            true => session.out.json(&Made { url, token, person: who, expires_at }),
            false => session.out.line(url),
        }
    }
}
