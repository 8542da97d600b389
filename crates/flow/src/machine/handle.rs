//! Handles: things the program has started and can await.

use std::sync::Arc;

use rhythm_core::time::Timestamp;

use super::child::Again;
use super::map::Map;
use crate::library::Combinator;
use crate::value::{ErrorValue, Value};

/// Something in progress, or its outcome.
#[derive(Clone, Debug)]
pub struct Handle {
    pub kind: Kind,
    /// Index of the step that started it.
    pub step: u32,
    /// Label for people. The label of a task is stored with the task instead.
    pub label: Option<Arc<str>>,
    pub state: State,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Task {
        name: Arc<str>,
        how: Manner,
    },
    Child {
        workflow: Arc<str>,
        how: Manner,
        /// Set if it is to be started later, or may be retried.
        again: Option<Box<Again>>,
    },
    Timer {
        at: Timestamp,
    },
    Signal {
        name: Arc<str>,
    },
    /// Settles like another handle, unless its timer fires first.
    Timeout {
        of: u64,
        timer: u64,
    },
    Group(Group),
    /// One task or child for each item of a list.
    Map(Box<Map>),
}

/// Options of the handle of a task or child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// An await returns a failure as a value: `{status, result, error}`.
    pub settle: bool,
    /// Cancel it when it loses a race.
    pub cancel: bool,
    /// Whether cancellation was requested already; it is requested once.
    pub cancelled: bool,
}

impl Manner {
    /// Returns whether losing a race cancels it. `all` says that the group cancels every loser.
    pub fn is_cancelled_by(self, all: bool) -> bool {
        !self.cancelled && (self.cancel || all)
    }
}

/// Several handles awaited as one. Members are always older than their group.
#[derive(Clone, Debug)]
pub struct Group {
    pub combinator: Combinator,
    pub members: Arc<[u64]>,
    /// Keys of the members, if the group was made from an object.
    pub keys: Option<Vec<Arc<str>>>,
    /// Cancel the losers, whatever their own options are.
    pub cancel: bool,
}

pub type Outcome = Result<Value, Arc<ErrorValue>>;

#[derive(Clone, Debug)]
pub enum State {
    Open,
    /// The number orders the messages by which handles settled: earlier is smaller.
    Done(Value, u64),
    Failed(Arc<ErrorValue>, u64),
    /// The outcome is in a segment.
    Kept {
        failed: bool,
    },
}

impl State {
    pub fn of(outcome: Outcome, order: u64) -> Self {
        match outcome {
            Ok(value) => Self::Done(value, order),
            Err(error) => Self::Failed(error, order),
        }
    }
}

impl Handle {
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Returns whether an await returns its outcome as a value instead of throwing.
    pub fn settles(&self) -> bool {
        matches!(&self.kind, Kind::Task { how, .. } | Kind::Child { how, .. } if how.settle)
    }

    pub fn is_kept(&self) -> bool {
        matches!(self.state, State::Kept { .. })
    }

    /// Returns whether it ended with a failure that an await throws.
    pub fn throws(&self) -> bool {
        self.has_failed() && !self.settles()
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed(..) | State::Kept { failed: true })
    }

    /// Returns the members of a group.
    pub fn members(&self) -> &[u64] {
        match &self.kind {
            Kind::Group(group) => &group.members,
            _ => &[],
        }
    }

    /// Calls `found` with every handle this one waits for.
    pub fn each_member(&self, mut found: impl FnMut(u64)) {
        match &self.kind {
            Kind::Timeout { of, timer } => [*of, *timer].into_iter().for_each(found),
            Kind::Group(group) => group.members.iter().for_each(|member| found(*member)),
            Kind::Map(map) => map.open.keys().for_each(|item| found(*item)),
            _ => {}
        }
    }
}
