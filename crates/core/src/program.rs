//! The contract of the one idea: a program turns a snapshot and a message into the next snapshot, and says
//! what should happen. One implementation per kind of workflow.

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

/// All state of a run between transitions. Only its program looks inside; `format` tells which reader.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub format: u32,
    /// The content and its seal, as worlds store it.
    pub bytes: Arc<[u8]>,
}

/// As text, which it mostly is: numbers of bytes tell nobody anything.
impl fmt::Debug for Snapshot {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Snapshot({}, {})", self.format, String::from_utf8_lossy(&self.bytes))
    }
}

/// A `#` and eight hexadecimal digits: the CRC-32 of all before.
const SEAL_BYTES: usize = 9;

impl Snapshot {
    pub fn seal(format: u32, mut content: Vec<u8>) -> Self {
        let seal = seal_of(&content);
        content.extend_from_slice(seal.as_bytes());
        Self { format, bytes: content.into() }
    }

    /// The content, unless a disk or a hand has changed it.
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

/// What a program may know about the run it steps. Fixed when the run starts.
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

/// How a run stands after a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    Waiting,
    Completed(Payload),
    Failed(Failure),
}

/// What one message did.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// After a failure: what a reopened run goes on from. That is the snapshot from before the failing message,
    /// except that the numbers of commands asked for since are not given out again.
    pub snapshot: Snapshot,
    pub commands: Vec<Command>,
    /// What only the program knows: markers, logs, groups. Events about commands are derived from them.
    pub events: Vec<EventData>,
    /// The signals it would take now. What is not listed stays in the inbox; a wait that nobody can reach any
    /// more is simply no longer listed. Names that start with `@` are waits for other answers from outside
    /// (`@approval:3`), listed so that everybody can see what the run waits for.
    pub awaiting: BTreeSet<String>,
    /// Of signals it awaits: the texts people know these waits by.
    pub labels: BTreeMap<String, String>,
    pub progress: Progress,
    /// Contents that left the snapshot for a reference to them.
    pub blobs: Contents,
    /// The run knows that its history has been warned of a large snapshot.
    pub warned: bool,
    /// Tasks whose failures an await has read, or absorbed, in this transition: those of a group that was decided otherwise
    /// too, even while they are open.
    pub read: Vec<CommandId>,
}

/// The answer of a step.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it is returned; a box would be one more allocation"
)]
pub enum Step {
    Transition(Transition),
    /// The step has to look inside these; call again with them.
    NeedBlobs(Vec<BlobRef>),
}

/// Why a message cannot be stepped at all. The run is set aside; others go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("the snapshot has format {found}, this build reads {known}")]
    UnknownFormat { found: u32, known: u32 },
    #[error("the snapshot cannot be read: {0}")]
    BadSnapshot(String),
    #[error("the definition cannot be read: {0}")]
    BadDefinition(String),
    /// A run cannot go on with this version from where it is.
    #[error("{code}: {message}")]
    Misfit { code: String, message: String },
}

/// The executable form of one version of a workflow.
pub trait Program: Send + Sync {
    /// Pure and deterministic: equal arguments give equal answers, on every machine and for ever.
    fn step(&self, input: StepInput<'_>) -> Result<Step, ProgramError>;

    /// The run is to fail for a reason that is not in its program, such as its deadline: what the program does before it
    /// ends, if anything. Nothing when it has nothing to do; the run then fails at once, as it stands.
    fn give_up(&self, input: StepInput<'_>, failure: &Failure) -> Result<Option<Step>, ProgramError> {
        let (_, _) = (input, failure);
        Ok(None)
    }

    /// Whether a run's deadline is a message of its own for the program: it may clean up, and says with [`crate::run::Grace`]
    /// for how long. It fails with `DEADLINE_EXCEEDED` by itself then. Others are asked to [`Self::give_up`].
    fn catches_deadline(&self) -> bool {
        false
    }

    /// Takes over a run of another version of its workflow: the snapshot is one of `before`, the answer has one of this
    /// program. Refused when the run cannot go on with this version from where it is.
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

    /// For programs that look at the other version of a workflow, which is of their own kind.
    fn as_any(&self) -> &dyn Any;

    /// Whether what a history folds to is what is stored. An earlier build may have written the run in part, and it did not keep
    /// all that this one keeps: only what both keep is compared then.
    fn is_same(&self, folded: &Snapshot, stored: &Snapshot) -> bool {
        folded == stored
    }

    /// The blobs a snapshot refers to, in order and each once. A program whose snapshots hold no references has none.
    fn blob_refs(&self, snapshot: &Snapshot) -> Result<Vec<BlobRef>, ProgramError> {
        let _ = snapshot;
        Ok(Vec::new())
    }

    /// A run whose snapshot is read once for several messages. Nothing when stepping is as good, or when the snapshot
    /// cannot be read: stepping says why.
    fn session<'a>(&'a self, snapshot: &Snapshot) -> Option<Box<dyn Session + 'a>>;
}

/// A run between the messages of one commit. Where it can tell what a message does, that is what a step would do.
pub trait Session {
    /// Applies a message after which the run waits for the same signals as before. Nothing when it does more, or may: nothing
    /// was applied then, and it is to be stepped from [`Self::snapshot`].
    fn note(&mut self, input: StepInput<'_>) -> Option<Noted>;

    /// The snapshot as it is now, if any message has changed it, and the contents that left it.
    fn snapshot(&mut self) -> Option<(Snapshot, Contents)>;
}

/// What a message did that was only noted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    pub commands: Vec<Command>,
    /// What only the program knows.
    pub events: Vec<EventData>,
    /// Contents that left the snapshot.
    pub blobs: Contents,
    /// Tasks whose failures were read.
    pub read: Vec<CommandId>,
}
