//! Artifacts, tags, and patches of workflows: who kept or moved what, when and why.

use rhythm_core::{Actor, BlobRef, Payload, Timestamp, Version};
use serde::{Deserialize, Serialize};

use super::error::WorldError;
use super::runs::Definition;

/// Content to keep until it is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArtifact {
    pub blob: BlobRef,
    /// What it is called in listings.
    pub name: String,
}

/// Content that is kept until it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRow {
    pub hash: String,
    pub name: String,
    pub bytes: u64,
    pub at: Timestamp,
    pub actor: Actor,
}

/// What a tag points at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TagTarget {
    pub workflow: String,
    pub version: Version,
}

/// A tag to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTagMove {
    pub tag: String,
    /// Nothing removes it; its history stays.
    pub to: Option<TagTarget>,
    pub reason: String,
    /// The number of its last move, as the caller knows it; 0 for a tag that never was.
    pub expected: u64,
}

/// One move of a tag. The last one says where it points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagMove {
    pub tag: String,
    /// 1, 2, 3 ... without gaps.
    pub number: u64,
    pub at: Timestamp,
    pub actor: Actor,
    pub reason: String,
    pub from: Option<TagTarget>,
    pub to: Option<TagTarget>,
}

impl TagMove {
    /// Whether this is what a call asked for whose answer may have been lost.
    pub fn answers(&self, wish: &NewTagMove, actor: &Actor) -> bool {
        self.number == wish.expected + 1
            && self.to == wish.to
            && self.reason == wish.reason
            && self.actor == *actor
    }
}

/// A version made of another one by a patch.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWorkflowPatch {
    pub definition: Definition,
    pub base: Version,
    pub operations: Payload,
    /// Makes the old document of the new one.
    pub inverse: Payload,
    pub reason: String,
    /// The tag that moves, and the number of its last move. Without one, the current version moves.
    pub tag: Option<(String, u64)>,
}

/// A patch of a workflow, kept beside the version it made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkflowPatch {
    /// 1, 2, 3 ... of its workflow.
    pub number: u64,
    pub at: Timestamp,
    pub actor: Actor,
    pub reason: String,
    pub tag: Option<String>,
    pub base: Version,
    pub version: Version,
    pub operations: Payload,
    pub inverse: Payload,
}

impl WorkflowPatch {
    /// Whether this is what a call asked for whose answer may have been lost.
    pub fn answers(&self, wish: &NewWorkflowPatch, actor: &Actor) -> bool {
        self.base == wish.base
            && self.version == wish.definition.version
            && self.tag.as_ref() == wish.tag.as_ref().map(|(tag, _)| tag)
            && self.operations == wish.operations
            && self.reason == wish.reason
            && self.actor == *actor
    }
}

/// The hashes of blobs that a stored text names, whoever wrote it and in whichever form.
pub fn named_blobs(text: &[u8]) -> impl Iterator<Item = &str> {
    const HEAD: &[u8] = b"sha256:";
    let is_hash = |name: &&[u8]| {
        name.starts_with(HEAD)
            && name[HEAD.len()..].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    text.windows(HEAD.len() + 64).filter(is_hash).filter_map(|name| std::str::from_utf8(name).ok())
}

/// Whoever lost a race is told what won it.
pub fn moved_meanwhile(what: &str, now: &str) -> WorldError {
    WorldError::Conflict(format!("{what} was moved meanwhile: it is at {now}"))
}
