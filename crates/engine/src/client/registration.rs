//! Registers workflows: graphs with the content they refer to, flows with the schedules in their front
//! matter.

use rhythm_core::cron::{CatchUp, Cron, Overlap};
use rhythm_core::flow::render::{Style, render};
use rhythm_core::graph::{NodeType, Registry};
use rhythm_core::{BlobRef, Payload, Version, WorkflowKind};
use serde_json::Value;

use super::Client;
use crate::definitions::graph::references;
use crate::definitions::{Defined, Refused, Surroundings, define_with};
use crate::error::EngineError;
use crate::world::*;

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
        let mut around = Surroundings { programs: self.programs, ..Surroundings::default() };
        if kind == WorkflowKind::Graph {
            around.registry = self.node_types().await?;
            for reference in references(source) {
                if let Some(value) = self.content(&reference).await? {
                    around.content.insert(reference, value);
                }
            }
        }
        Ok(define_with(workflow, kind, source, &around))
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
        Registry::default().add(kind.clone()).map_err(|bad| EngineError::Invalid(bad.to_string()))?;
        self.control(Control::PutNodeType(kind)).await
    }

    /// Returns the content of a reference such as `cas://sha256:..`; content that is not JSON is a text.
    /// `None` if it is missing.
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
    /// Version and schedule are two writes. After a crash between them, the old schedule starts the new
    /// version; registering the same text again updates the schedule.
    pub async fn register_defined(&self, defined: Defined) -> Result<(), EngineError> {
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
            (Some(cron), Some(known)) if known.cron == cron.text() => {}
            (Some(cron), known) => self.declare(&name, &cron, known).await?,
            (None, Some(known)) if known.declared => self.withdraw_schedule(name).await?,
            (None, _) => {}
        }
        Ok(())
    }

    /// A changed rule keeps the schedule's statistics and whether it is paused.
    async fn declare(&self, name: &str, cron: &Cron, known: Option<Schedule>) -> Result<(), EngineError> {
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
        Ok(())
    }

    async fn withdraw_schedule(&self, name: String) -> Result<(), EngineError> {
        match self.control(Control::RemoveSchedule { name }).await {
            // Another process removed it already.
            Ok(_) | Err(EngineError::World(WorldError::NotFound(_))) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
