use clap::Args;
use rhythm_core::{Payload, Timestamp};
use rhythm_engine::world::{ApprovalRow, ApprovalState};

use super::which::Which;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::short;
use crate::session::Session;
use crate::times::{exact, relative};

const SHOWN: usize = 2_000;

/// Show one approval; this never decides, whoever has the link
#[derive(Debug, Args)]
pub struct Show {
    #[command(flatten)]
    which: Which,
}

impl Show {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let (mut row, _) = self.which.find(&session, &settings).await?;
        row.payload = session.loaded(row.payload).await?;
        if let Some(data) = row.data.take() {
            row.data = Some(session.loaded(data).await?);
        }
        match session.out.is_json() {
            true => session.out.json(&row),
            false => tell(&session, &row).await,
        }
    }
}

async fn tell(session: &Session, row: &ApprovalRow) -> CliResult {
    let now = session.now().await?;
    let time = |at: Timestamp| format!("{} ({})", exact(at), relative(now, at));
    let value = |payload: &Payload| short(payload.text().unwrap_or("(large)"), SHOWN);
    let said = |payload: &&Payload| payload.text() != Some("null");
    session.out.details(&[
        ("approval", format!("{}/{}", row.run, row.approval)),
        ("workflow", row.workflow.clone()),
        ("node", row.node.clone()),
        ("visit", row.visit.to_string()),
        ("state", row.state.as_str().to_owned()),
        ("approvers", approvers(row)),
        ("asked", time(row.created_at)),
        ("until", row.timeout_at.map(time).unwrap_or_default()),
        ("page", row.approval_ui_url.clone().unwrap_or_default()),
        ("about", value(&row.payload)),
        ("decision", row.decision.clone().unwrap_or_default()),
        ("by", row.decided_by.clone().unwrap_or_default()),
        ("sent by", row.via.as_ref().map(|actor| actor.0.clone()).unwrap_or_default()),
        ("comments", row.comments.clone()),
        ("data", row.data.as_ref().filter(said).map(value).unwrap_or_default()),
        ("decided", row.decided_at.map(time).unwrap_or_default()),
    ])?;
    if row.state == ApprovalState::Pending {
        session.out.note(format!("to decide: {}, or reject", row.command()));
    }
    Ok(())
}

pub fn approvers(row: &ApprovalRow) -> String {
    match row.approvers.is_empty() {
        true => "anybody".to_owned(),
        false => row.approvers.join(", "),
    }
}
