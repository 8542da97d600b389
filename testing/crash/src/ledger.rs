//! The effect ledger: format of the reports of attempts, and its reader. The recorder is a separate process
//! with a file of its own; a line is on disk before its sender gets an answer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rhythm::{TaskContext, Version};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// Report of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub what: What,
    pub run: Option<String>,
    pub task: String,
    pub name: String,
    pub attempt: u32,
    pub delivery: u32,
    /// Claim number, used as fencing token: it grows with every hand-out of the task.
    pub claim: u64,
    pub idempotency_key: String,
    pub payload_hash: String,
    pub pid: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An attempt begins.
    Began,
    /// Its effect happens.
    Did,
}

/// Answer of the recorder to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accepted,
    /// A deduplicating recorder has seen this idempotency key, so there is no second effect.
    Duplicate,
    /// A fencing recorder has seen a higher claim of this task, so there is no effect.
    Late,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Wall clock of the recorder.
    pub at: u64,
    pub verdict: Verdict,
    pub entry: Entry,
}

impl Entry {
    pub fn of(what: What, context: &TaskContext, input: &str) -> Self {
        Self {
            what,
            run: context.run_id().map(ToString::to_string),
            task: context.task_id().to_string(),
            name: context.name().to_owned(),
            attempt: context.attempt(),
            delivery: context.delivery(),
            claim: context.claim(),
            idempotency_key: context.idempotency_key(),
            payload_hash: Version::of(input.as_bytes()).to_string(),
            pid: std::process::id(),
        }
    }

    /// Sends the entry to the recorder and waits until it is on disk.
    pub async fn report(&self, recorder: &Path) -> io::Result<Verdict> {
        let mut socket = BufReader::new(UnixStream::connect(recorder).await?);
        let mut line = serde_json::to_string(self)?;
        line.push('\n');
        socket.get_mut().write_all(line.as_bytes()).await?;
        let mut answer = String::new();
        socket.read_line(&mut answer).await?;
        Ok(serde_json::from_str(&answer)?)
    }
}

/// Behaviour of the recorder as a service.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manners {
    /// One effect per idempotency key.
    pub dedupe: bool,
    /// No effect of a hand-out when a later one has been seen.
    pub fence: bool,
}

impl Manners {
    /// An idempotent service.
    pub const DEDUPES: Self = Self { dedupe: true, fence: false };
}

/// State a recorder uses for its verdicts.
#[derive(Default)]
pub struct Judge {
    keys: BTreeMap<String, u32>,
    claims: BTreeMap<String, u64>,
}

impl Judge {
    pub fn judge(&mut self, manners: Manners, entry: &Entry) -> Verdict {
        let highest = self.claims.entry(entry.task.clone()).or_default();
        if entry.claim < *highest && manners.fence && entry.what == What::Did {
            return Verdict::Late;
        }
        *highest = entry.claim.max(*highest);
        if entry.what == What::Began {
            return Verdict::Accepted;
        }
        let seen = self.keys.entry(entry.idempotency_key.clone()).or_default();
        *seen += 1;
        if *seen > 1 && manners.dedupe { Verdict::Duplicate } else { Verdict::Accepted }
    }
}

/// Reader that follows the growing file.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    read: u64,
    rest: Vec<u8>,
    lines: Vec<Line>,
}

impl Ledger {
    pub fn at(path: PathBuf) -> Self {
        Self { path, read: 0, rest: Vec::new(), lines: Vec::new() }
    }

    /// Returns all lines so far.
    pub fn lines(&mut self) -> io::Result<&[Line]> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(&self.lines),
            opened => opened?,
        };
        file.seek(SeekFrom::Start(self.read))?;
        let mut fresh = Vec::new();
        self.read += file.read_to_end(&mut fresh)? as u64;
        self.rest.extend(fresh);
        // The last line may be incomplete.
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in self.rest[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.lines.push(serde_json::from_slice(line)?);
        }
        self.rest.drain(..whole);
        Ok(&self.lines)
    }
}

#[cfg(test)]
impl Entry {
    /// An entry of the first hand-out of a task, for tests.
    pub fn sample(what: What) -> Self {
        Self {
            what,
            run: None,
            task: "t".into(),
            name: "work".into(),
            attempt: 1,
            delivery: 1,
            claim: 1,
            idempotency_key: String::new(),
            payload_hash: String::new(),
            pid: 1,
        }
    }
}

#[cfg(test)]
impl Line {
    pub fn of(entry: Entry) -> Self {
        Self { at: 0, verdict: Verdict::Accepted, entry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(what: What, key: &str, claim: u64) -> Entry {
        Entry { claim, idempotency_key: key.into(), ..Entry::sample(what) }
    }

    #[test]
    fn a_deduplicating_recorder_takes_an_effect_once_and_a_plain_one_each_time() {
        let mut judge = Judge::default();
        let manners = Manners::DEDUPES;
        assert_eq!(judge.judge(manners, &entry(What::Did, "a", 1)), Verdict::Accepted);
        assert_eq!(judge.judge(manners, &entry(What::Did, "a", 2)), Verdict::Duplicate);
        assert_eq!(judge.judge(Manners::default(), &entry(What::Did, "a", 3)), Verdict::Accepted);
    }

    #[test]
    fn a_fencing_recorder_refuses_the_effect_of_a_hand_out_that_was_followed() {
        let mut judge = Judge::default();
        let manners = Manners { dedupe: false, fence: true };
        judge.judge(manners, &entry(What::Began, "a", 1));
        judge.judge(manners, &entry(What::Began, "a", 2));
        assert_eq!(judge.judge(manners, &entry(What::Did, "a", 1)), Verdict::Late);
        assert_eq!(judge.judge(manners, &entry(What::Did, "a", 2)), Verdict::Accepted);
    }

    #[test]
    fn half_a_line_is_left_for_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let mut ledger = Ledger::at(path.clone());
        assert_eq!(ledger.lines().unwrap().len(), 0);
        let line = Line { at: 1, verdict: Verdict::Accepted, entry: entry(What::Did, "a", 1) };
        let text = serde_json::to_string(&line).unwrap();
        std::fs::write(&path, format!("{text}\n{}", &text[..10])).unwrap();
        assert_eq!(ledger.lines().unwrap(), std::slice::from_ref(&line));
        std::fs::write(&path, format!("{text}\n{text}\n")).unwrap();
        assert_eq!(ledger.lines().unwrap(), [line.clone(), line]);
    }
}
