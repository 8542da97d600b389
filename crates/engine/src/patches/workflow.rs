//! Patches of workflows: a version made of another one, with who made it and why, and what undoes it. Every version keeps
//! its whole document, so none is ever put together from a chain of patches.

use rhythm_core::{Payload, Version, WorkflowKind};
use rhythm_graph::patch::{self, Changes, Refused};
use rhythm_graph::{Graph, document};
use rhythm_syntax::diagnostic::Diagnostic;
use serde_json::Value;

use crate::client::Client;
use crate::definitions::Defined;
use crate::error::EngineError;
use crate::world::*;

/// What to make of a workflow.
#[derive(Clone, Debug)]
pub struct PatchWorkflow {
    /// May be left empty where there is a tag.
    pub workflow: String,
    /// Patches the version this tag points at, and moves the tag. Without one, the current version.
    pub tag: Option<String>,
    /// The version the patch was written for; any, when absent.
    pub expected: Option<Version>,
    pub change: Change,
    pub reason: String,
}

#[derive(Clone, Debug)]
pub enum Change {
    /// An RFC 6902 list over the document.
    Operations(Value),
    /// Takes an earlier patch back, by its number.
    Undo(u64),
}

/// A checked proposal: everything but the writing of it.
#[derive(Debug)]
pub struct Proposal {
    pub workflow: String,
    pub base: Version,
    pub version: Version,
    pub changes: Changes,
    /// Warnings about the new document, and that document.
    pub remarks: Vec<Diagnostic>,
    pub source: String,
    defined: Defined,
    operations: Value,
    inverse: Value,
    reason: String,
    tag: Option<(String, u64)>,
}

impl Client {
    /// Every patch of a workflow, oldest first.
    pub async fn workflow_patches(&self, workflow: &str) -> Result<Vec<WorkflowPatch>, EngineError> {
        Ok(self.world().workflow_patches(self.tenant(), workflow).await?)
    }

    /// Applies a patch to a copy of the document and compiles that; registers nothing.
    pub async fn propose_version(&self, wish: PatchWorkflow) -> Result<Proposal, EngineError> {
        let (workflow, base, tag) = self.base_of(&wish).await?;
        if wish.expected.as_ref().is_some_and(|expected| *expected != base.version) {
            let what = wish.tag.map_or_else(|| format!("workflow {workflow}"), |tag| format!("tag {tag}"));
            return Err(EngineError::Moved { what, now: base.version.to_string() });
        }
        if base.kind != WorkflowKind::Graph {
            return Err(EngineError::NotPatchable(format!("workflow {workflow}")));
        }
        let refused = |refused: Refused| EngineError::PatchRefused {
            of: format!("the patch of {workflow}"),
            code: refused.code.to_owned(),
            message: refused.message,
        };
        let before = document_of(&base)?;
        let (operations, restores) = match wish.change {
            Change::Operations(operations) => (operations, None),
            Change::Undo(number) => {
                let (patch, restored) = self.undone(&workflow, number).await?;
                let after = self.document(&workflow, &patch.version).await?;
                let inverse = value(self, &patch.inverse).await?;
                (patch::undo(&inverse, &after, &before).map_err(refused)?, Some(restored))
            }
        };
        let document = patch::apply(&before, &operations).map_err(refused)?;
        if is_written_alike(&document, &before) {
            let message = "the document is as it was".to_owned();
            return Err(refused(Refused { code: "nothing_changed", message }));
        }
        // What was there before comes back as it was written, not only as what it meant.
        let written = restores
            .filter(|old| document_of(old).is_ok_and(|restored| is_written_alike(&restored, &document)));
        let source = match written {
            Some(old) => old.source,
            None => serde_json::to_string_pretty(&document).unwrap_or_default() + "\n",
        };
        let defined = self.define(&workflow, WorkflowKind::Graph, &source).await?;
        let defined = defined.map_err(|refused| EngineError::Refused {
            workflow: workflow.clone(),
            problems: patch::told(&source, &refused.diagnostics),
        })?;
        if defined.definition.workflow != workflow {
            let name = &defined.definition.workflow;
            return Err(EngineError::Invalid(format!(
                "a patch cannot rename {workflow} to {name}; register {name} as a workflow of its own"
            )));
        }
        let changes =
            Changes::between((&before, &graph_of(&base)?), (&document, &graph_of(&defined.definition)?));
        Ok(Proposal {
            version: defined.definition.version.clone(),
            base: base.version,
            inverse: patch::diff(&document, &before),
            reason: wish.reason,
            remarks: defined.remarks.clone(),
            workflow,
            changes,
            source,
            defined,
            operations,
            tag,
        })
    }

    /// Registers the version of a proposal and moves the tag, or the current version, to it. Whoever moved it first wins; the
    /// other is told where it is now.
    pub async fn adopt_version(&self, proposal: Proposal) -> Result<Controlled, EngineError> {
        let Proposal { workflow, tag, .. } = &proposal;
        let (workflow, tag) = (workflow.clone(), tag.clone());
        let patch = NewWorkflowPatch {
            definition: proposal.defined.definition,
            base: proposal.base,
            operations: self.store(payload(&proposal.operations)).await?,
            inverse: self.store(payload(&proposal.inverse)).await?,
            reason: proposal.reason,
            tag: tag.clone(),
        };
        match self.control(Control::PatchWorkflow(Box::new(patch))).await {
            Err(EngineError::World(WorldError::Conflict(_))) => {
                let (what, now) = match tag {
                    Some((tag, _)) => {
                        let at = self.tagged(&tag).await.ok().map(|(at, _)| at.version);
                        (format!("tag {tag}"), at)
                    }
                    None => {
                        let query = DefinitionQuery {
                            tenant: self.tenant().clone(),
                            workflow: workflow.clone(),
                            version: None,
                        };
                        let current = self.world().definition(query).await?;
                        (format!("workflow {workflow}"), current.map(|current| current.version))
                    }
                };
                let now = now.map_or_else(|| "nothing".to_owned(), |version| version.to_string());
                Err(EngineError::Moved { what, now })
            }
            other => other,
        }
    }

    /// The name of the workflow, the version to start from, and the tag that will move.
    async fn base_of(
        &self,
        wish: &PatchWorkflow,
    ) -> Result<(String, Definition, Option<(String, u64)>), EngineError> {
        let (workflow, version, tag) = match &wish.tag {
            None => (wish.workflow.clone(), None, None),
            Some(tag) => {
                crate::tags::whole(tag)?;
                let (target, number) = self.tagged(tag).await?;
                if !wish.workflow.is_empty() && wish.workflow != target.workflow {
                    let (tag, workflow, of) = (tag.clone(), wish.workflow.clone(), target.workflow);
                    return Err(EngineError::WrongTag { tag, workflow, of });
                }
                (target.workflow, Some(target.version), Some((tag.clone(), number)))
            }
        };
        let query = DefinitionQuery { tenant: self.tenant().clone(), workflow: workflow.clone(), version };
        let found = self.world().definition(query).await?;
        let base = found.ok_or_else(|| EngineError::UnknownWorkflow(workflow.clone()))?;
        Ok((workflow, base, tag))
    }

    /// A patch to undo, and the version it had changed.
    async fn undone(&self, workflow: &str, number: u64) -> Result<(WorkflowPatch, Definition), EngineError> {
        let patches = self.workflow_patches(workflow).await?;
        let patch = patches.into_iter().find(|patch| patch.number == number);
        let unknown =
            || EngineError::UnknownPatch { of: format!("workflow {workflow}"), number: number as usize };
        let patch = patch.ok_or_else(unknown)?;
        let old = self.version(workflow, &patch.base).await?;
        Ok((patch, old))
    }

    async fn document(&self, workflow: &str, version: &Version) -> Result<Value, EngineError> {
        document_of(&self.version(workflow, version).await?)
    }

    async fn version(&self, workflow: &str, version: &Version) -> Result<Definition, EngineError> {
        let (tenant, version) = (self.tenant().clone(), Some(version.clone()));
        let query = DefinitionQuery { tenant, workflow: workflow.to_owned(), version: version.clone() };
        let unknown = || EngineError::UnknownVersion {
            workflow: workflow.to_owned(),
            version: version.map(|version| version.to_string()).unwrap_or_default(),
        };
        self.world().definition(query).await?.ok_or_else(unknown)
    }
}

/// What patches of a version are applied to.
pub fn document_of(definition: &Definition) -> Result<Value, EngineError> {
    let read = document::read(&definition.source);
    read.map(|node| node.to_json()).map_err(|wrong| WorldError::Corrupt(wrong.title).into())
}

fn graph_of(definition: &Definition) -> Result<Graph, EngineError> {
    serde_json::from_slice(&definition.compiled)
        .map_err(|error| WorldError::Corrupt(error.to_string()).into())
}

fn payload(value: &Value) -> Payload {
    Payload::of(value).unwrap_or_default()
}

async fn value(client: &Client, payload: &Payload) -> Result<Value, EngineError> {
    let text = client.load(payload).await?;
    serde_json::from_str(&text).map_err(|error| EngineError::Invalid(error.to_string()))
}

/// The same down to the order of keys, which comparing values does not see.
fn is_written_alike(one: &Value, other: &Value) -> bool {
    serde_json::to_string(one).ok() == serde_json::to_string(other).ok()
}
