//! What was started and can be awaited.

use std::sync::Arc;

use rhythm_core::time::Timestamp;

use super::child::Again;
use super::map::Map;
use crate::library::Combinator;
use crate::value::{ErrorValue, Value};

/// One thing under way, or its outcome.
#[derive(Clone, Debug)]
pub struct Handle {
    pub kind: Kind,
    /// The step that started it.
    pub step: u32,
    /// A text for people; that of a task stands with the task.
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
        /// When it is to be started later, or tried again.
        again: Option<Box<Again>>,
    },
    Timer {
        at: Timestamp,
    },
    Signal {
        name: Arc<str>,
    },
    /// Another handle, unless its timer comes first.
    Timeout {
        of: u64,
        timer: u64,
    },
    Group(Group),
    /// A task or child for each item of a list.
    Map(Box<Map>),
}

/// How a task or child answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// To whoever awaits it, a failure is a value too: `{status, result, error}`.
    pub settle: bool,
    /// To be cancelled when it loses a race.
    pub cancel: bool,
    /// Was asked to stop: it is not asked twice.
    pub cancelled: bool,
}

impl Manner {
    /// Whether losing a race ends it; `all` when the race says so for everybody.
    pub fn is_cancelled_by(self, all: bool) -> bool {
        !self.cancelled && (self.cancel || all)
    }
}

/// Several handles awaited as one. Members are always older than their group.
#[derive(Clone, Debug)]
pub struct Group {
    pub combinator: Combinator,
    pub members: Arc<[u64]>,
    /// Of an object of handles.
    pub keys: Option<Vec<Arc<str>>>,
    /// Losers are cancelled, whatever their own options say.
    pub cancel: bool,
}

pub type Outcome = Result<Value, Arc<ErrorValue>>;

#[derive(Clone, Debug)]
pub enum State {
    Open,
    /// The number says which message settled it: earlier is smaller.
    Done(Value, u64),
    Failed(Arc<ErrorValue>, u64),
    /// How it ended lies in a segment.
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

    /// Whether an await of it gives how it ended instead of throwing.
    pub fn settles(&self) -> bool {
        matches!(&self.kind, Kind::Task { how, .. } | Kind::Child { how, .. } if how.settle)
    }

    pub fn is_kept(&self) -> bool {
        matches!(self.state, State::Kept { .. })
    }

    /// Whether it ended with a failure that an await of it throws.
    pub fn throws(&self) -> bool {
        self.has_failed() && !self.settles()
    }

    pub fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed(..) | State::Kept { failed: true })
    }

    /// The handles this group waits for.
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
