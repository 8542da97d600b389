//! A write transaction: its time, new numbers, paused names, and hints to send after the commit.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Deref;

use rhythm_core::{TenantId, Timestamp};
use rhythm_engine::world::{Hint, WorldResult};
use rusqlite::params;

use super::clock::WorldClock;
use super::liveness::Marks;
use super::sql::{Sql, int, sql};
use crate::clock_jump::ClockJumpGuard;

/// The state of a handle that transactions use.
pub struct Handle {
    pub id: String,
    pub marks: Marks,
    pub clock: WorldClock,
    pub patience: ClockJumpGuard,
}

impl Handle {
    /// Whether the process of a handle is alive. This process is, even without a mark.
    pub fn is_there(&self, handle: &str) -> bool {
        handle == self.id || self.marks.is_alive(handle)
    }
}

pub struct Tx<'c> {
    sql: Sql<'c>,
    pub now: Timestamp,
    pub handle: &'c Handle,
    stored: WorldRow,
    last_number: Cell<u64>,
    hint: Cell<Hint>,
    paused: RefCell<Option<HashSet<PausedName>>>,
}

/// Tenant, kind of name (`workflow` or `queue`), name.
type PausedName = (String, String, String);

/// The only row of table `world`, which all processes share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldRow {
    pub clock: Timestamp,
    pub last_number: u64,
    pub runs: u64,
    pub tasks: u64,
    pub cancels: u64,
}

impl WorldRow {
    pub fn read(sql: Sql<'_>) -> WorldResult<Self> {
        let row = sql.one(sql!("world", "read"), [], |row| {
            Ok(Self {
                clock: row.time()?,
                last_number: row.count()?,
                runs: row.count()?,
                tasks: row.count()?,
                cancels: row.count()?,
            })
        })?;
        row.ok_or_else(|| rhythm_engine::world::WorldError::Corrupt("the world's own row is missing".into()))
    }

    pub fn write(&self, sql: Sql<'_>) -> WorldResult<()> {
        let Self { clock, last_number, runs, tasks, cancels } = *self;
        let row = params![clock.millis(), int(last_number), int(runs), int(tasks), int(cancels)];
        sql.run(sql!("world", "write"), row).map(drop)
    }

    /// Returns the hints written since an earlier read.
    pub fn news_since(&self, seen: &WorldRow) -> Hint {
        Hint {
            runs: self.runs != seen.runs,
            tasks: self.tasks != seen.tasks,
            cancels: self.cancels != seen.cancels,
        }
    }
}

impl<'c> Deref for Tx<'c> {
    type Target = Sql<'c>;

    fn deref(&self) -> &Sql<'c> {
        &self.sql
    }
}

impl<'c> Tx<'c> {
    /// Reads the shared row. A write transaction must be open.
    pub fn open(sql: Sql<'c>, handle: &'c Handle) -> WorldResult<Self> {
        let stored = WorldRow::read(sql)?;
        handle.clock.raise(stored.clock);
        Ok(Self {
            sql,
            now: handle.clock.now(),
            handle,
            stored,
            last_number: Cell::new(stored.last_number),
            hint: Cell::default(),
            paused: RefCell::default(),
        })
    }

    /// Writes the shared row back. Call it before the commit if anything was changed.
    pub fn close(&self) -> WorldResult<WorldRow> {
        let hint = self.hint.get();
        let row = WorldRow {
            clock: self.now,
            last_number: self.last_number.get(),
            runs: self.stored.runs + u64::from(hint.runs),
            tasks: self.stored.tasks + u64::from(hint.tasks),
            cancels: self.stored.cancels + u64::from(hint.cancels),
        };
        row.write(self.sql)?;
        Ok(row)
    }

    pub fn stored(&self) -> WorldRow {
        self.stored
    }

    /// Returns a number larger than all before.
    pub fn next_number(&self) -> i64 {
        self.last_number.set(self.last_number.get() + 1);
        int(self.last_number.get())
    }

    pub fn hint(&self) -> Hint {
        self.hint.get()
    }

    pub fn hint_runs(&self) {
        self.add_hint(Hint { runs: true, ..Hint::default() });
    }

    pub fn hint_tasks(&self) {
        self.add_hint(Hint { tasks: true, ..Hint::default() });
    }

    pub fn hint_cancels(&self) {
        self.add_hint(Hint { cancels: true, ..Hint::default() });
    }

    fn add_hint(&self, hint: Hint) {
        self.hint.set(self.hint.get().and(hint));
    }

    pub fn is_workflow_paused(&self, tenant: &TenantId, workflow: &str) -> WorldResult<bool> {
        self.is_paused(tenant, "workflow", workflow)
    }

    pub fn is_queue_paused(&self, tenant: &TenantId, queue: &str) -> WorldResult<bool> {
        self.is_paused(tenant, "queue", queue)
    }

    /// Reads the paused names once per transaction: they are few, and every fused commit checks them.
    fn is_paused(&self, tenant: &TenantId, what: &str, name: &str) -> WorldResult<bool> {
        let mut known = self.paused.borrow_mut();
        let names = match &mut *known {
            Some(names) => names,
            None => {
                let rows =
                    self.all(sql!("world", "paused"), [], |row| Ok((row.take()?, row.take()?, row.take()?)))?;
                known.insert(rows.into_iter().collect())
            }
        };
        if names.is_empty() {
            return Ok(false);
        }
        Ok(names.contains(&(tenant.0.clone(), what.to_owned(), name.to_owned())))
    }

    /// Forgets the names that were read. Call it after paused names were changed.
    pub fn forget_paused(&self) {
        self.paused.replace(None);
    }
}
