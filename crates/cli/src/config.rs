//! Settings: flags, then the environment, then `rhythm.toml` here or in a parent folder, then defaults.

use std::fmt;
use std::path::{Path, PathBuf};

use rhythm_core::{Millis, TenantId};
use rhythm_engine::explain::quoted;
use rhythm_engine::world::person;
use serde::Deserialize;

use crate::args::{Format, Global};
use crate::errors::CliError;
use crate::input;
use crate::output::Output;

const FILE_NAME: &str = "rhythm.toml";
/// Folder of the default world.
const DEFAULT_FOLDER: &str = ".rhythm";
const POLL_VARIABLE: &str = "RHYTHM_WORKER_POLL_INTERVAL";

/// Settings of a command, merged from all sources.
#[derive(Clone, Debug)]
pub struct Settings {
    pub world: String,
    /// Whether a flag, variable or file names the world, or this folder has one.
    pub chosen: bool,
    pub tenant: TenantId,
    /// User of `--as`, instead of the user of this machine.
    pub user: Option<String>,
    pub migrate: bool,
    pub output: Output,
    pub worker: WorkerSettings,
    pub approvals: ApprovalSettings,
    /// Flags that chose the world and tenant. Printed commands repeat them, or they would use another world.
    pub flags: String,
}

/// `rhythm.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    world: Option<String>,
    tenant: Option<String>,
    #[serde(default)]
    worker: WorkerSettings,
    #[serde(default)]
    approvals: ApprovalSettings,
}

/// The `[worker]` table: defaults of `rhythm worker`, which flags override.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkerSettings {
    /// `NAME` or `NAME:LIMIT`.
    pub queues: Vec<String>,
    pub concurrency: Option<usize>,
    pub threads: Option<usize>,
    #[serde(with = "rhythm_core::duration::lenient_option")]
    pub poll_interval: Option<Millis>,
    #[serde(with = "rhythm_core::duration::lenient_option")]
    pub patience: Option<Millis>,
    #[serde(with = "rhythm_core::duration::lenient_option")]
    pub retention: Option<Millis>,
    #[serde(with = "rhythm_core::duration::lenient_option")]
    pub failed_retention: Option<Millis>,
    #[serde(with = "rhythm_core::duration::lenient_option")]
    pub blob_grace: Option<Millis>,
    pub fast: bool,
    pub allow_shell: bool,
    /// `HOST` or `HOST:PORT`.
    pub allow_hosts: Vec<String>,
}

/// The `[approvals]` table: the key and base URL of links to approvals.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalSettings {
    link_key: Option<Secret>,
    /// Base URL of the pages that show approvals.
    pub link_base: Option<String>,
}

impl ApprovalSettings {
    /// Returns the key that signs links.
    pub fn key(&self) -> Option<&str> {
        self.link_key.as_ref().map(|secret| secret.0.as_str())
    }
}

/// A text that is never printed.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("***")
    }
}

impl Settings {
    pub fn gather(global: &Global) -> Result<Self, CliError> {
        let found = find_file(&std::env::current_dir().unwrap_or_default());
        let has_file = found.is_some();
        let file = found.map(|path| read_file(&path)).transpose()?.unwrap_or_default();
        let world = global.world.clone().or_else(|| variable("RHYTHM_WORLD"));
        let world = world.or_else(|| variable("RHYTHM_DATABASE_URL")).or(file.world);
        let tenant = global.tenant.clone().or(file.tenant).unwrap_or_else(|| TenantId::default().0);
        if tenant.is_empty() || tenant.len() > 200 {
            return Err(CliError::BadValue("a tenant's name has 1 to 200 characters".into()));
        }
        let user = global.user.clone();
        if user.as_ref().is_some_and(|user| !is_name(user)) {
            return Err(CliError::BadValue(
                "the name after --as has 1 to 200 characters, none of them control characters".into(),
            ));
        }
        let mut worker = file.worker;
        if let Some(text) = variable(POLL_VARIABLE) {
            worker.poll_interval = Some(input::lenient_duration(POLL_VARIABLE, &text)?);
        }
        let mut approvals = file.approvals;
        approvals.link_key = variable("RHYTHM_LINK_KEY").map(Secret).or(approvals.link_key);
        approvals.link_base = variable("RHYTHM_LINK_BASE").or(approvals.link_base);
        let chosen = world.is_some() || has_file || Path::new(DEFAULT_FOLDER).exists();
        Ok(Self {
            chosen,
            world: world.unwrap_or_else(|| rhythm_worlds::DEFAULT_URL.to_owned()),
            tenant: TenantId::new(tenant),
            user,
            migrate: !global.no_migrate,
            output: Output::new(global.output.unwrap_or(Format::Table), global.quiet),
            worker,
            approvals,
            flags: flags(global),
        })
    }
}

fn flags(global: &Global) -> String {
    let given = [("--world", &global.world), ("--tenant", &global.tenant)];
    let given = given.into_iter().filter_map(|(flag, value)| Some((flag, value.as_ref()?)));
    given.map(|(flag, value)| format!(" {flag} {}", quoted(value))).collect()
}

fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 200 && !name.chars().any(char::is_control)
}

impl Settings {
    /// Returns the actor that histories record: `user:ann@desk`, or the user of `--as`.
    pub fn actor(&self) -> String {
        self.user.as_deref().map_or_else(own_name, |user| format!("user:{}", person(user)))
    }

    /// Returns the actor without `--as`. The history records it for a decision made on behalf of another
    /// person.
    pub fn own_actor(&self) -> String {
        own_name()
    }
}

/// Returns the user and the name of this machine.
fn own_name() -> String {
    format!("user:{}@{}", own_user(), rhythm::host_name())
}

/// Returns the user of this machine.
pub fn own_user() -> String {
    variable("USER").or_else(|| variable("USERNAME")).unwrap_or_else(|| "unknown".to_owned())
}

/// Reads an environment variable. An empty one counts as unset.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn find_file(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|folder| folder.join(FILE_NAME)).find(|path| path.is_file())
}

fn read_file(path: &Path) -> Result<File, CliError> {
    let wrong = |reason: String| CliError::BadConfig { path: path.display().to_string(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let mut file: File = toml::from_str(text.strip_prefix('\u{feff}').unwrap_or(&text))
        .map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    file.world = file.world.map(|url| beside(folder, url));
    Ok(file)
}

/// Resolves a relative database path of `rhythm.toml` against the folder of that file.
fn beside(folder: &Path, url: String) -> String {
    match url.strip_prefix("sqlite:") {
        Some(path) if !path.is_empty() && !path.starts_with([':', '/']) => {
            format!("sqlite:{}", folder.join(path).display())
        }
        _ => url,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_database_lies_beside_the_file_that_names_it() {
        let folder = Path::new("/srv/app");
        assert_eq!(beside(folder, "sqlite:data/r.db".into()), "sqlite:/srv/app/data/r.db");
        assert_eq!(beside(folder, "sqlite:/var/r.db".into()), "sqlite:/var/r.db");
        assert_eq!(beside(folder, "sqlite::memory:".into()), "sqlite::memory:");
        assert_eq!(beside(folder, "postgres://h/d".into()), "postgres://h/d");
    }
}
