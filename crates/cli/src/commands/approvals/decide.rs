use std::time::Duration;

use clap::Args;
use rhythm_engine::client::{Decide, Decision, Identity};
use rhythm_engine::drive;
use rhythm_engine::world::ApprovalRow;
use serde::Serialize;

use super::which::Which;
use crate::config::{Settings, own_user};
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;

/// Time to wait for the run to consume the decision.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Args)]
pub struct Answer {
    #[command(flatten)]
    which: Which,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    comment: String,
    /// What goes along with the answer: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
}

#[derive(Serialize)]
struct Answered {
    #[serde(flatten)]
    row: ApprovalRow,
    /// Whether the run has consumed the decision.
    taken: bool,
}

impl Answer {
    pub async fn run(self, settings: Settings, decision: Decision) -> CliResult {
        let data = input::payload("--data", self.data.as_deref())?;
        let session = Session::open_as_delegate(&settings).await?;
        let (row, link) = self.which.find(&session, &settings).await?;
        let identity = match (link, settings.user.clone()) {
            (Some(_), Some(_)) => {
                let text = "a link says who decides: leave --as out".to_owned();
                return Err(CliError::BadValue(text));
            }
            (Some(link), None) => Identity::Link(link.person),
            (None, Some(name)) => Identity::Delegate(name),
            // Approvers are named without a machine; the history records the machine beside the name.
            (None, None) => Identity::Delegate(own_user()),
        };
        let request =
            Decide { run: row.run, approval: row.approval, decision, identity, comments: self.comment, data };
        let taken = drive::decide(&session.client, &request, PATIENCE).await?;
        let name = format!("{}/{}", request.run, request.approval);
        let (text, answered) = match taken {
            Some(row) => {
                let by = row.decided_by.as_deref().unwrap_or_default();
                (
                    format!("approval {name} is decided: {} by {by}", decision.as_str()),
                    Answered { row, taken: true },
                )
            }
            None => {
                let row = session.client.approval(&request.run, request.approval).await?;
                let text =
                    format!("the answer to {name} is kept; its run takes it as soon as a worker is there");
                (text, Answered { row, taken: false })
            }
        };
        session.out.done(text, &answered)
    }
}
