//! Finds the migrations a database needs, and refuses a schema that does not fit. Each world applies them
//! itself.

use rhythm_engine::world::{WorldError, WorldResult};
use sha2::{Digest, Sha256};

/// One embedded step of a schema. Released steps never change: their checksums are stored.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

impl Migration {
    pub fn checksum(&self) -> String {
        let mut text = String::new();
        for byte in Sha256::digest(self.sql.as_bytes()) {
            text.push_str(&format!("{byte:02x}"));
        }
        text
    }
}

/// A migration that the database has recorded.
#[derive(Clone, Debug)]
pub struct Applied {
    pub version: i64,
    pub checksum: String,
}

/// Returns the migrations still to apply, in order. Refuses newer schemas, and migrations that changed
/// afterwards.
pub fn pending<'a>(known: &'a [Migration], applied: &[Applied]) -> WorldResult<&'a [Migration]> {
    let latest = known.last().map_or(0, |migration| migration.version);
    for step in applied {
        if step.version > latest {
            return Err(WorldError::NewerSchema { found: step.version, known: latest });
        }
        let matches = known.iter().any(|m| m.version == step.version && m.checksum() == step.checksum);
        if !matches {
            return Err(WorldError::Drift { version: step.version });
        }
    }
    let done = applied.iter().map(|step| step.version).max().unwrap_or(0);
    let first = known.iter().position(|migration| migration.version > done).unwrap_or(known.len());
    Ok(&known[first..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Migration] = &[
        Migration { version: 1, name: "first", sql: "create table a (b int)" },
        Migration { version: 2, name: "second", sql: "create table c (d int)" },
    ];

    fn applied(migration: &Migration) -> Applied {
        Applied { version: migration.version, checksum: migration.checksum() }
    }

    #[test]
    fn only_what_is_missing_is_applied() {
        assert_eq!(pending(KNOWN, &[]).unwrap().len(), 2);
        assert_eq!(pending(KNOWN, &[applied(&KNOWN[0])]).unwrap()[0].version, 2);
        assert!(pending(KNOWN, &[applied(&KNOWN[0]), applied(&KNOWN[1])]).unwrap().is_empty());
    }

    #[test]
    fn newer_databases_and_changed_steps_are_refused() {
        let newer = Applied { version: 3, checksum: String::new() };
        assert_eq!(pending(KNOWN, &[newer]).unwrap_err(), WorldError::NewerSchema { found: 3, known: 2 });
        let changed = Applied { version: 1, checksum: "0".into() };
        assert_eq!(pending(KNOWN, &[changed]).unwrap_err(), WorldError::Drift { version: 1 });
    }
}
