//! Options that select dead letters by run, node or queue.

use std::collections::BTreeMap;

use clap::Args;
use rhythm_core::{CommandId, RunId};
use rhythm_engine::world::{DeadLetter, DeadQuery};

use crate::errors::CliResult;
use crate::session::Session;

#[derive(Clone, Debug, Default, Args)]
pub struct Choice {
    /// Only those of this run
    #[arg(long, alias = "run-id", value_name = "RUN")]
    pub run: Option<String>,
    /// Only those a node of a graph asked for; of other workflows, tasks of this name
    #[arg(long, alias = "node-id", value_name = "NODE")]
    pub node: Option<String>,
    /// Only those of this queue
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
}

impl Choice {
    pub fn is_given(&self) -> bool {
        self.run.is_some() || self.node.is_some() || self.queue.is_some()
    }

    pub async fn query(&self, session: &Session) -> CliResult<DeadQuery> {
        let run = match &self.run {
            Some(run) => Some(session.client.find_run(run).await?),
            None => None,
        };
        let (tenant, queue) = (session.client.tenant().clone(), self.queue.clone());
        Ok(DeadQuery { tenant, run, queue, ..DeadQuery::default() })
    }

    /// Describes the selection in words.
    pub fn words(&self) -> String {
        let of = |what: &str, name: &Option<String>| {
            name.as_ref().map(|name| format!(" of {what} {name}")).unwrap_or_default()
        };
        [of("run", &self.run), of("node", &self.node), of("queue", &self.queue)].concat()
    }
}

/// Selects the dead letters of a node. The history of a run says which tasks a node created; each history is
/// read once.
#[derive(Default)]
pub struct Nodes {
    runs: BTreeMap<RunId, BTreeMap<CommandId, String>>,
}

impl Nodes {
    pub async fn of(&mut self, session: &Session, letter: &DeadLetter) -> CliResult<String> {
        let (Some(run), Some(number)) = (&letter.run, letter.number) else { return Ok(letter.name.clone()) };
        if !self.runs.contains_key(run) {
            self.runs.insert(run.clone(), session.client.nodes_of_tasks(run).await?);
        }
        let node = self.runs.get(run).and_then(|nodes| nodes.get(&number));
        Ok(node.unwrap_or(&letter.name).clone())
    }

    pub async fn keep(
        &mut self,
        session: &Session,
        letters: Vec<DeadLetter>,
        choice: &Choice,
    ) -> CliResult<Vec<DeadLetter>> {
        let Some(node) = &choice.node else { return Ok(letters) };
        let mut kept = Vec::new();
        for letter in letters {
            if self.of(session, &letter).await? == *node {
                kept.push(letter);
            }
        }
        Ok(kept)
    }
}
