use std::path::Path;

use clap::Args;
use rhythm_engine::world::Controlled;
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;

/// Store files and print their hashes: a graph refers to them by `config_ref`, `schema_ref` and `code_ref`
#[derive(Debug, Args)]
#[command(after_help = "\
A file is stored as it is. Graphs read it as JSON, or as text when it is no JSON. Its hash is printed; the same content has the \
same hash, and is stored once. It is kept until `rhythm artifacts remove`.")]
pub struct Put {
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// What it is called in listings instead of the file's name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

impl Put {
    pub async fn run(self, settings: Settings) -> CliResult {
        if self.name.is_some() && self.files.len() > 1 {
            return Err(CliError::Usage("--name is for one file".to_owned()));
        }
        // Read all files before storing anything, so that a missing file stores nothing.
        let mut contents = Vec::new();
        for path in &self.files {
            contents.push((self.name.clone().unwrap_or_else(|| name_of(path)), input::read_bytes(path)?));
        }
        let session = Session::open(&settings).await?;
        let mut rows = Vec::new();
        for (name, content) in contents {
            let (blob, done) = session.client.put_artifact(&name, &content).await?;
            if !session.out.is_json() {
                session.out.line(&blob.hash)?;
            }
            rows.push(json!({
                "hash": blob.hash, "name": name, "bytes": blob.bytes, "changed": done == Controlled::Done,
            }));
        }
        match session.out.is_json() {
            true => session.out.json(&json!({ "rows": rows, "next": null })),
            false => Ok(()),
        }
    }
}

fn name_of(path: &str) -> String {
    let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| path.to_owned())
}
