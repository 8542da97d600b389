mod put;
mod show;

use clap::Subcommand;
use rhythm_engine::world::ArtifactRow;
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Words;
use crate::session::Session;
use crate::times::relative;

/// Keep content that graphs refer to: configs, schemas and programs
#[derive(Debug, Subcommand)]
pub enum Artifacts {
    Put(put::Put),
    /// List what is kept, newest first
    List,
    Show(show::Show),
    /// Keep content no longer
    #[command(after_help = "\
What a registered workflow, a run or anything else that is stored names stays all the same. The rest is collected after the time \
that workers leave blobs (`rhythm worker --blob-grace`).")]
    Remove {
        /// The hash, or at least 4 letters of its beginning
        hash: String,
    },
}

impl Artifacts {
    pub async fn run(self, settings: Settings) -> CliResult {
        match self {
            Self::Put(command) => command.run(settings).await,
            Self::List => list(&Session::open(&settings).await?).await,
            Self::Show(command) => command.run(settings).await,
            Self::Remove { hash } => remove(&Session::open(&settings).await?, &hash).await,
        }
    }
}

async fn list(session: &Session) -> CliResult {
    let now = session.now().await?;
    let words = Words {
        columns: &["HASH", "NAME", "BYTES", "KEPT", "WHO"],
        none: "no artifacts; `rhythm artifacts put FILE` stores one",
    };
    session.out.list(session.client.artifacts().await?, words, |row: &ArtifactRow| {
        vec![
            row.hash.clone(),
            row.name.clone(),
            row.bytes.to_string(),
            relative(now, row.at),
            row.actor.0.clone(),
        ]
    })
}

async fn remove(session: &Session, hash: &str) -> CliResult {
    let row = session.client.remove_artifact(hash).await?;
    let text = format!("{} ({}) is kept no longer; whatever names it keeps it", row.hash, row.name);
    session.out.done(text, &json!({ "hash": row.hash, "name": row.name, "removed": true }))
}
