//! Approvals as people see them. They are rows of history and nothing else, so a step that asks nobody pays nothing for
//! them; what became of one is told from its rows and from whether its run is still there.

use rhythm_core::event::{ApprovalCreated, Event, EventData};
use rhythm_core::{Actor, CommandId, Payload, RunId, TenantId, Timestamp};
use serde::{Deserialize, Serialize};

use super::records::Page;

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    /// Somebody answered.
    Decided,
    /// Nobody answered in time.
    Timeout,
    /// Its run ended, or took it back, without an answer.
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

#[derive(Clone, Debug, Default)]
pub struct ApprovalQuery {
    pub tenant: TenantId,
    pub state: Option<ApprovalState>,
    pub run: Option<RunId>,
    /// Only those this person may decide, or might have.
    pub approver: Option<String>,
    pub cursor: Option<String>,
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRow {
    pub run: RunId,
    pub workflow: String,
    /// Its number within the run.
    pub approval: CommandId,
    pub node: String,
    /// How often the node had asked, this time included.
    pub visit: u32,
    /// Who may decide, those it was handed on to included. Empty: anybody.
    pub approvers: Vec<String>,
    pub payload: Payload,
    pub created_at: Timestamp,
    pub timeout_at: Option<Timestamp>,
    pub approval_ui_url: Option<String>,
    pub state: ApprovalState,
    pub decision: Option<String>,
    pub decided_by: Option<String>,
    /// Who sent the answer.
    pub via: Option<Actor>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comments: String,
    pub data: Option<Payload>,
    pub decided_at: Option<Timestamp>,
}

/// What a world reads to tell of one approval.
#[derive(Clone, Debug)]
pub struct Asked {
    pub run: RunId,
    pub workflow: String,
    pub ended: bool,
    pub created: Event,
}

impl ApprovalRow {
    /// `later` has the run's escalations and decisions in order; those of other approvals are passed over. The first
    /// decision counts: one that lost against it is a row of history too.
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

    /// What somebody at a terminal types to approve; those who are named are to be spoken for by name.
    pub fn command(&self) -> String {
        let plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "._-@:+".contains(c));
        let name = self.approvers.first().map(|approver| match person(approver) {
            name if plain(name) => format!(" --as {name}"),
            name => format!(" --as '{}'", name.replace('\'', r"'\''")),
        });
        format!("rhythm approvals approve {}/{}{}", self.run, self.approval, name.unwrap_or_default())
    }

    /// Others may decide too. What is open to all stays so.
    fn hand_on(&mut self, to: &[String]) {
        for name in to {
            if !self.approvers.is_empty() && !self.approvers.contains(name) {
                self.approvers.push(name.clone());
            }
        }
    }

    /// Whether the person of this name may decide; among the approvers `ann` and `user:ann` are the same.
    pub fn allows(&self, name: &str) -> bool {
        self.approvers.is_empty() || self.approvers.iter().any(|approver| person(approver) == name)
    }
}

/// The name of whom an actor or an approver stands for: `ann` for `user:ann`.
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

/// A page as a world fills it, the newest first, from more than may be wanted.
pub struct ApprovalPage<'q> {
    query: &'q ApprovalQuery,
    /// Each with the cursor behind it.
    rows: Vec<(String, ApprovalRow)>,
}

impl<'q> ApprovalPage<'q> {
    pub fn new(query: &'q ApprovalQuery) -> Self {
        Self { query, rows: Vec::new() }
    }

    /// One more than shown tells whether there is a next page.
    pub fn is_full(&self) -> bool {
        self.rows.len() > self.query.limit
    }

    pub fn offer(&mut self, cursor: String, row: ApprovalRow) {
        if !self.is_full() && self.query.wants(&row) {
            self.rows.push((cursor, row));
        }
    }

    pub fn close(mut self) -> Page<ApprovalRow> {
        let more = self.is_full();
        self.rows.truncate(self.query.limit);
        let next = self.rows.last().filter(|_| more).map(|(cursor, _)| cursor.clone());
        Page { rows: self.rows.into_iter().map(|(_, row)| row).collect(), next }
    }
}
