//! The visible state of a run: its status and the fields beside it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::CommandId;
use crate::time::Timestamp;

/// Language a workflow is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowKind {
    Flow,
    Graph,
    Code,
    /// The instruction lists of [`crate::drill`], for tests and benchmarks.
    Drill,
}

/// Status of a run. `Running` means that an engine holds its claim right now.
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

/// Reasons that a run cannot move although nothing is wrong with the answer it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedCode {
    /// No live process can step this workflow.
    NoWorker,
    /// No live process has this version of the workflow.
    NoVersion,
    /// The run's snapshot or messages cannot be stepped; it was quarantined so that other runs go on.
    Quarantined,
    /// A task with `on_exhausted: hold` is out of attempts, or a node without a task has failed and is held.
    DeadLetter,
}

/// A block of a run: the reason, its start, and a text for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub code: BlockedCode,
    pub since: Timestamp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Progress of a run's compensation, the undoing of its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compensation {
    #[default]
    None,
    Running,
    Done,
    /// Some work is left to undo: undoing it failed or was called off.
    Failed,
}

/// Changes of a run's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An engine claims the run.
    Claim,
    /// The claim is given back or lost before a commit.
    Release,
    /// A transition ended in a wait.
    Suspend,
    Complete,
    Fail,
    Cancel,
    /// A failed run is reopened.
    Reopen,
    /// An ended run is reopened for compensation.
    TakeBack,
}

/// A change that the status of a run does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {from:?} cannot {change:?}")]
pub struct Illegal {
    pub from: Status,
    pub change: Change,
}

impl Status {
    /// Returns the status after a change; this table is the whole life of a run. `started` says whether any
    /// transition was committed. Fails with [`Illegal`] for a change that the status does not allow.
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

    /// Returns whether the run has ended.
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

    /// Returns the status with this name, or `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Pending, Self::Running, Self::Waiting, Self::Completed, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}

/// A run reports its compensation among the names it awaits, so a world that stores those names can read the
/// progress without decoding the snapshot.
impl Compensation {
    /// Mark while compensation runs. On an ended run it means that compensation was called off.
    pub const UNDER_WAY: &'static str = "@compensation";
    pub const DONE: &'static str = "@compensation:done";
    pub const FAILED: &'static str = "@compensation:failed";

    /// Returns the progress that a run's status and awaited names show.
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

    /// Returns whether an awaited name is a compensation mark.
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

/// Clean-up period of a run whose deadline has passed. When the timer fires, the clean-up ends, whatever it
/// waits for. A run reports this period among the names it awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    pub timer: CommandId,
    /// The run was already being cancelled when its deadline passed, so it ends cancelled.
    pub cancelled: bool,
}

impl Grace {
    const LATE: &'static str = "@deadline:";
    const CANCELLED: &'static str = "@grace:";

    /// Returns the name that a run awaits while it cleans up.
    pub fn mark(self) -> String {
        format!("{}{}", if self.cancelled { Self::CANCELLED } else { Self::LATE }, self.timer)
    }

    /// Returns the clean-up period that an awaited name marks, if it marks one.
    pub fn marked(name: &str) -> Option<Self> {
        let of = |prefix: &str| Some(CommandId(name.strip_prefix(prefix)?.parse().ok()?));
        let late = of(Self::LATE).map(|timer| Self { timer, cancelled: false });
        late.or_else(|| of(Self::CANCELLED).map(|timer| Self { timer, cancelled: true }))
    }

    /// Returns the clean-up period among a run's awaited names, if there is one.
    pub fn of(awaiting: &BTreeSet<String>) -> Option<Self> {
        awaiting.iter().find_map(|name| Self::marked(name))
    }
}

/// A held node without a task is invisible to a world, so its run reports it among the names it awaits.
impl Blocked {
    const HELD: &'static str = "@held:";

    /// Returns the name that a run awaits while this node is held.
    pub fn mark(node: &str, since: Timestamp) -> String {
        format!("{}{}:{node}", Self::HELD, since.millis())
    }

    /// Returns the held node and the start of the hold that an awaited name marks, if it marks one.
    pub fn marked(name: &str) -> Option<(&str, Timestamp)> {
        let (since, node) = name.strip_prefix(Self::HELD)?.split_once(':')?;
        Some((node, Timestamp(since.parse().ok()?)))
    }

    /// Returns the block caused by held nodes, or `None` when there are none or the run has ended.
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

    /// Returns the kind with this name, or `None` for any other text.
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

    /// Returns the code with this name, or `None` for any other text.
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
