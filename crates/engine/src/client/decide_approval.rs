//! Answers to approvals: checks who may answer, and reports which answer counted.

use rhythm_core::message::{ApprovalDecided, Message, MessageBody};
use rhythm_core::{Actor, CommandId, MessageId, Payload, RunId, Status};

use super::Client;
use crate::error::EngineError;
use crate::world::*;

/// Decision of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Reject,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
        }
    }
}

/// Name under which a decision is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// The client's own.
    #[default]
    Own,
    /// The name of another person the client acts for; history has both.
    Delegate(String),
    /// The name a signed link was made for; history records that the answer came by a link.
    Link(String),
}

/// An answer to one approval.
#[derive(Clone, Debug)]
pub struct Decide {
    pub run: RunId,
    pub approval: CommandId,
    pub decision: Decision,
    pub identity: Identity,
    pub comments: String,
    pub data: Payload,
}

impl Decide {
    /// Returns an answer in the client's own name, without comments and data.
    pub fn new(run: RunId, approval: CommandId, decision: Decision) -> Self {
        let (identity, comments, data) = (Identity::Own, String::new(), Payload::null());
        Self { run, approval, decision, identity, comments, data }
    }
}

/// Name used when the run itself times out or withdraws an approval.
const SYSTEM: &str = "system";
const LONGEST_NAME: usize = 200;
const LONGEST_COMMENT: usize = 10_000;

impl Client {
    /// Sends an answer. Fails if this person may not answer or another answer came first; repeating one's own
    /// answer is fine. Whether it came in time is known once the run has consumed it: [`Self::verdict`].
    pub async fn decide(&self, request: &Decide) -> Result<(), EngineError> {
        let row = self.approval(&request.run, request.approval).await?;
        if row.state != ApprovalState::Pending {
            return self.kept_or_closed(request, row).await;
        }
        let (who, actor) = self.speaker(&request.identity);
        check(&who, &request.comments)?;
        if !row.allows(&who) {
            let (run, approval) = (request.run.to_string(), request.approval);
            return Err(EngineError::NotAnApprover { run, approval, who, approvers: row.approvers });
        }
        let decided = ApprovalDecided {
            approval: request.approval,
            decision: request.decision.as_str().to_owned(),
            by: who,
            comments: request.comments.clone(),
            data: self.store(request.data.clone()).await?,
        };
        let id = MessageId::approval(request.approval);
        match self.deliver(&request.run, id, actor, MessageBody::ApprovalDecided(decided)).await? {
            Delivered::Accepted => Ok(()),
            Delivered::Duplicate => {
                let first = self.first_answer(&request.run, request.approval).await?;
                self.same_or_closed(request, first)
            }
            Delivered::Ended => {
                let row = self.approval(&request.run, request.approval).await?;
                self.same_or_closed(request, row)
            }
            Delivered::Full => Err(EngineError::InboxFull(request.run.to_string())),
            Delivered::NotFound => Err(EngineError::UnknownRun(request.run.to_string())),
        }
    }

    /// Returns the approval once it is closed by this answer; `None` while the run has not consumed it. Fails
    /// if another answer came first or the approval was cancelled.
    pub async fn verdict(&self, request: &Decide) -> Result<Option<ApprovalRow>, EngineError> {
        let row = self.approval(&request.run, request.approval).await?;
        if row.state == ApprovalState::Pending {
            return Ok(None);
        }
        self.kept_or_closed(request, row.clone()).await?;
        Ok(Some(row))
    }

    /// A run that failed just before it could consume an answer keeps it. The answer counts when the run is
    /// reopened, and the error says so.
    async fn kept_or_closed(&self, request: &Decide, row: ApprovalRow) -> Result<(), EngineError> {
        if row.state == ApprovalState::Cancelled {
            let picture = self.picture(&request.run).await?;
            let reopens = picture.summary.status == Status::Failed && !picture.is_compensated();
            let (who, _) = self.speaker(&request.identity);
            let own = |decided: &ApprovalDecided| {
                decided.approval == request.approval
                    && decided.by == who
                    && decided.decision == request.decision.as_str()
            };
            let kept = |message: &Message| matches!(&message.body, MessageBody::ApprovalDecided(decided) if own(decided));
            if reopens && picture.inbox.iter().any(kept) {
                let (run, approval) = (request.run.to_string(), request.approval);
                return Err(EngineError::AnswerKept { run, approval });
            }
        }
        self.same_or_closed(request, row)
    }

    /// Puts an answer into a run's inbox without checking who may give it; only the first one counts.
    pub async fn answer_unasked(&self, run: &RunId, decided: ApprovalDecided) -> Result<(), EngineError> {
        self.send(run, MessageId::approval(decided.approval), MessageBody::ApprovalDecided(decided)).await
    }

    /// Returns one approval. Fails if it is unknown.
    pub async fn approval(&self, run: &RunId, approval: CommandId) -> Result<ApprovalRow, EngineError> {
        if let Some(row) = self.world.approval(&self.tenant, run, approval).await? {
            return Ok(row);
        }
        self.picture(run).await?;
        Err(EngineError::UnknownApproval { run: run.to_string(), approval: approval.to_string() })
    }

    /// Finds an approval by its number, or by its node: the pending one, else the latest. Fails if there is
    /// none.
    pub async fn find_approval(&self, run: &RunId, name: &str) -> Result<ApprovalRow, EngineError> {
        if let Ok(number) = name.parse() {
            return self.approval(run, CommandId(number)).await;
        }
        let tenant = self.tenant.clone();
        let mut query = ApprovalQuery { tenant, run: Some(run.clone()), limit: 500, ..Default::default() };
        let mut last = None;
        loop {
            let page = self.world.list_approvals(query.clone()).await?;
            for row in page.rows.into_iter().filter(|row| row.node == name) {
                if row.state == ApprovalState::Pending {
                    return Ok(row);
                }
                last.get_or_insert(row);
            }
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => break,
            }
        }
        if let Some(row) = last {
            return Ok(row);
        }
        self.picture(run).await?;
        Err(EngineError::UnknownApproval { run: run.to_string(), approval: format!("node {name}") })
    }

    /// Returns the name that decides, and the actor recorded as the sender.
    fn speaker(&self, identity: &Identity) -> (String, Actor) {
        match identity {
            Identity::Own => (person(&self.actor.0).to_owned(), self.actor.clone()),
            Identity::Delegate(name) => (person(name).to_owned(), self.actor.clone()),
            Identity::Link(name) => (person(name).to_owned(), Actor(format!("link:{}", person(name)))),
        }
    }

    fn same_or_closed(&self, request: &Decide, row: ApprovalRow) -> Result<(), EngineError> {
        let (who, _) = self.speaker(&request.identity);
        let same_person = row.decided_by.as_deref().map(person) == Some(who.as_str());
        if same_person && row.decision.as_deref() == Some(request.decision.as_str()) {
            return Ok(());
        }
        Err(EngineError::ApprovalClosed(Box::new(row)))
    }

    /// Returns the first answer, which may still be in the inbox.
    async fn first_answer(&self, run: &RunId, approval: CommandId) -> Result<ApprovalRow, EngineError> {
        let inbox = self.picture(run).await?.inbox;
        let row = self.approval(run, approval).await?;
        if row.state != ApprovalState::Pending {
            return Ok(row);
        }
        let waiting = inbox.into_iter().find(|message| message.id == MessageId::approval(approval));
        let Some(message) = waiting else { return Ok(row) };
        let MessageBody::ApprovalDecided(decided) = message.body else { return Ok(row) };
        Ok(ApprovalRow {
            state: ApprovalState::Decided,
            decision: Some(decided.decision),
            decided_by: Some(decided.by),
            via: Some(message.actor),
            comments: decided.comments,
            data: Some(decided.data),
            decided_at: Some(message.at),
            ..row
        })
    }
}

fn check(who: &str, comments: &str) -> Result<(), EngineError> {
    if who.is_empty() || who.len() > LONGEST_NAME || who == SYSTEM || who.chars().any(char::is_control) {
        return Err(EngineError::Invalid(format!("{who:?} cannot be the name of somebody who decides")));
    }
    if comments.chars().count() > LONGEST_COMMENT {
        return Err(EngineError::Invalid(format!("a comment has at most {LONGEST_COMMENT} characters")));
    }
    Ok(())
}
