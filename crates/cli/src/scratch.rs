//! A temporary world for one run of a file, outside of any project.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use rhythm_engine::client::fresh_id;
use rhythm_engine::explain::quoted;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};

/// A temporary folder that only this user can read. It stays until `remove`.
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

    /// Returns settings that use this world. Every command that is printed names it.
    pub fn settings(&self, settings: Settings) -> Settings {
        let flags = format!(" --world {}{}", quoted(&self.url), settings.flags);
        Settings { world: self.url.clone(), migrate: true, flags, ..settings }
    }

    /// Returns a remark that names the world, for the first time the run has to wait; later calls return
    /// `None`.
    pub fn place(&mut self) -> Option<String> {
        let first = !std::mem::replace(&mut self.told, true);
        first.then(|| format!("this run is kept in a temporary world: --world {}", quoted(&self.url)))
    }

    /// Removes the folder. If that fails, it stays for the system's cleaning of temporary files.
    pub fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
