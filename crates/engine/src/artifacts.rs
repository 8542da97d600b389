//! Artifacts: content that people put into a world for graphs to refer to, kept until it is removed.

use rhythm_core::BlobRef;

use crate::client::Client;
use crate::error::EngineError;
use crate::worker::MAX_PAYLOAD_BYTES;
use crate::world::*;

/// The shortest beginning of a hash that names an artifact.
const SHORTEST: usize = 4;

impl Client {
    /// Stores content and keeps it until it is removed. Content that is kept already keeps its name.
    pub async fn put_artifact(
        &self,
        name: &str,
        content: &[u8],
    ) -> Result<(BlobRef, Controlled), EngineError> {
        let blob = BlobRef::of(content);
        if content.is_empty() {
            return Err(EngineError::Invalid(format!("{name} is empty: there is nothing to keep")));
        }
        if blob.bytes > MAX_PAYLOAD_BYTES {
            return Err(EngineError::TooLarge { size: blob.bytes, limit: MAX_PAYLOAD_BYTES });
        }
        self.world().put_blob(self.tenant(), &blob, content).await?;
        let new = NewArtifact { blob: blob.clone(), name: name.to_owned() };
        let done = self.control(Control::PutArtifact(new)).await?;
        Ok((blob, done))
    }

    /// What is kept, newest first.
    pub async fn artifacts(&self) -> Result<Vec<ArtifactRow>, EngineError> {
        Ok(self.world().artifacts(self.tenant()).await?)
    }

    /// One artifact by its hash, or the beginning of it.
    pub async fn artifact(&self, name: &str) -> Result<ArtifactRow, EngineError> {
        let wanted = name.trim_end_matches('…');
        let wanted = wanted.strip_prefix("cas://").unwrap_or(wanted);
        let wanted = wanted.strip_prefix("sha256:").unwrap_or(wanted);
        if wanted.len() < SHORTEST {
            let reason = format!("{name:?} is too short: write at least {SHORTEST} letters of the hash");
            return Err(EngineError::Invalid(reason));
        }
        let fits =
            |row: &ArtifactRow| row.hash.strip_prefix("sha256:").is_some_and(|hash| hash.starts_with(wanted));
        let mut found = self.artifacts().await?.into_iter().filter(fits);
        match (found.next(), found.next()) {
            (Some(row), None) => Ok(row),
            (None, _) => Err(EngineError::UnknownArtifact(name.to_owned())),
            (Some(_), Some(_)) => {
                let reason = format!("several artifacts begin with {name}: write more of the hash");
                Err(EngineError::Invalid(reason))
            }
        }
    }

    /// Keeps it no longer. Content that something stored names, such as a registered workflow, stays; the rest is collected.
    pub async fn remove_artifact(&self, name: &str) -> Result<ArtifactRow, EngineError> {
        let row = self.artifact(name).await?;
        self.control(Control::RemoveArtifact { hash: row.hash.clone() }).await?;
        Ok(row)
    }
}
