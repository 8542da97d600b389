//! The contract between the fold and a program: a program turns a snapshot and a message into the next
//! snapshot, commands and events. Each kind of workflow implements it once.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::command::Command;
use crate::event::EventData;
use crate::failure::Failure;
use crate::id::{CommandId, RunId, TenantId, Version};
use crate::message::{Message, VersionChanged};
use crate::payload::{BlobRef, Blobs, Contents, Payload};
use crate::time::Timestamp;

/// All state of a run between transitions. Only its program reads the content; `format` names its encoding.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub format: u32,
    /// The content followed by its checksum, as worlds store it.
    pub bytes: Arc<[u8]>,
}

/// Prints the bytes as text, because snapshots are mostly text.
impl fmt::Debug for Snapshot {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Snapshot({}, {})", self.format, String::from_utf8_lossy(&self.bytes))
    }
}

/// Length of the checksum: a `#` and eight hexadecimal digits, the CRC-32 of everything before.
const SEAL_BYTES: usize = 9;

impl Snapshot {
    /// Returns a snapshot of this content with its checksum appended.
    pub fn seal(format: u32, mut content: Vec<u8>) -> Self {
        let seal = seal_of(&content);
        content.extend_from_slice(seal.as_bytes());
        Self { format, bytes: content.into() }
    }

    /// Returns the content. Fails with `BadSnapshot` when the checksum does not fit, because the stored bytes
    /// changed.
    pub fn open(&self) -> Result<&[u8], ProgramError> {
        let split = self.bytes.split_at_checked(self.bytes.len().saturating_sub(SEAL_BYTES));
        match split {
            Some((content, seal)) if seal == seal_of(content).as_bytes() => Ok(content),
            _ => Err(ProgramError::BadSnapshot("its checksum does not fit: it was damaged".into())),
        }
    }
}

fn seal_of(content: &[u8]) -> String {
    format!("#{:08x}", crc32fast::hash(content))
}

/// Facts about a run that its program may read. Fixed when the run starts, except that a version change
/// replaces `version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    pub run: RunId,
    pub tenant: TenantId,
    pub workflow: String,
    pub version: Version,
    pub created_at: Timestamp,
}

/// The arguments of one step.
#[derive(Clone, Copy, Debug)]
pub struct StepInput<'a> {
    pub facts: &'a RunFacts,
    /// Absent for the first message.
    pub snapshot: Option<&'a Snapshot>,
    pub message: &'a Message,
    /// The run's own time: never decreases, stored with the message.
    pub at: Timestamp,
    pub blobs: &'a Blobs,
}

/// State of a run after a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    Waiting,
    Completed(Payload),
    Failed(Failure),
}

/// Effect of one message, as computed by the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// After a failure: the snapshot from which a reopened run continues. It is the snapshot from before the
    /// failing message, except that command numbers used since are not used again.
    pub snapshot: Snapshot,
    pub commands: Vec<Command>,
    /// Events that only the program knows: markers, logs, groups. Events about commands are derived from the
    /// commands.
    pub events: Vec<EventData>,
    /// The signals the run would consume now. A signal not listed stays in the inbox. A wait that the program
    /// can no longer reach is left out. Names that start with `@` are waits for other answers from outside
    /// (`@approval:3`), listed so that people see what the run waits for.
    pub awaiting: BTreeSet<String>,
    /// Labels of the awaited signals, shown to people.
    pub labels: BTreeMap<String, String>,
    pub progress: Progress,
    /// Contents moved out of the snapshot, which now refers to them.
    pub blobs: Contents,
    /// The program remembers that the history already warns of its large snapshot, so the fold writes no
    /// second warning.
    pub warned: bool,
    /// Tasks whose failures an await has read or absorbed in this transition. Includes tasks of a group that
    /// another member decided, even while they are open.
    pub read: Vec<CommandId>,
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is returned; a box would be one more allocation"
)]
pub enum Step {
    Transition(Transition),
    /// The step needs the contents of these blobs. Call again with them.
    NeedBlobs(Vec<BlobRef>),
}

/// Reasons that a message cannot be stepped at all. The run is quarantined, so that other runs go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("the snapshot has format {found}, this build reads {known}")]
    UnknownFormat { found: u32, known: u32 },
    #[error("the snapshot cannot be read: {0}")]
    BadSnapshot(String),
    #[error("the definition cannot be read: {0}")]
    BadDefinition(String),
    /// A run cannot continue with this version from its position.
    #[error("{code}: {message}")]
    Misfit { code: String, message: String },
}

/// The executable form of one version of a workflow.
pub trait Program: Send + Sync {
    /// Applies one message. Pure and deterministic: equal arguments give equal results, on every machine and
    /// in every later build. Fails when the snapshot or the definition cannot be read.
    fn step(&self, input: StepInput<'_>) -> Result<Step, ProgramError>;

    /// Called when the run must fail for a reason outside its program, such as its deadline. Returns the last
    /// step the program does before the end, such as compensation. Returns `None` when there is nothing to
    /// do: the run then fails at once, with its current snapshot.
    fn give_up(&self, input: StepInput<'_>, failure: &Failure) -> Result<Option<Step>, ProgramError> {
        let (_, _) = (input, failure);
        Ok(None)
    }

    /// Returns whether the program handles its run's deadline itself. Such a program steps the
    /// `DeadlineReached` message: it may clean up for a time that it marks with [`crate::run::Grace`], and
    /// then fails with `DEADLINE_EXCEEDED`. For other programs the fold calls [`Self::give_up`].
    fn catches_deadline(&self) -> bool {
        false
    }

    /// Takes over a run from another version of its workflow: the snapshot in `input` was written by
    /// `before`, the one in the result by this program. Fails with `Misfit` when the run cannot continue with
    /// this version from its position.
    fn take_over(
        &self,
        before: &dyn Program,
        input: StepInput<'_>,
        changed: &VersionChanged,
    ) -> Result<Step, ProgramError> {
        let (_, _, _) = (before, input, changed);
        let message = "only runs of flows and graphs can change their version".to_owned();
        Err(ProgramError::Misfit { code: "other_kind".to_owned(), message })
    }

    /// Lets a program downcast the other version of its workflow, which has the same kind.
    fn as_any(&self) -> &dyn Any;

    /// Returns whether the snapshot folded from a history equals the stored one. When an earlier build wrote
    /// part of the run and kept less, only the state that both builds keep is compared.
    fn is_same(&self, folded: &Snapshot, stored: &Snapshot) -> bool {
        folded == stored
    }

    /// Returns the blobs that a snapshot refers to, in order and each once. The default is none, for programs
    /// whose snapshots hold no references.
    fn blob_refs(&self, snapshot: &Snapshot) -> Result<Vec<BlobRef>, ProgramError> {
        let _ = snapshot;
        Ok(Vec::new())
    }

    /// Returns a session that decodes the snapshot once for several messages. Returns `None` when stepping is
    /// as fast, or when the snapshot cannot be read: stepping then reports the error.
    fn session<'a>(&'a self, snapshot: &Snapshot) -> Option<Box<dyn Session + 'a>>;
}

/// A run between the messages of one commit, with its snapshot decoded. It gives the same result as stepping.
pub trait Session {
    /// Applies a message after which the run waits for the same signals as before. Returns `None`, and
    /// applies nothing, when the message does more or may do more: step it from [`Self::snapshot`] instead.
    fn note(&mut self, input: StepInput<'_>) -> Option<Noted>;

    /// Returns the current snapshot and the contents that left it, if any message has changed it.
    fn snapshot(&mut self) -> Option<(Snapshot, Contents)>;
}

/// Effect of a message that a session applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    pub commands: Vec<Command>,
    /// Events that only the program knows.
    pub events: Vec<EventData>,
    /// Contents moved out of the snapshot.
    pub blobs: Contents,
    /// Tasks whose failures were read.
    pub read: Vec<CommandId>,
}
