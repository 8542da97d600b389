//! Approvals as users see them. An approval exists only as history rows, so steps without one cost nothing.
//! Its state is derived from those rows and from whether its run has ended.

use rhythm_core::event::{ApprovalCreated, Event, EventData};
use rhythm_core::{Actor, CommandId, Payload, RunId, TenantId, Timestamp};
use serde::{Deserialize, Serialize};

use super::records::Page;

/// State of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    /// A person or program answered.
    Decided,
    /// No answer came before the timeout.
    Timeout,
    /// The run ended, or withdrew the approval, before an answer came.
    Cancelled,
}

impl ApprovalState {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Decided, Self::Timeout, Self::Cancelled];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Decided => "decided",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Selects approvals. Fields that are `None` do not restrict.
#[derive(Clone, Debug, Default)]
pub struct ApprovalQuery {
    pub tenant: TenantId,
    pub state: Option<ApprovalState>,
    pub run: Option<RunId>,
    /// Only approvals whose approvers include this person, or that are open to all.
    pub approver: Option<String>,
    pub cursor: Option<String>,
    pub limit: usize,
}

/// One approval with its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRow {
    pub run: RunId,
    pub workflow: String,
    /// Number of the approval within its run.
    pub approval: CommandId,
    pub node: String,
    /// Number of approvals the node has requested, including this one.
    pub visit: u32,
    /// Names that may decide, including those it was escalated to. Empty: anyone may.
    pub approvers: Vec<String>,
    pub payload: Payload,
    pub created_at: Timestamp,
    pub timeout_at: Option<Timestamp>,
    pub approval_ui_url: Option<String>,
    pub state: ApprovalState,
    pub decision: Option<String>,
    pub decided_by: Option<String>,
    /// Actor that sent the answer.
    pub via: Option<Actor>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comments: String,
    pub data: Option<Payload>,
    pub decided_at: Option<Timestamp>,
}

/// Facts a world reads to describe one approval.
#[derive(Clone, Debug)]
pub struct Asked {
    pub run: RunId,
    pub workflow: String,
    pub ended: bool,
    pub created: Event,
}

impl ApprovalRow {
    /// Builds the row of an approval; `None` if `asked.created` is another event. `later` holds the run's
    /// escalations and decisions in order; rows of other approvals are skipped. The first decision counts: a
    /// later one that lost is in history too.
    pub fn of<'e>(asked: &Asked, later: impl IntoIterator<Item = &'e Event>) -> Option<Self> {
        let EventData::ApprovalCreated(created) = &asked.created.data else { return None };
        let ApprovalCreated { approval, node, approvers, payload, visit, timeout_at, approval_ui_url } =
            created.clone();
        let mut row = Self {
            run: asked.run.clone(),
            workflow: asked.workflow.clone(),
            approval,
            node,
            visit: visit.unwrap_or(1),
            approvers,
            payload,
            created_at: asked.created.at,
            timeout_at,
            approval_ui_url,
            state: if asked.ended { ApprovalState::Cancelled } else { ApprovalState::Pending },
            decision: None,
            decided_by: None,
            via: None,
            comments: String::new(),
            data: None,
            decided_at: None,
        };
        for event in later.into_iter().filter(|event| event.seq > asked.created.seq) {
            match &event.data {
                EventData::ApprovalEscalated(to) if to.approval == approval && row.decision.is_none() => {
                    row.hand_on(&to.approvers);
                }
                EventData::ApprovalDecided(decided)
                    if decided.approval == approval && row.decision.is_none() =>
                {
                    row.state = match decided.decision.as_str() {
                        "timeout" => ApprovalState::Timeout,
                        "cancelled" => ApprovalState::Cancelled,
                        _ => ApprovalState::Decided,
                    };
                    row.decision = Some(decided.decision.clone());
                    row.decided_by = Some(decided.by.clone());
                    row.via = Some(event.actor.clone());
                    row.comments = decided.comments.clone();
                    row.data = Some(decided.data.clone());
                    row.decided_at = Some(event.at);
                }
                _ => {}
            }
        }
        Some(row)
    }

    /// Shell command that approves this request. If approvers are named, it decides as the first of them.
    pub fn command(&self) -> String {
        let plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "._-@:+".contains(c));
        let name = self.approvers.first().map(|approver| match person(approver) {
            name if plain(name) => format!(" --as {name}"),
            name => format!(" --as '{}'", name.replace('\'', r"'\''")),
        });
        format!("rhythm approvals approve {}/{}{}", self.run, self.approval, name.unwrap_or_default())
    }

    /// Adds approvers. An approval without named approvers stays open to all.
    fn hand_on(&mut self, to: &[String]) {
        for name in to {
            if !self.approvers.is_empty() && !self.approvers.contains(name) {
                self.approvers.push(name.clone());
            }
        }
    }

    /// Returns whether the person of this name may decide. Among the approvers `ann` and `user:ann` are the
    /// same.
    pub fn allows(&self, name: &str) -> bool {
        self.approvers.is_empty() || self.approvers.iter().any(|approver| person(approver) == name)
    }
}

/// Returns the person's name in an actor or approver: `ann` for `user:ann`.
pub fn person(name: &str) -> &str {
    name.strip_prefix("user:").unwrap_or(name)
}

impl ApprovalQuery {
    fn wants(&self, row: &ApprovalRow) -> bool {
        self.state.is_none_or(|state| row.state == state)
            && self.run.as_ref().is_none_or(|run| row.run == *run)
            && self.approver.as_ref().is_none_or(|who| row.allows(person(who)))
    }
}

/// Collects one page, newest first, from rows that may not match the query.
pub struct ApprovalPage<'q> {
    query: &'q ApprovalQuery,
    /// Each row with the cursor that follows it.
    rows: Vec<(String, ApprovalRow)>,
}

impl<'q> ApprovalPage<'q> {
    pub fn new(query: &'q ApprovalQuery) -> Self {
        Self { query, rows: Vec::new() }
    }

    /// One row more than the limit shows that there is a next page.
    pub fn is_full(&self) -> bool {
        self.rows.len() > self.query.limit
    }

    /// Adds a row if it matches the query and the page is not full.
    pub fn offer(&mut self, cursor: String, row: ApprovalRow) {
        if !self.is_full() && self.query.wants(&row) {
            self.rows.push((cursor, row));
        }
    }

    /// Returns the page, with the next cursor if there are more rows.
    pub fn close(mut self) -> Page<ApprovalRow> {
        let more = self.is_full();
        self.rows.truncate(self.query.limit);
        let next = self.rows.last().filter(|_| more).map(|(cursor, _)| cursor.clone());
        Page { rows: self.rows.into_iter().map(|(_, row)| row).collect(), next }
    }
}
