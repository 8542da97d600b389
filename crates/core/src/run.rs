//! The state of a run that everybody may see: its status, and the side fields beside it.

use serde::{Deserialize, Serialize};

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
    /// A task with `on_exhausted: hold` is out of attempts.
    DeadLetter,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub code: BlockedCode,
    pub since: Timestamp,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compensation {
    #[default]
    None,
    Running,
    Done,
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
    fn a_run_that_has_ended_only_reopens_and_only_when_it_failed() {
        use Change::*;
        for status in [Status::Completed, Status::Cancelled] {
            for change in [Claim, Release, Suspend, Complete, Fail, Cancel, Reopen] {
                assert!(status.after(change, true).is_err());
            }
        }
        assert_eq!(Status::Failed.after(Reopen, true), Ok(Status::Waiting));
        assert!(Status::Failed.after(Claim, true).is_err());
    }

    #[test]
    fn a_claim_given_back_leaves_the_run_where_it_was() {
        assert_eq!(Status::Running.after(Change::Release, false), Ok(Status::Pending));
        assert_eq!(Status::Running.after(Change::Release, true), Ok(Status::Waiting));
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
