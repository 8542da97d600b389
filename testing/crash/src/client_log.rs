//! The client log: every call and its answer. A call is written before it is made, so a call whose caller was
//! killed counts as unknown.

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
    /// Decides a run's question if it is open by then.
    Decide,
    Enqueue,
}

/// One call. Its name is the same for every repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub name: String,
    pub operation: Operation,
    /// Run or task the call is about.
    pub target: String,
    /// Name of the workflow or task to start, or id of the message to send.
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Ok,
    /// A decision reached its run while the question was open, as the message with this id.
    Delivered(String),
    /// There is no question yet.
    Early,
    /// The question was answered before, so this call promises nothing.
    Over,
    /// Refused for good: the call had no effect.
    Failed(String),
    /// The call may have had its effect; it is repeated under the same name.
    Unknown(String),
}

impl Answer {
    /// Returns whether the caller was assured that the call took effect.
    pub fn is_promise(&self) -> bool {
        matches!(self, Self::Ok | Self::Delivered(_))
    }
}

/// One line of the file: a call sent at `began`, with its answer once there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub call: Call,
    pub began: u64,
    /// None when the call is about to be sent.
    pub answered: Option<(u64, Answer)>,
}

/// Writer of a client log.
pub struct ClientLog(File);

impl ClientLog {
    pub fn append_to(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // A client that was killed may have left half a line.
        if file.metadata()?.len() > 0 {
            file.write_all(b"\n")?;
        }
        Ok(Self(file))
    }

    /// Logs that a call is about to be sent and returns the time.
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

/// Final state of one call in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub call: Call,
    pub answer: Answer,
    /// Number of times the call was sent.
    pub sent: u32,
    /// Time it was first sent, and time of the last answer.
    pub interval: (u64, Option<u64>),
}

/// Reads the calls of one log by name. An answer that is a promise is kept, whatever came later.
pub fn read(path: &Path) -> io::Result<BTreeMap<String, Outcome>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    // Half lines come from killed clients: the call was not sent, or its answer is unknown.
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
