//! How people name a version of a workflow: by its number (`3`), its hash or the beginning of that, a tag (`main`) or one move of
//! a tag (`main@v3`). The one place for commands, the client and whatever else takes such names.

use rhythm_core::Version;

use crate::client::{Client, StartRun};
use crate::error::EngineError;
use crate::labels;
use crate::world::*;

/// Fewer digits than this are the number of a version and nothing else; more of them may also begin a hash.
const HASH_DIGITS: usize = 7;

/// A workflow, and the version of it that was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    pub workflow: String,
    /// Absent where the current one is meant.
    pub version: Option<Version>,
    /// The tag that named it, and which move of the tag.
    pub tag: Option<(String, u64)>,
}

impl Client {
    /// What `order`, `order@3`, `order@1f2e`, `order@main`, `order@main@v3` or `main@v3` names. Behind a tag and `@v` stands the
    /// number of its move, behind a workflow and `@` a version of it.
    pub async fn select(&self, name: &str) -> Result<Selected, EngineError> {
        let Some((first, rest)) = name.split_once('@') else {
            return Ok(Selected { workflow: name.to_owned(), version: None, tag: None });
        };
        if let Some(number) = move_number(rest) {
            let moves = self.world().tag_history(self.tenant(), first, usize::MAX).await?;
            if !moves.is_empty() {
                let to = target_of(first, number, moves)?;
                let tag = Some((first.to_owned(), number));
                return Ok(Selected { workflow: to.workflow, version: Some(to.version), tag });
            }
            if self.world().version_numbers(self.tenant(), first).await?.is_empty() {
                return Err(EngineError::UnknownTag(first.to_owned()));
            }
        }
        self.select_of(first, rest).await
    }

    /// The version of a workflow that a number, a hash or the beginning of one, a tag or a move of a tag names.
    pub async fn select_version(&self, workflow: &str, name: &str) -> Result<Version, EngineError> {
        let named = name.strip_prefix(workflow).and_then(|rest| rest.strip_prefix('@')).unwrap_or(name);
        let selected = self.select_of(workflow, named).await?;
        selected.version.ok_or_else(|| unknown(workflow, name))
    }

    async fn select_of(&self, workflow: &str, name: &str) -> Result<Selected, EngineError> {
        let versions = self.world().version_numbers(self.tenant(), workflow).await?;
        if versions.is_empty() {
            return Err(EngineError::UnknownWorkflow(workflow.to_owned()));
        }
        let found =
            |version: Version, tag| Selected { workflow: workflow.to_owned(), version: Some(version), tag };
        if is_number(name) {
            let number: Option<u64> = name.parse().ok();
            if let Some(row) = versions.iter().find(|row| Some(row.number) == number) {
                return Ok(found(row.version.clone(), None));
            }
            if name.len() < HASH_DIGITS {
                return Err(unknown(workflow, name));
            }
        }
        let tagged = match name.contains(':') {
            true => Err(EngineError::UnknownTag(name.to_owned())),
            false => self.tagged(name).await,
        };
        let other = match tagged {
            Ok((to, number)) if to.workflow == workflow => {
                let tag = name.split('@').next().unwrap_or(name).to_owned();
                return Ok(found(to.version, Some((tag, number))));
            }
            Ok((to, _)) => {
                let (tag, workflow, of) = (name.to_owned(), workflow.to_owned(), to.workflow);
                EngineError::WrongTag { tag, workflow, of }
            }
            Err(EngineError::UnknownTag(_)) => unknown(workflow, name),
            Err(error @ EngineError::EmptyTag(_)) => error,
            Err(error) => return Err(error),
        };
        match beginning_with(workflow, name, versions)? {
            Some(version) => Ok(found(version, None)),
            None => Err(other),
        }
    }

    /// The number of a version; nothing when it is not registered.
    pub async fn number_of(&self, workflow: &str, version: &Version) -> Result<Option<u64>, EngineError> {
        let versions = self.world().version_numbers(self.tenant(), workflow).await?;
        Ok(versions.into_iter().find(|row| row.version == *version).map(|row| row.number))
    }

    /// What a tag, or one move of it (`main@v3`), points at, and the number of that move.
    pub async fn tagged(&self, tag: &str) -> Result<(TagTarget, u64), EngineError> {
        if let Some((name, rest)) = tag.split_once('@') {
            let number = move_number(rest).ok_or_else(|| EngineError::UnknownTag(tag.to_owned()))?;
            let moves = self.tag_history(name).await?;
            return Ok((target_of(name, number, moves)?, number));
        }
        let last = self.world().tag_history(self.tenant(), tag, 1).await?.into_iter().next();
        match last {
            Some(TagMove { to: Some(to), number, .. }) => Ok((to, number)),
            Some(_) => Err(EngineError::EmptyTag(tag.to_owned())),
            None => Err(EngineError::UnknownTag(tag.to_owned())),
        }
    }

    /// A start with what names its version replaced by the version.
    pub(crate) async fn pinned(&self, mut start: StartRun) -> Result<StartRun, EngineError> {
        let named = start.workflow.contains('@');
        let tag = start.tag.take();
        if [named, tag.is_some(), start.version.is_some()].iter().filter(|given| **given).count() > 1 {
            let reason = "a start names its version once: behind an @, by a tag, or as a version";
            return Err(EngineError::Invalid(reason.into()));
        }
        let selected = match tag {
            None if named => self.select(&start.workflow).await?,
            None => return Ok(start),
            Some(tag) => {
                let (to, number) = self.tagged(&tag).await?;
                if !start.workflow.is_empty() && start.workflow != to.workflow {
                    let (workflow, of) = (start.workflow, to.workflow);
                    return Err(EngineError::WrongTag { tag, workflow, of });
                }
                let name = tag.split('@').next().unwrap_or(&tag).to_owned();
                Selected { workflow: to.workflow, version: Some(to.version), tag: Some((name, number)) }
            }
        };
        // The run remembers the tag and its move, unless it has labels of those names itself.
        if let Some((tag, number)) = selected.tag {
            start.labels.entry(labels::TAG.to_owned()).or_insert(tag);
            start.labels.entry(labels::TAG_MOVE.to_owned()).or_insert(format!("v{number}"));
        }
        Ok(StartRun { workflow: selected.workflow, version: selected.version, ..start })
    }
}

/// `v3` is the third move of a tag.
fn move_number(text: &str) -> Option<u64> {
    text.strip_prefix('v').filter(|digits| is_number(digits))?.parse().ok()
}

/// What has digits only is a number first; the beginning of a hash like that is written `sha256:12`.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn target_of(tag: &str, number: u64, moves: Vec<TagMove>) -> Result<TagTarget, EngineError> {
    let count = moves.len() as u64;
    let Some(found) = moves.into_iter().find(|found| found.number == number) else {
        return Err(EngineError::UnknownMove { tag: tag.to_owned(), number, count });
    };
    found.to.ok_or_else(|| EngineError::EmptyTag(format!("{tag}@v{number}")))
}

fn beginning_with(
    workflow: &str,
    name: &str,
    versions: Vec<NumberedVersion>,
) -> Result<Option<Version>, EngineError> {
    let wanted = name.trim_end_matches('…');
    let hash = wanted.strip_prefix("sha256:").unwrap_or(wanted);
    let fits = |row: &NumberedVersion| {
        let full = row.version.as_str();
        !hash.is_empty() && full.strip_prefix("sha256:").unwrap_or(full).starts_with(hash)
    };
    let mut found = versions.into_iter().filter(fits);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(EngineError::Invalid(format!(
            "several versions of {workflow} begin with {name}: write more of it"
        ))),
        (first, _) => Ok(first.map(|row| row.version)),
    }
}

fn unknown(workflow: &str, version: &str) -> EngineError {
    EngineError::UnknownVersion { workflow: workflow.to_owned(), version: version.to_owned() }
}
