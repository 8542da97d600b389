//! Identifiers. Every id inside a run is derived from the run's id and a counter kept in its snapshot, so a
//! retried transition produces the same ids.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    };
}

text_id!(
    /// Owner of the data. It comes from the credential, never from a request body.
    TenantId
);
text_id!(
    /// One execution of a workflow.
    RunId
);
text_id!(
    /// One task. For a task of a run this is `run:number`, the same on every attempt.
    TaskId
);
text_id!(
    /// One message to a run. A message with a repeated id is a duplicate.
    MessageId
);
text_id!(
    /// One registered worker process.
    WorkerId
);
text_id!(
    /// One try to commit. It is repeated unchanged when the answer was lost.
    CommitId
);
text_id!(
    /// Content hash of a workflow definition: `sha256:<hex>`.
    Version
);

/// The number of a command within its run: 1, 2, 3 ...
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandId(pub u64);

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Default for TenantId {
    fn default() -> Self {
        Self::new("default")
    }
}

/// Suffix of the ids of forks.
const FORK: &str = "~f";

impl Version {
    /// Returns the version of a definition with this source text.
    pub fn of(source: &[u8]) -> Self {
        Self(format!("sha256:{}", hex(&Sha256::digest(source))))
    }
}

impl RunId {
    /// Returns the id of a run started with an idempotency key. The same key always gives the same id.
    pub fn for_key(tenant: &TenantId, workflow: &str, key: &str) -> Self {
        Self(uuid_from_hash(&["run", tenant.as_str(), workflow, key]))
    }

    /// Returns the id of the run or task that a schedule starts at one fire time.
    pub fn for_fire(tenant: &TenantId, schedule: &str, fire_at: crate::Timestamp) -> Self {
        Self(uuid_from_hash(&["fire", tenant.as_str(), schedule, &fire_at.millis().to_string()]))
    }

    /// Returns the id of a fork, derived from an unused id. Its suffix shows the engine that tasks of another
    /// run may stand for the fork's own tasks.
    pub fn of_fork(id: impl fmt::Display) -> Self {
        Self(format!("{id}{FORK}"))
    }

    /// Returns the fork and the path below it (such as `.3.1`) when this id may be a fork or a child of one.
    pub fn split_fork(&self) -> Option<(Self, &str)> {
        let end = self.0.find(FORK)? + FORK.len();
        let (root, path) = self.0.split_at(end);
        (path.is_empty() || path.starts_with('.')).then(|| (Self(root.to_owned()), path))
    }

    /// Returns whether this is `root` or a run below it.
    pub fn is_in_family_of(&self, root: &Self) -> bool {
        self.0.strip_prefix(&root.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Returns the id of the child started by command `child` of this run.
    pub fn child(&self, child: CommandId) -> Self {
        Self(format!("{}.{}", self.0, child))
    }

    /// Returns the id of task number `task` of this run.
    pub fn task(&self, task: CommandId) -> TaskId {
        TaskId(format!("{}:{}", self.0, task))
    }
}

impl TaskId {
    /// Returns the id of a standalone task enqueued with an idempotency key.
    pub fn for_key(tenant: &TenantId, name: &str, key: &str) -> Self {
        Self(uuid_from_hash(&["task", tenant.as_str(), name, key]))
    }

    /// Returns the idempotency key of an attempt. A handler passes it to an outside service, so that a
    /// redelivered attempt has no second effect.
    pub fn attempt_key(&self, attempt: u32) -> String {
        format!("{}:{}", self.0, attempt)
    }
}

/// Returns a UUID (version 8, custom content) from the SHA-256 of length-prefixed parts.
fn uuid_from_hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let text = hex(&bytes);
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_names_the_same_run_and_parts_do_not_run_together() {
        let tenant = TenantId::default();
        let id = RunId::for_key(&tenant, "order", "a-1");
        assert_eq!(id, RunId::for_key(&tenant, "order", "a-1"));
        assert_ne!(id, RunId::for_key(&tenant, "ordera", "-1"));
        assert_ne!(id, RunId::for_key(&TenantId::new("other"), "order", "a-1"));
        assert_eq!(id.as_str().len(), 36);
        assert_eq!(&id.as_str()[14..15], "8");
    }

    #[test]
    fn ids_inside_a_run_are_its_id_and_a_number() {
        let run = RunId::new("r");
        assert_eq!(run.child(CommandId(3)).child(CommandId(1)).as_str(), "r.3.1");
        assert_eq!(run.task(CommandId(2)).attempt_key(4), "r:2:4");
    }

    #[test]
    fn a_fork_and_its_children_are_known_by_their_names() {
        let fork = RunId::of_fork("r");
        assert_eq!(fork.split_fork(), Some((fork.clone(), "")));
        let child = fork.child(CommandId(3)).child(CommandId(1));
        assert_eq!(child.split_fork(), Some((fork, ".3.1")));
        assert_eq!(RunId::new("r.3").split_fork(), None);
        assert_eq!(RunId::new("r~fish").split_fork(), None);
    }

    #[test]
    fn a_version_is_the_sha_256_of_its_source() {
        assert_eq!(
            Version::of(b"").as_str(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
