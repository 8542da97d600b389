//! Registers workflows: graphs with the content they refer to, flows with the schedules in their front
//! matter.

use std::path::Path;

use rhythm_core::cron::{CatchUp, Cron, Overlap};
use rhythm_core::{BlobRef, Payload, Timestamp, Version, WorkflowKind};
use rhythm_graph::{NodeType, Registry};
use rhythm_syntax::render::{Style, render};
use serde_json::Value;

use super::Client;
use crate::definitions::beside::gather;
use crate::definitions::graph::{full_reference, references};
use crate::definitions::{Content, Defined, Refused, Surroundings, define_with};
use crate::error::EngineError;
use crate::world::*;

/// What a registration did to the schedule the front matter declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rescheduled {
    Unchanged,
    Added { cron: String, next_at: Option<Timestamp> },
    Changed { before: String, cron: String, next_at: Option<Timestamp> },
    Removed { cron: String },
}

impl Client {
    /// Registers a workflow and makes this version current. Fails if the text does not compile.
    pub async fn register(
        &self,
        workflow: &str,
        kind: WorkflowKind,
        source: &str,
    ) -> Result<Version, EngineError> {
        let defined = self.define(workflow, kind, source).await?.map_err(|refused| EngineError::Refused {
            workflow: workflow.to_owned(),
            problems: render(workflow, source, &refused.diagnostics, Style::Plain).trim_end().to_owned(),
        })?;
        let version = defined.definition.version.clone();
        self.register_defined(defined).await?;
        Ok(version)
    }

    /// Builds a definition from a text, with the content it refers to that is among the tenant's blobs.
    /// Returns `Refused` with diagnostics if the text has errors; fails if the world fails.
    pub async fn define(
        &self,
        workflow: &str,
        kind: WorkflowKind,
        source: &str,
    ) -> Result<Result<Defined, Refused>, EngineError> {
        check_name(workflow)?;
        let around = self.surroundings(kind, source, Content::new()).await?;
        checked(define_with(workflow, kind, source, &around))
    }

    /// The same for the text of a file: a graph may carry files beside it, which are read within this folder.
    pub async fn define_beside(
        &self,
        workflow: &str,
        kind: WorkflowKind,
        source: &str,
        folder: &Path,
    ) -> Result<Result<Defined, Refused>, EngineError> {
        if kind != WorkflowKind::Graph {
            return self.define(workflow, kind, source).await;
        }
        check_name(workflow)?;
        let gathered = match gather(folder, source) {
            Ok(gathered) if gathered.files.is_empty() => return self.define(workflow, kind, source).await,
            Ok(gathered) => gathered,
            Err(refused) => return Ok(Err(refused)),
        };
        // Remarks are about the text as its author wrote it.
        let around = self.surroundings(kind, source, gathered.content).await?;
        let remarks = match define_with(workflow, kind, source, &around) {
            Ok(defined) => defined.remarks,
            Err(refused) => return Ok(Err(refused)),
        };
        let defined = define_with(workflow, kind, &gathered.source, &around);
        checked(defined.map(|defined| Defined { remarks, files: gathered.files, ..defined }))
    }

    /// What a text is compiled with: registered types, this content, and stored content it refers to.
    async fn surroundings(
        &self,
        kind: WorkflowKind,
        source: &str,
        content: Content,
    ) -> Result<Surroundings, EngineError> {
        let mut around = Surroundings { programs: self.programs, content, ..Surroundings::default() };
        if kind == WorkflowKind::Graph {
            around.registry = self.node_types().await?;
            for reference in references(source) {
                if let Some(value) = self.content(&reference).await? {
                    around.content.insert(reference, value);
                }
            }
        }
        Ok(around)
    }

    /// Returns every node type available to graphs: built-in and registered.
    pub async fn node_types(&self) -> Result<Registry, EngineError> {
        let mut registry = Registry::default();
        for kind in self.world.node_types(&self.tenant).await? {
            // A registered name that became built in later means the built-in type.
            if let Err(bad) = registry.add(kind) {
                tracing::warn!(%bad, "a registered node type is passed over");
            }
        }
        Ok(registry)
    }

    /// Registers a node type or replaces it. Registered graphs keep the form they were compiled with. Fails
    /// if the type is invalid or built in.
    pub async fn put_node_type(&self, kind: NodeType) -> Result<Controlled, EngineError> {
        let kind = self.with_schemas(kind).await?;
        Registry::default().add(kind.clone()).map_err(|bad| EngineError::Invalid(bad.to_string()))?;
        self.control(Control::PutNodeType(kind)).await
    }

    /// The type with the schemas it refers to in their places, as far as they are among the tenant's blobs.
    pub async fn with_schemas(&self, mut kind: NodeType) -> Result<NodeType, EngineError> {
        for (_, schema, reference) in kind.schema_slots() {
            let Some(reference) = reference.as_ref().filter(|_| schema.is_none()) else { continue };
            *schema = self.content(&full_reference(reference)).await?;
        }
        Ok(kind)
    }

    /// What a reference such as `cas://sha256:..` leads to; content that is no JSON is a text.
    async fn content(&self, reference: &str) -> Result<Option<Value>, EngineError> {
        let Some(hash) = reference.strip_prefix("cas://") else { return Ok(None) };
        let blob = BlobRef { hash: hash.to_owned(), bytes: BlobRef::UNKNOWN_SIZE };
        let bytes = match self.world.read_blob(&self.tenant, &blob).await {
            Ok(bytes) => bytes,
            Err(WorldError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        Ok(Some(serde_json::from_slice(&bytes).unwrap_or_else(|_| text())))
    }

    /// Registers a definition made by [`define`](crate::definitions::define) and makes it current; adds,
    /// changes or removes its schedule. Fails if a schedule of that name was added by hand.
    ///
    /// Version and schedule are two writes. Whoever dies between them leaves the schedule as it was, which starts the
    /// new version; registering the same text again brings it up to date.
    pub async fn register_defined(&self, defined: Defined) -> Result<Rescheduled, EngineError> {
        self.store_files(&defined).await?;
        let Defined { definition, settings, .. } = defined;
        let name = definition.workflow.clone();
        let known = self.world.schedules(&self.tenant).await?.into_iter().find(|known| known.name == name);
        if let (Some(_), Some(Schedule { declared: false, .. })) = (&settings.schedule, &known) {
            let help = format!("remove it first: rhythm schedules remove {name}");
            return Err(EngineError::Invalid(format!(
                "a schedule named {name} was added by hand, the front matter declares another; {help}"
            )));
        }
        let definitions = vec![definition];
        self.world.register(Register { tenant: self.tenant.clone(), definitions }).await?;
        match (settings.schedule, known) {
            (Some(cron), Some(known)) if known.cron == cron.text() => Ok(Rescheduled::Unchanged),
            (Some(cron), known) => {
                let before = known.as_ref().map(|known| known.cron.clone());
                let next_at = self.declare(&name, &cron, known).await?;
                let now = cron.text().to_owned();
                Ok(match before {
                    None => Rescheduled::Added { cron: now, next_at },
                    Some(before) => Rescheduled::Changed { before, cron: now, next_at },
                })
            }
            (None, Some(known)) if known.declared => {
                self.withdraw_schedule(name).await?;
                Ok(Rescheduled::Removed { cron: known.cron })
            }
            (None, _) => Ok(Rescheduled::Unchanged),
        }
    }

    /// Stores a version, with the files beside it, for runs that name this version. The current version and the schedule stay
    /// as they are.
    pub async fn register_beside(&self, defined: Defined) -> Result<Version, EngineError> {
        self.store_files(&defined).await?;
        let version = defined.definition.version.clone();
        self.control(Control::StoreVersion(Box::new(defined.definition))).await?;
        Ok(version)
    }

    /// Checks the name, then stores the content that the definition refers to, before anything names it.
    async fn store_files(&self, defined: &Defined) -> Result<(), EngineError> {
        check_name(&defined.definition.workflow)?;
        for (blob, content) in &defined.files {
            self.world.put_blob(&self.tenant, blob, content).await?;
        }
        Ok(())
    }

    /// Stores the schedule of the front matter. The counts and the pause of the schedule before it are kept.
    async fn declare(
        &self,
        name: &str,
        cron: &Cron,
        known: Option<Schedule>,
    ) -> Result<Option<Timestamp>, EngineError> {
        let next_at = cron.next_after(self.world.now().await?);
        let nothing = Payload::parse("{}".to_owned()).unwrap_or_default();
        let schedule = match known {
            Some(known) => Schedule { cron: cron.text().to_owned(), next_at, ..known },
            None => Schedule {
                name: name.to_owned(),
                cron: cron.text().to_owned(),
                zone: cron.zone().to_owned(),
                target: ScheduleTarget::Workflow { workflow: name.to_owned(), input: nothing },
                catch_up: CatchUp::Skip,
                overlap: Overlap::Skip,
                declared: true,
                paused: false,
                next_at,
                last_at: None,
                last_started: None,
                fired: 0,
                missed: 0,
            },
        };
        self.control(Control::PutSchedule(schedule)).await?;
        Ok(next_at)
    }

    async fn withdraw_schedule(&self, name: String) -> Result<(), EngineError> {
        match self.control(Control::RemoveSchedule { name }).await {
            // Another process removed it already.
            Ok(_) | Err(EngineError::World(WorldError::NotFound(_))) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// What a definition names itself counts, too.
fn checked(defined: Result<Defined, Refused>) -> Result<Result<Defined, Refused>, EngineError> {
    if let Ok(defined) = &defined {
        check_name(&defined.definition.workflow)?;
    }
    Ok(defined)
}

/// What stands behind an `@` names a version.
fn check_name(workflow: &str) -> Result<(), EngineError> {
    match workflow.contains('@') {
        false => Ok(()),
        true => Err(EngineError::Invalid(format!(
            "{workflow:?} cannot be the name of a workflow: what follows an @ names a version, as in order@3"
        ))),
    }
}
