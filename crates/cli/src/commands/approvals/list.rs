use clap::{Args, ValueEnum};
use rhythm_core::RunId;
use rhythm_engine::world::{ApprovalQuery, ApprovalState};

use crate::args::Paging;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Words;
use crate::session::Session;
use crate::times::{relative, relative_or};

/// List approvals, newest first
#[derive(Debug, Args)]
pub struct List {
    /// Only those in this state
    #[arg(long, value_enum, ignore_case = true)]
    state: Option<State>,
    /// Only those of this run
    #[arg(long)]
    run: Option<String>,
    /// Only those this person may decide
    #[arg(long, value_name = "NAME")]
    approver: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    Pending,
    Decided,
    Timeout,
    Cancelled,
}

impl From<State> for ApprovalState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Decided => Self::Decided,
            State::Timeout => Self::Timeout,
            State::Cancelled => Self::Cancelled,
        }
    }
}

impl List {
    pub async fn run(self, settings: Settings) -> CliResult {
        let query = ApprovalQuery {
            tenant: settings.tenant.clone(),
            state: self.state.map(ApprovalState::from),
            run: self.run.map(RunId::new),
            approver: self.approver,
            cursor: self.paging.cursor,
            limit: usize::from(self.paging.limit),
        };
        let session = Session::read(&settings).await?;
        let page = session.rhythm.world().list_approvals(query).await?;
        let now = session.now().await?;
        let words = Words {
            columns: &["APPROVAL", "NODE", "VISIT", "STATE", "APPROVERS", "ASKED", "UNTIL", "DECISION"],
            none: "no approvals: nobody was asked",
        };
        session.out.page(&page, words, |row| {
            let decision = match (&row.decision, &row.decided_by) {
                (Some(decision), Some(by)) => format!("{decision} by {by}"),
                _ => String::new(),
            };
            vec![
                format!("{}/{}", row.run, row.approval),
                row.node.clone(),
                row.visit.to_string(),
                row.state.as_str().to_owned(),
                super::show::approvers(row),
                relative(now, row.created_at),
                relative_or(now, row.timeout_at, "ever"),
                decision,
            ]
        })
    }
}
