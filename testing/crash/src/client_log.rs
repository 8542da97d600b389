//! The client log: every call with what its caller was told. A call is written down before it is made, so one
//! whose caller was killed is known to be unknown.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::wait::wall_millis;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Start,
    Signal,
    Cancel,
    /// Of a question, if there is one by then.
    Decide,
    Enqueue,
}

/// One call, under a name that is the same however often it is tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub name: String,
    pub operation: Operation,
    /// The run or task it is about.
    pub target: String,
    /// What is started or enqueued, or the id of the message that is sent.
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Ok,
    /// A decision reached its run while the question was open, as the message of this id.
    Delivered(String),
    /// Nothing to decide yet: nobody has been asked.
    Early,
    /// Nothing to decide any more: the question was answered before. Nothing is promised.
    Over,
    /// Refused for good: it did not happen.
    Failed(String),
    /// It may have happened; tried again under the same name.
    Unknown(String),
}

impl Answer {
    /// Whether somebody was told that it happened.
    pub fn is_promise(&self) -> bool {
        matches!(self, Self::Ok | Self::Delivered(_))
    }
}

/// One line of the file: a call that was sent at `began`, and its answer once there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub call: Call,
    pub began: u64,
    /// Absent when the call is about to be sent.
    pub answered: Option<(u64, Answer)>,
}

/// The writing side.
pub struct ClientLog(File);

impl ClientLog {
    pub fn append_to(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // Whoever was killed here before may have left half a line.
        if file.metadata()?.len() > 0 {
            file.write_all(b"\n")?;
        }
        Ok(Self(file))
    }

    /// Notes that a call is about to be sent; gives when.
    pub fn sending(&mut self, call: &Call) -> io::Result<u64> {
        let began = wall_millis();
        self.write(&Line { call: call.clone(), began, answered: None })?;
        Ok(began)
    }

    pub fn answered(&mut self, call: &Call, began: u64, answer: Answer) -> io::Result<()> {
        self.write(&Line { call: call.clone(), began, answered: Some((wall_millis(), answer)) })
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.0.write_all(text.as_bytes())?;
        self.0.sync_data()
    }
}

/// What a log says about one call in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub call: Call,
    pub answer: Answer,
    /// How often it was sent.
    pub sent: u32,
    /// When it was first sent, and when the last answer came.
    pub interval: (u64, Option<u64>),
}

/// The calls of one log by name. A promise stands whatever came later.
pub fn read(path: &Path) -> io::Result<BTreeMap<String, Outcome>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    // Half lines are those of killed clients: such a call was not sent, or its answer is unknown.
    for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        let unknown = Answer::Unknown("the caller was killed".into());
        let outcome = outcomes.entry(line.call.name.clone()).or_insert_with(|| Outcome {
            call: line.call.clone(),
            answer: unknown,
            sent: 0,
            interval: (line.began, None),
        });
        match line.answered {
            None => outcome.sent += 1,
            Some((at, answer)) => {
                outcome.interval.1 = Some(at);
                if !outcome.answer.is_promise() {
                    outcome.answer = answer;
                }
            }
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_whose_caller_died_is_unknown_until_it_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let call = |name: &str| Call {
            name: name.into(),
            operation: Operation::Start,
            target: "r".into(),
            detail: "steps".into(),
        };
        let mut log = ClientLog::append_to(&path).unwrap();
        let began = log.sending(&call("a")).unwrap();
        log.answered(&call("a"), began, Answer::Ok).unwrap();
        log.sending(&call("b")).unwrap();
        log.0.write_all(b"{\"call\":").unwrap();
        let mut log = ClientLog::append_to(&path).unwrap();
        let outcomes = read(&path).unwrap();
        assert_eq!(outcomes["a"].answer, Answer::Ok);
        assert!(matches!(outcomes["b"].answer, Answer::Unknown(_)));
        let began = log.sending(&call("b")).unwrap();
        log.answered(&call("b"), began, Answer::Failed("no".into())).unwrap();
        let outcomes = read(&path).unwrap();
        assert_eq!((&outcomes["b"].answer, outcomes["b"].sent), (&Answer::Failed("no".into()), 2));
    }
}
