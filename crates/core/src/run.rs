//! The state of a run that everybody may see: its status, and the side fields beside it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::CommandId;
use crate::time::Timestamp;

/// How a workflow is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowKind {
    Flow,
    Graph,
    Code,
    /// The instruction lists of [`crate::drill`], for tests and benchmarks.
    Drill,
}

/// Where a run stands. `Running` means that an engine holds its claim right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    Running,
    Waiting,
    Completed,
    Failed,
    Cancelled,
}

/// Why a run does not move although nothing is wrong with what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedCode {
    /// No live process can step this workflow.
    NoWorker,
    /// No live process has this version of the workflow.
    NoVersion,
    /// Its snapshot or messages cannot be stepped; it was set aside so that others go on.
    Quarantined,
    /// A task with `on_exhausted: hold` is out of attempts, or a node that is no task has failed.
    DeadLetter,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub code: BlockedCode,
    pub since: Timestamp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// How far a run is with taking back what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compensation {
    #[default]
    None,
    Running,
    Done,
    /// Something is left to be taken back: it could not be, or was called off.
    Failed,
}

/// What can happen to a run's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An engine claims it.
    Claim,
    /// The claim is given back or lost before anything was committed.
    Release,
    /// A transition ended in a wait.
    Suspend,
    Complete,
    Fail,
    Cancel,
    /// A failed run is opened again.
    Reopen,
    /// One that has ended is opened to take back what it did.
    TakeBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {from:?} cannot {change:?}")]
pub struct Illegal {
    pub from: Status,
    pub change: Change,
}

impl Status {
    /// The whole life of a run as one table. `started` tells whether anything was committed yet.
    pub fn after(self, change: Change, started: bool) -> Result<Status, Illegal> {
        use Change::*;
        use Status::*;
        Ok(match (self, change) {
            (Pending | Waiting, Claim) => Running,
            (Running, Release) if started => Waiting,
            (Running, Release) => Pending,
            // A fused commit steps a waiting run without claiming it first.
            (Running | Waiting, Suspend) => Waiting,
            (Running | Waiting, Complete) => Completed,
            (Running | Waiting, Fail) => Failed,
            (Running | Waiting, Cancel) => Cancelled,
            (Failed, Reopen) if started => Waiting,
            (Failed, Reopen) => Pending,
            (Completed | Failed | Cancelled, TakeBack) if started => Waiting,
            (from, change) => return Err(Illegal { from, change }),
        })
    }

    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Pending, Self::Running, Self::Waiting, Self::Completed, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}

/// A run says how far it is among what it awaits, so a world that keeps those names knows without looking inside it.
impl Compensation {
    /// Of a run that has ended: it was called off.
    pub const UNDER_WAY: &'static str = "@compensation";
    pub const DONE: &'static str = "@compensation:done";
    pub const FAILED: &'static str = "@compensation:failed";

    pub fn of(status: Status, awaiting: &BTreeSet<String>) -> Self {
        if awaiting.contains(Self::DONE) {
            Self::Done
        } else if awaiting.contains(Self::FAILED) {
            Self::Failed
        } else if awaiting.contains(Self::UNDER_WAY) {
            if status.is_final() { Self::Failed } else { Self::Running }
        } else {
            Self::None
        }
    }

    /// Whether an awaited name is one of these.
    pub fn is_mark(name: &str) -> bool {
        [Self::UNDER_WAY, Self::DONE, Self::FAILED].contains(&name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// The clean-up of a run whose deadline has passed. It ends with this timer, whatever it waits for then. A run says so among
/// what it awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    pub timer: CommandId,
    /// It was being cancelled already when its deadline passed, and ends cancelled.
    pub cancelled: bool,
}

impl Grace {
    const LATE: &'static str = "@deadline:";
    const CANCELLED: &'static str = "@grace:";

    /// The name a run awaits while it cleans up.
    pub fn mark(self) -> String {
        format!("{}{}", if self.cancelled { Self::CANCELLED } else { Self::LATE }, self.timer)
    }

    pub fn marked(name: &str) -> Option<Self> {
        let of = |prefix: &str| Some(CommandId(name.strip_prefix(prefix)?.parse().ok()?));
        let late = of(Self::LATE).map(|timer| Self { timer, cancelled: false });
        late.or_else(|| of(Self::CANCELLED).map(|timer| Self { timer, cancelled: true }))
    }

    pub fn of(awaiting: &BTreeSet<String>) -> Option<Self> {
        awaiting.iter().find_map(|name| Self::marked(name))
    }
}

/// A node that is held is no task a world could know of: its run says so among what it awaits.
impl Blocked {
    const HELD: &'static str = "@held:";

    /// The name a run awaits while this node is held.
    pub fn mark(node: &str, since: Timestamp) -> String {
        format!("{}{}:{node}", Self::HELD, since.millis())
    }

    /// Since when the node is held that an awaited name speaks of.
    pub fn marked(name: &str) -> Option<(&str, Timestamp)> {
        let (since, node) = name.strip_prefix(Self::HELD)?.split_once(':')?;
        Some((node, Timestamp(since.parse().ok()?)))
    }

    /// What nodes hold a run up, if any do.
    pub fn by_nodes(status: Status, awaiting: &BTreeSet<String>) -> Option<Self> {
        let held: Vec<(&str, Timestamp)> = awaiting.iter().filter_map(|name| Self::marked(name)).collect();
        let since = held.iter().map(|(_, since)| *since).min().filter(|_| !status.is_final())?;
        let nodes: BTreeSet<&str> = held.iter().map(|(node, _)| *node).collect();
        let nodes: Vec<&str> = nodes.into_iter().collect();
        let detail = match nodes.as_slice() {
            [node] => format!("node {node} has failed and is held"),
            nodes => format!("nodes {} have failed and are held", nodes.join(", ")),
        };
        Some(Self { code: BlockedCode::DeadLetter, since, detail })
    }
}

impl WorkflowKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Graph => "graph",
            Self::Code => "code",
            Self::Drill => "drill",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Flow, Self::Graph, Self::Code, Self::Drill].into_iter().find(|kind| kind.as_str() == text)
    }
}

impl BlockedCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoWorker => "no_worker",
            Self::NoVersion => "no_version",
            Self::Quarantined => "quarantined",
            Self::DeadLetter => "dead_letter",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::NoWorker, Self::NoVersion, Self::Quarantined, Self::DeadLetter]
            .into_iter()
            .find(|code| code.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_blocked_by_the_nodes_it_says_are_held() {
        let marks = [Blocked::mark("b:c", Timestamp(20)), Blocked::mark("a", Timestamp(30)), "go".to_owned()];
        let awaiting = BTreeSet::from(marks);
        let blocked = Blocked::by_nodes(Status::Waiting, &awaiting).unwrap();
        assert_eq!((blocked.code, blocked.since), (BlockedCode::DeadLetter, Timestamp(20)));
        assert_eq!(blocked.detail, "nodes a, b:c have failed and are held");
        assert_eq!(Blocked::by_nodes(Status::Cancelled, &awaiting), None);
        let others = BTreeSet::from(["go".to_owned(), "@approval:3".to_owned(), "@held:x".to_owned()]);
        assert_eq!(Blocked::by_nodes(Status::Waiting, &others), None);
    }

    #[test]
    fn a_run_that_has_ended_only_reopens_and_only_when_it_failed() {
        use Change::*;
        for status in [Status::Completed, Status::Cancelled] {
            for change in [Claim, Release, Suspend, Complete, Fail, Cancel, Reopen] {
                assert!(status.after(change, true).is_err());
            }
        }
        assert_eq!(Status::Failed.after(Reopen, true), Ok(Status::Waiting));
        for status in [Status::Completed, Status::Failed, Status::Cancelled] {
            assert_eq!(status.after(TakeBack, true), Ok(Status::Waiting));
            assert!(status.after(TakeBack, false).is_err(), "it has done nothing");
        }
        assert!(Status::Waiting.after(TakeBack, true).is_err());
        assert!(Status::Failed.after(Claim, true).is_err());
    }

    #[test]
    fn a_claim_given_back_leaves_the_run_where_it_was() {
        assert_eq!(Status::Running.after(Change::Release, false), Ok(Status::Pending));
        assert_eq!(Status::Running.after(Change::Release, true), Ok(Status::Waiting));
    }

    #[test]
    fn what_a_run_awaits_says_how_far_it_is_with_taking_back_what_it_did() {
        let of = |status, name: &str| Compensation::of(status, &BTreeSet::from([name.to_owned()]));
        assert_eq!(of(Status::Waiting, "@approval:3"), Compensation::None);
        assert_eq!(of(Status::Waiting, Compensation::UNDER_WAY), Compensation::Running);
        assert_eq!(of(Status::Failed, Compensation::DONE), Compensation::Done);
        assert_eq!(of(Status::Cancelled, Compensation::FAILED), Compensation::Failed);
        assert_eq!(of(Status::Failed, Compensation::UNDER_WAY), Compensation::Failed, "it was called off");
    }

    #[test]
    fn names_come_back() {
        for text in ["pending", "running", "waiting", "completed", "failed", "cancelled"] {
            assert_eq!(Status::parse(text).unwrap().as_str(), text);
        }
        assert_eq!(Status::parse("done"), None);
        for text in ["no_worker", "no_version", "quarantined", "dead_letter"] {
            assert_eq!(BlockedCode::parse(text).unwrap().as_str(), text);
        }
        for text in ["flow", "graph", "code", "drill"] {
            assert_eq!(WorkflowKind::parse(text).unwrap().as_str(), text);
        }
    }
}
