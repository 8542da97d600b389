//! From stored definitions to programs, loaded once per version and kept.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use rhythm_core::drill::Drill;
use rhythm_core::{Program, ProgramError, TenantId, Version, WorkflowKind};
use rhythm_flow::Flow;

use crate::definitions::graph;
use crate::world::{Definition, DefinitionQuery, World, WorldResult};

/// Turns a definition of one kind into a program.
type Loader = Box<dyn Fn(&Definition) -> Result<Arc<dyn Program>, ProgramError> + Send + Sync>;

/// Names one version of a workflow.
type Key = (TenantId, String, Version);

/// The programs this process can step.
pub struct Programs {
    loaders: BTreeMap<WorkflowKind, Loader>,
    loaded: Mutex<HashMap<Key, Arc<dyn Program>>>,
}

/// Whether a version can be stepped here.
pub enum Lookup {
    Found(Arc<dyn Program>),
    /// The version is not stored.
    Missing,
    /// It is stored, but this build cannot read it.
    Unreadable(ProgramError),
}

impl Default for Programs {
    fn default() -> Self {
        let mut programs = Self { loaders: BTreeMap::new(), loaded: Mutex::default() };
        programs.add_kind(WorkflowKind::Drill, |definition| {
            Ok(Arc::new(Drill::parse(definition.source.as_bytes())?))
        });
        programs.add_kind(WorkflowKind::Flow, |definition| Ok(Arc::new(Flow::load(&definition.compiled)?)));
        programs.add_kind(WorkflowKind::Graph, |definition| Ok(Arc::new(graph::load(definition)?)));
        programs
    }
}

impl Programs {
    /// Teaches this process a kind of workflow.
    pub fn add_kind<L>(&mut self, kind: WorkflowKind, loader: L)
    where
        L: Fn(&Definition) -> Result<Arc<dyn Program>, ProgramError> + Send + Sync + 'static,
    {
        self.loaders.insert(kind, Box::new(loader));
    }

    /// The kinds any definition of which can be stepped here.
    pub fn kinds(&self) -> Vec<WorkflowKind> {
        self.loaders.keys().copied().collect()
    }

    /// A program that was loaded before.
    pub fn cached(&self, tenant: &TenantId, workflow: &str, version: &Version) -> Option<Arc<dyn Program>> {
        let key = (tenant.clone(), workflow.to_owned(), version.clone());
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    pub async fn load(
        &self,
        world: &dyn World,
        tenant: &TenantId,
        workflow: &str,
        version: &Version,
    ) -> WorldResult<Lookup> {
        if let Some(program) = self.cached(tenant, workflow, version) {
            return Ok(Lookup::Found(program));
        }
        let query = DefinitionQuery {
            tenant: tenant.clone(),
            workflow: workflow.to_owned(),
            version: Some(version.clone()),
        };
        let Some(definition) = world.definition(query).await? else { return Ok(Lookup::Missing) };
        let Some(loader) = self.loaders.get(&definition.kind) else { return Ok(Lookup::Missing) };
        match loader(&definition) {
            Err(error) => Ok(Lookup::Unreadable(error)),
            Ok(program) => {
                let key = (tenant.clone(), workflow.to_owned(), version.clone());
                let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
                loaded.insert(key, program.clone());
                Ok(Lookup::Found(program))
            }
        }
    }
}
