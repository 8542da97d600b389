mod doctor;

use clap::Subcommand;
use rhythm_worlds::redacted;
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::count;
use crate::session::Session;

/// The database behind the world
#[derive(Debug, Subcommand)]
pub enum Db {
    /// Create the database, or bring its schema up to date
    Migrate,
    /// Show what the database holds; changes nothing
    Status,
    /// Look for problems and say what to do about each
    Doctor,
}

impl Db {
    pub async fn run(self, settings: Settings) -> CliResult {
        match self {
            Self::Migrate => migrate(settings).await,
            Self::Status => status(settings).await,
            Self::Doctor => doctor::run(settings).await,
        }
    }
}

async fn migrate(settings: Settings) -> CliResult {
    let session = Session::open(&Settings { migrate: true, ..settings.clone() }).await?;
    let health = session.rhythm.world().health().await?;
    let world = redacted(&settings.world);
    let text = format!("{world} has schema version {}, the newest this build knows", health.schema);
    session.out.done(text, &json!({ "world": world, "schema": health.schema }))
}

async fn status(settings: Settings) -> CliResult {
    let session = Session::read(&settings).await?;
    let health = session.rhythm.world().health().await?;
    if session.out.is_json() {
        return session.out.json(&health);
    }
    let letters = match health.kept_runs {
        0 => health.dead_letters.to_string(),
        runs => format!("{} (they keep {})", health.dead_letters, count(runs, "ended run")),
    };
    session.out.details(&[
        ("world", redacted(&settings.world)),
        ("server", health.server.clone()),
        ("schema", format!("version {} of {}", health.schema, health.schema_known)),
        ("size", health.bytes.map(size).unwrap_or_default()),
        ("runs", format!("{} live, {} ended", health.live_runs, health.ended_runs)),
        ("open tasks", health.open_tasks.to_string()),
        ("timers", health.timers.to_string()),
        ("dead letters", letters),
        ("problems", health.findings.len().to_string()),
    ])?;
    if !health.findings.is_empty() {
        session.out.note("`rhythm db doctor` says what to do");
    }
    Ok(())
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut rest = bytes as f64;
    let mut unit = 0;
    while rest >= 1024.0 && unit + 1 < UNITS.len() {
        rest /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{rest:.1} {}", UNITS[unit]) }
}
