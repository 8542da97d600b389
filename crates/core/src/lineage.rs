//! The programs that a history was stepped by. When a run changes its version, one program folds it up to
//! that message and another one after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::event::{Event, EventData};
use crate::fold::{Advance, RunState, advance_with, change_version, end_at_once};
use crate::id::Version;
use crate::message::{Message, MessageBody};
use crate::payload::Blobs;
use crate::program::{Program, ProgramError, RunFacts};
use crate::time::Timestamp;

/// Programs, keyed by version.
pub type ByVersion = BTreeMap<Version, Arc<dyn Program>>;

/// The program of a run at one point of its history, with the programs it may change to.
#[derive(Clone)]
pub struct Lineage<'a> {
    now: &'a dyn Program,
    facts: RunFacts,
    others: Option<&'a ByVersion>,
}

/// Returns the version a run began with; `current` is the version it has now.
pub fn first_version<'a>(history: &'a [Event], current: &'a Version) -> &'a Version {
    let first = history.iter().find_map(|row| match &row.data {
        EventData::VersionChanged(changed) => Some(&changed.from),
        _ => None,
    });
    first.unwrap_or(current)
}

/// Returns every version needed to fold a history; `current` is the version the run has now.
pub fn versions<'a>(history: &'a [Event], current: &'a Version) -> BTreeSet<&'a Version> {
    let mut found = BTreeSet::from([current]);
    for row in history {
        if let EventData::VersionChanged(changed) = &row.data {
            found.extend([&changed.from, &changed.to]);
        }
    }
    found
}

impl<'a> Lineage<'a> {
    /// Returns the lineage of a run that never changed its version.
    pub fn of(program: &'a dyn Program, facts: &RunFacts) -> Self {
        Self { now: program, facts: facts.clone(), others: None }
    }

    /// Returns the lineage of any run, at its beginning. Returns `None` when `programs` lacks the first
    /// version.
    pub fn new(programs: &'a ByVersion, facts: &RunFacts, history: &[Event]) -> Option<Self> {
        let version = first_version(history, &facts.version).clone();
        let now = &**programs.get(&version)?;
        Some(Self { now, facts: RunFacts { version, ..facts.clone() }, others: Some(programs) })
    }

    /// Returns the run's facts with the version at this point.
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// Returns the program that steps the next message.
    pub fn program(&self) -> &'a dyn Program {
        self.now
    }

    /// Applies a message of the history and switches to another program when the message changes the version.
    /// When the next row is the warning that the run ended without its program, no program is called. Fails
    /// when the new version is missing, or when the program cannot step the message.
    pub fn advance(
        &mut self,
        state: &RunState,
        (message, next): (&Message, Option<&Event>),
        (at, blobs): (Timestamp, &Blobs),
        made: &Blobs,
    ) -> Result<Advance, ProgramError> {
        if let Some(why) = next.and_then(Event::why_without_program)
            && message.body.ends_a_pending_run()
        {
            return Ok(end_at_once(state, message, at, why));
        }
        let MessageBody::VersionChanged(changed) = &message.body else {
            return advance_with(self.now, &self.facts, state, message, (at, blobs), made);
        };
        let missing = || ProgramError::BadDefinition(format!("version {} cannot be read here", changed.to));
        let next = &**self.others.and_then(|others| others.get(&changed.to)).ok_or_else(missing)?;
        let facts = RunFacts { version: changed.to.clone(), ..self.facts.clone() };
        let mut known = blobs.clone();
        known.extend(made.iter().map(|(hash, content)| (hash.clone(), content.clone())));
        let advanced = change_version((self.now, next), &facts, state, (message, changed), at, &known)?;
        if matches!(advanced, Advance::Advanced(_)) {
            (self.now, self.facts) = (next, facts);
        }
        Ok(advanced)
    }
}
