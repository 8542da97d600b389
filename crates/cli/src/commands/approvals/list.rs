use clap::{Args, ValueEnum};
use rhythm_engine::world::{ApprovalQuery, ApprovalState};

use crate::args::Paging;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Words;
use crate::session::Session;
use crate::short_ids::ShortIds;
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
        let session = Session::read(&settings).await?;
        let run = match &self.run {
            Some(run) => Some(session.client.find_run(run).await?),
            None => None,
        };
        let query = ApprovalQuery {
            tenant: settings.tenant.clone(),
            state: self.state.map(ApprovalState::from),
            run,
            approver: self.approver,
            cursor: self.paging.cursor,
            limit: usize::from(self.paging.limit),
        };
        let page = session.rhythm.world().list_approvals(query).await?;
        let now = session.now().await?;
        let words = Words {
            columns: &["APPROVAL", "NODE", "VISIT", "STATE", "APPROVERS", "ASKED", "UNTIL", "DECISION"],
            none: "no approvals: nobody was asked",
        };
        let ids = ShortIds::of(page.rows.iter().map(|row| &row.run.0));
        session.out.page(&page, words, |row| {
            let decision = match (&row.decision, &row.decided_by) {
                (Some(decision), Some(by)) => format!("{decision} by {by}"),
                _ => String::new(),
            };
            vec![
                format!("{}/{}", ids.show(&row.run.0), row.approval),
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
