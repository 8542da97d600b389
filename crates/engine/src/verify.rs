//! Folds a run's history again and compares it with what is stored; counts a graph's tokens once more.

use rhythm_core::fold::{Divergence, RunState, replay};
use rhythm_core::lineage::{ByVersion, Lineage, versions};
use rhythm_core::{BlobRef, Blobs, Program, RunId, WorkflowKind};
use rhythm_graph::machine::recount;
use thiserror::Error;

use crate::client::Client;
use crate::error::EngineError;
use crate::programs::{Lookup, Programs};
use crate::tokens::standing;

/// What a verification found.
#[derive(Debug)]
pub struct Verified {
    pub events: u64,
    /// Of a graph: tokens emitted less tokens consumed, by its history alone.
    pub counter: Option<u64>,
    /// Absent when history and snapshot agree.
    pub problem: Option<String>,
}

#[derive(Debug, Error)]
enum Broken {
    #[error(transparent)]
    Diverged(#[from] Divergence),
    /// The fold looks into these; load them and start again.
    #[error("blobs are missing")]
    NeedBlobs(Vec<BlobRef>),
}

pub async fn verify(client: &Client, programs: &Programs, run: &RunId) -> Result<Verified, EngineError> {
    let picture = client.picture(run).await?;
    let history = client.history(run).await?;
    let row = &picture.row;
    let events = history.len() as u64;
    let mut loaded = ByVersion::new();
    for version in versions(&history, &row.version) {
        let found = programs.load(&**client.world(), client.tenant(), &row.workflow, version).await?;
        let problem = match found {
            Lookup::Found(program) => {
                loaded.insert(version.clone(), program);
                continue;
            }
            Lookup::Missing => format!("version {version} of {} cannot be stepped here", row.workflow),
            Lookup::Unreadable(error) => error.to_string(),
        };
        return Ok(Verified { events, counter: None, problem: Some(problem) });
    }
    let counted = (row.kind == WorkflowKind::Graph).then(|| recount(&history)).transpose();
    let counter = match counted {
        Ok(counter) => counter,
        Err(wrong) => return Ok(Verified { events, counter: None, problem: Some(wrong.to_string()) }),
    };
    let mut blobs = Blobs::new();
    loop {
        let known = blobs.clone();
        let Some(lineage) = Lineage::new(&loaded, &row.facts(), &history) else {
            let problem = "the version the run began with cannot be stepped here".to_owned();
            return Ok(Verified { events, counter: None, problem: Some(problem) });
        };
        let folded = replay(lineage, &history, |wanted| {
            match wanted.iter().all(|blob| known.contains_key(&blob.hash)) {
                true => Ok(known.clone()),
                false => Err(Broken::NeedBlobs(wanted.to_vec())),
            }
        });
        match folded {
            Err(Broken::NeedBlobs(wanted)) => {
                for blob in wanted {
                    let content = client.world().read_blob(client.tenant(), &blob).await?;
                    blobs.insert(blob.hash, content);
                }
            }
            Err(Broken::Diverged(divergence)) => {
                return Ok(Verified { events, counter, problem: Some(divergence.to_string()) });
            }
            Ok(state) => {
                let mut problem = compare(&*loaded[&row.version], &state, &row.state);
                let stands = standing(client, row).await?;
                if let (Some(stands), Some(counter), None) = (stands, counter, &problem)
                    && stands.counter != counter
                {
                    let kept = stands.counter;
                    problem = Some(format!("the history counts {counter} tokens, the snapshot {kept}"));
                }
                return Ok(Verified { events, counter, problem });
            }
        }
    }
}

fn compare(program: &dyn Program, folded: &RunState, stored: &RunState) -> Option<String> {
    if folded.seq != stored.seq {
        return Some(format!("history ends at row {}, the run says {}", folded.seq, stored.seq));
    }
    // One that an older build wrote says the same in another way; its rows were compared.
    let format = |state: &RunState| state.snapshot.as_ref().map(|snapshot| snapshot.format);
    let is_same = match (&folded.snapshot, &stored.snapshot) {
        (Some(folded), Some(stored)) => program.is_same(folded, stored),
        (folded, stored) => folded == stored,
    };
    if !is_same && format(stored) >= format(folded) {
        return Some("the stored snapshot is not what its history folds to".into());
    }
    if folded.awaiting != stored.awaiting || folded.cancelling != stored.cancelling {
        return Some("what the run waits for is not what its history says".into());
    }
    None
}
