//! Tags: names of versions that people move, with who, when and why, and back again.

use rhythm_core::Version;

use crate::client::Client;
use crate::error::EngineError;
use crate::selectors::is_number;
use crate::world::*;

/// The longest name of a tag.
const LONGEST: usize = 100;

/// Where to move a tag.
#[derive(Clone, Debug)]
pub struct MoveTag {
    pub tag: String,
    pub to: TagTarget,
    pub reason: String,
    /// The version it has to point at, else nothing moves.
    pub expected: Option<Version>,
}

impl Client {
    /// Every tag that points somewhere, by name.
    pub async fn tags(&self) -> Result<Vec<TagMove>, EngineError> {
        Ok(self.world().tags(self.tenant()).await?)
    }

    /// Every move of a tag, the last one first.
    pub async fn tag_history(&self, tag: &str) -> Result<Vec<TagMove>, EngineError> {
        let moves = self.world().tag_history(self.tenant(), tag, usize::MAX).await?;
        match moves.is_empty() {
            true => Err(EngineError::UnknownTag(tag.to_owned())),
            false => Ok(moves),
        }
    }

    async fn last_move(&self, tag: &str) -> Result<Option<TagMove>, EngineError> {
        Ok(self.world().tag_history(self.tenant(), tag, 1).await?.into_iter().next())
    }

    /// Points a tag at a version; a tag that is there already says so by the answer.
    pub async fn move_tag(&self, wish: MoveTag) -> Result<Controlled, EngineError> {
        check_name(&wish.tag)?;
        let last = self.last_move(&wish.tag).await?;
        let at = last.as_ref().and_then(|last| last.to.as_ref());
        if wish.expected.is_some() && wish.expected.as_ref() != at.map(|at| &at.version) {
            return Err(moved(&wish.tag, at));
        }
        if at == Some(&wish.to) {
            return Ok(Controlled::Unchanged);
        }
        let MoveTag { tag, to, reason, .. } = wish;
        let expected = last.map_or(0, |last| last.number);
        self.send_move(NewTagMove { tag, to: Some(to), reason, expected }).await
    }

    /// Moves a tag to where it pointed before its last move. That is a move too: rolled back twice it is where it was.
    pub async fn rollback_tag(&self, tag: &str, reason: &str) -> Result<Option<TagTarget>, EngineError> {
        let last = self.last_move(tag).await?.ok_or_else(|| EngineError::UnknownTag(tag.to_owned()))?;
        let to = last.from.clone();
        if to == last.to {
            return Ok(to);
        }
        let (tag, reason, expected) = (tag.to_owned(), reason.to_owned(), last.number);
        self.send_move(NewTagMove { tag, to: to.clone(), reason, expected }).await?;
        Ok(to)
    }

    /// Lets a tag point at nothing. Its history stays, and it can be rolled back.
    pub async fn remove_tag(&self, tag: &str, reason: &str) -> Result<(), EngineError> {
        whole(tag)?;
        let (_, expected) = self.tagged(tag).await?;
        let (tag, reason) = (tag.to_owned(), reason.to_owned());
        self.send_move(NewTagMove { tag, to: None, reason, expected }).await?;
        Ok(())
    }

    async fn send_move(&self, wish: NewTagMove) -> Result<Controlled, EngineError> {
        let tag = wish.tag.clone();
        match self.control(Control::MoveTag(wish)).await {
            Err(EngineError::World(WorldError::Conflict(_))) => {
                let at = self.last_move(&tag).await?.and_then(|last| last.to);
                Err(moved(&tag, at.as_ref()))
            }
            other => other,
        }
    }
}

fn moved(tag: &str, at: Option<&TagTarget>) -> EngineError {
    let now = at.map_or_else(|| "nothing".to_owned(), |at| format!("{} {}", at.workflow, at.version));
    EngineError::Moved { what: format!("tag {tag}"), now }
}

/// A move of a tag cannot be moved: it is what happened.
pub(crate) fn whole(tag: &str) -> Result<(), EngineError> {
    match tag.split_once('@') {
        None => Ok(()),
        Some((name, _)) => Err(EngineError::Invalid(format!(
            "{tag:?} is one move of the tag {name}, and stays as it is: name the tag alone"
        ))),
    }
}

/// Nothing that could be taken for a file, a label of a run or an option.
fn check_name(tag: &str) -> Result<(), EngineError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = tag.starts_with(|c: char| c.is_ascii_alphanumeric());
    if is_number(tag) {
        return Err(EngineError::Invalid(format!(
            "{tag:?} cannot be the name of a tag: it would be taken for the number of a version"
        )));
    }
    match begins && tag.len() <= LONGEST && tag.chars().all(fits) {
        true => Ok(()),
        false => Err(EngineError::Invalid(format!(
            "{tag:?} cannot be the name of a tag: it has 1 to {LONGEST} letters, digits, -, _ and ., the first a letter or digit"
        ))),
    }
}
