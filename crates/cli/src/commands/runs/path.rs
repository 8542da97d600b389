use clap::Args;
use rhythm_core::WorkflowKind;
use rhythm_engine::tokens::{path, unclear};

use crate::commands::workflows::versions::numbered;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Words;
use crate::session::Session;
use crate::times::exact;

/// Show the path a graph's tokens took, in order
#[derive(Debug, Args)]
pub struct Path {
    run: String,
}

impl Path {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let run = session.client.find_run(&self.run).await?;
        // Fails if the run does not exist, unlike a run without tokens.
        let picture = session.client.picture(&run).await?;
        let hops = path(&session.client, &run).await?;
        let words = Words {
            columns: &["TOKEN", "FROM", "TO", "HOP", "EMITTED", "CONSUMED"],
            none: match picture.summary.kind {
                WorkflowKind::Graph => "the run has no tokens: `rhythm explain` says why",
                _ => "the run has no tokens: only those of graphs do",
            },
        };
        let unclear = unclear(&session.client, &run).await?;
        if !session.out.is_json() && !hops.is_empty() {
            let run = &picture.summary;
            let number = session.client.number_of(&run.workflow, &run.version).await?;
            session.out.note(format!("tokens of a run of {}", numbered(&run.workflow, number, &run.version)));
        }
        session.out.list(hops, words, |hop| {
            vec![
                hop.token.to_string(),
                hop.from.clone().unwrap_or_else(|| "(start)".to_owned()),
                hop.to.clone(),
                hop.hop.to_string(),
                exact(hop.at),
                hop.consumed_at.map(exact).unwrap_or_default(),
            ]
        })?;
        unclear.iter().for_each(|told| session.out.note(format!("note: {}: {told}", exact(told.at))));
        Ok(())
    }
}
