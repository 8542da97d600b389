//! Artifacts, tags, and patches of workflows.

use rhythm_core::{Actor, BlobRef, Timestamp};

use super::state::Tenant;
use crate::world::*;

impl Tenant {
    pub fn put_artifact(
        &mut self,
        new: NewArtifact,
        actor: Actor,
        now: Timestamp,
    ) -> WorldResult<Controlled> {
        let BlobRef { hash, bytes } = new.blob;
        if !self.use_blobs(std::slice::from_ref(&hash), now).is_empty() {
            return Err(WorldError::NotFound(format!("blob {hash}")));
        }
        if self.artifacts.contains_key(&hash) {
            return Ok(Controlled::Unchanged);
        }
        let row = ArtifactRow { hash: hash.clone(), name: new.name, bytes, at: now, actor };
        self.artifacts.insert(hash, row);
        Ok(Controlled::Done)
    }

    pub fn remove_artifact(&mut self, hash: &str) -> WorldResult<Controlled> {
        match self.artifacts.remove(hash) {
            Some(_) => Ok(Controlled::Done),
            None => Err(WorldError::NotFound(format!("artifact {hash}"))),
        }
    }

    pub fn artifact_rows(&self) -> Vec<ArtifactRow> {
        let mut rows: Vec<ArtifactRow> = self.artifacts.values().cloned().collect();
        // Those of one moment are by hash already.
        rows.sort_by_key(|row| std::cmp::Reverse(row.at));
        rows
    }

    pub fn move_tag(&mut self, wish: NewTagMove, actor: Actor, now: Timestamp) -> WorldResult<Controlled> {
        if let Some(to) = &wish.to
            && !self.definitions.contains_key(&(to.workflow.clone(), to.version.clone()))
        {
            return Err(WorldError::NotFound(format!("version {} of {}", to.version, to.workflow)));
        }
        let moves = self.tags.entry(wish.tag.clone()).or_default();
        let last = moves.last();
        if last.is_some_and(|last| last.answers(&wish, &actor)) {
            return Ok(Controlled::Unchanged);
        }
        let from = last.and_then(|last| last.to.clone());
        let number = last.map_or(0, |last| last.number);
        if number != wish.expected {
            return Err(moved_meanwhile(&format!("tag {}", wish.tag), &place(from.as_ref())));
        }
        let NewTagMove { tag, to, reason, .. } = wish;
        moves.push(TagMove { tag, number: number + 1, at: now, actor, reason, from, to });
        Ok(Controlled::Done)
    }

    pub fn patch_workflow(
        &mut self,
        wish: NewWorkflowPatch,
        actor: Actor,
        now: Timestamp,
    ) -> WorldResult<Controlled> {
        let workflow = wish.definition.workflow.clone();
        let known = self.workflow_patches.entry(workflow.clone()).or_default();
        if known.last().is_some_and(|last| last.answers(&wish, &actor)) {
            return Ok(Controlled::Unchanged);
        }
        let number = known.len() as u64 + 1;
        let version = wish.definition.version.clone();
        match &wish.tag {
            None => {
                let current = self.current.get(&workflow);
                if current != Some(&wish.base) {
                    let now = current.map(ToString::to_string).unwrap_or_default();
                    return Err(moved_meanwhile(&format!("workflow {workflow}"), &now));
                }
                self.keep_version(wish.definition, now);
                self.current.insert(workflow.clone(), version.clone());
            }
            Some((tag, expected)) => {
                let target = TagTarget { workflow: workflow.clone(), version: version.clone() };
                let (tag, to, reason) = (tag.clone(), Some(target), wish.reason.clone());
                let definition = wish.definition;
                let wish = NewTagMove { tag, to, reason, expected: *expected };
                let is_new = self.keep_version(definition, now);
                if let Err(error) = self.move_tag(wish, actor.clone(), now) {
                    if is_new {
                        self.definitions.remove(&(workflow.clone(), version));
                        self.version_counts.entry(workflow).and_modify(|count| *count -= 1);
                    }
                    return Err(error);
                }
            }
        }
        self.workflow_patches.entry(workflow).or_default().push(WorkflowPatch {
            number,
            at: now,
            actor,
            reason: wish.reason,
            tag: wish.tag.map(|(tag, _)| tag),
            base: wish.base,
            version,
            operations: wish.operations,
            inverse: wish.inverse,
        });
        Ok(Controlled::Done)
    }

    pub fn tag_rows(&self) -> Vec<TagMove> {
        let last = self.tags.values().filter_map(|moves| moves.last());
        last.filter(|last| last.to.is_some()).cloned().collect()
    }

    pub fn tag_moves(&self, tag: &str, limit: usize) -> Vec<TagMove> {
        self.tags.get(tag).into_iter().flat_map(|moves| moves.iter().rev()).take(limit).cloned().collect()
    }
}

fn place(target: Option<&TagTarget>) -> String {
    target.map_or_else(|| "nothing".to_owned(), |target| format!("{} {}", target.workflow, target.version))
}
