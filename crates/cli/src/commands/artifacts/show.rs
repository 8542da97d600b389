use clap::Args;
use rhythm_core::BlobRef;
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::session::Session;
use crate::times::{exact, relative};

/// Show an artifact: its name, who keeps it since when, and what it holds
#[derive(Debug, Args)]
pub struct Show {
    /// The hash, or at least 4 letters of its beginning
    hash: String,
}

impl Show {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let row = session.client.artifact(&self.hash).await?;
        let blob = BlobRef { hash: row.hash.clone(), bytes: row.bytes };
        let content = session.rhythm.world().read_blob(session.client.tenant(), &blob).await?;
        let text = std::str::from_utf8(&content).ok();
        if session.out.is_json() {
            return session.out.json(&json!({
                "hash": row.hash, "name": row.name, "bytes": row.bytes, "at": row.at, "actor": row.actor,
                "content": text,
            }));
        }
        let now = session.now().await?;
        session.out.details(&[
            ("hash", row.hash),
            ("name", row.name),
            ("bytes", row.bytes.to_string()),
            ("kept", format!("{} ({}) by {}", exact(row.at), relative(now, row.at), row.actor.0)),
        ])?;
        session.out.raw("\n")?;
        match text {
            Some(text) => text.lines().try_for_each(|line| session.out.line(line)),
            None => session.out.line("(no text)"),
        }
    }
}
