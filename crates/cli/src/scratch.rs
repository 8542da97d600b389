//! A world for one run of a file, made where no project keeps its runs.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use rhythm_engine::client::fresh_id;
use rhythm_engine::explain::quoted;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};

/// A folder that only this user can enter. It stays unless somebody removes it.
pub struct Scratch {
    folder: PathBuf,
    url: String,
    told: bool,
}

impl Scratch {
    pub fn make() -> CliResult<Self> {
        let folder = std::env::temp_dir().join(format!("rhythm-run-{}", fresh_id()));
        let unusable = |reason: std::io::Error| CliError::BadFile {
            path: folder.display().to_string(),
            reason: reason.to_string(),
        };
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map_err(unusable)?;
        let url = format!("sqlite:{}", folder.join("rhythm.db").display());
        Ok(Self { folder, url, told: false })
    }

    /// The settings of a command that plays there: every command it prints names the world.
    pub fn settings(&self, settings: Settings) -> Settings {
        let flags = format!(" --world {}{}", quoted(&self.url), settings.flags);
        Settings { world: self.url.clone(), migrate: true, flags, ..settings }
    }

    /// What to tell the user before the run has to wait for others; nothing the second time.
    pub fn place(&mut self) -> Option<String> {
        let first = !std::mem::replace(&mut self.told, true);
        first.then(|| format!("this run is kept in a temporary world: --world {}", quoted(&self.url)))
    }

    /// Nobody asks for it any more. What cannot be removed is left to whoever clears the folder for temporary files.
    pub fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
