//! Names, prepares and reads statements. Their text is in `sql/*.sql`, one named section each.

use std::cell::RefCell;
use std::collections::HashMap;

use rhythm_core::{Payload, Timestamp};
use rhythm_engine::world::WorldResult;
use rusqlite::types::{FromSql, Type};
use rusqlite::{Connection, OptionalExtension, Params, PrepFlags, Row, Statement};

use super::errors;

/// Text of one statement: `sql!("runs", "insert")` is section `insert` of `sql/runs.sql`, found at compile
/// time.
macro_rules! sql {
    ($file:literal, $name:literal) => {
        const {
            $crate::sqlite::sql::section(
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/sqlite/sql/", $file, ".sql")),
                $name,
            )
        }
    };
}
pub(crate) use sql;

/// Returns the text between the line `-- name: <name>` and the next such line.
pub const fn section(file: &'static str, name: &str) -> &'static str {
    const MARK: &str = "-- name: ";
    let text = file.as_bytes();
    let mut at = 0;
    while at < text.len() {
        if matches_at(text, at, MARK) && matches_at(text, at + MARK.len(), name) {
            let start = at + MARK.len() + name.len();
            if start < text.len() && text[start] == b'\n' {
                let mut end = start + 1;
                while end < text.len() && !matches_at(text, end, MARK) {
                    end += 1;
                }
                return file.split_at(end).0.split_at(start + 1).1;
            }
        }
        at += 1;
    }
    panic!("no such section")
}

const fn matches_at(text: &[u8], at: usize, word: &str) -> bool {
    let word = word.as_bytes();
    if at + word.len() > text.len() {
        return false;
    }
    let mut n = 0;
    while n < word.len() {
        if text[at + n] != word[n] {
            return false;
        }
        n += 1;
    }
    true
}

/// A connection with cached statements, whose errors are those of the contract.
#[derive(Clone, Copy)]
pub struct Sql<'c> {
    connection: &'c Connection,
    kept: Option<&'c dyn Keep>,
}

/// A cache of prepared statements.
trait Keep {
    fn with(&self, statement: &'static str, work: &mut Work<'_>) -> rusqlite::Result<()>;
}

type Work<'w> = dyn FnMut(&mut Statement<'_>) -> rusqlite::Result<()> + 'w;

/// Prepared statements of a connection that uses the same few all the time. The key is the address of the
/// text: rusqlite's own cache hashes and compares the whole text, which costs as much as a short statement.
pub struct Prepared<'c> {
    connection: &'c Connection,
    statements: RefCell<HashMap<*const u8, Statement<'c>>>,
}

impl<'c> Prepared<'c> {
    pub fn new(connection: &'c Connection) -> Self {
        Self { connection, statements: RefCell::default() }
    }

    pub fn sql(&self) -> Sql<'_> {
        Sql { connection: self.connection, kept: Some(self) }
    }
}

impl Keep for Prepared<'_> {
    fn with(&self, statement: &'static str, work: &mut Work<'_>) -> rusqlite::Result<()> {
        let known = self.statements.borrow_mut().remove(&statement.as_ptr());
        // A cached statement must not use SQLite's lookaside memory, which is for short-lived objects.
        let stays = PrepFlags::SQLITE_PREPARE_PERSISTENT;
        let prepare = || self.connection.prepare_with_flags(statement, stays);
        let mut prepared = known.map_or_else(prepare, Ok)?;
        let done = work(&mut prepared);
        self.statements.borrow_mut().insert(statement.as_ptr(), prepared);
        done
    }
}

impl<'c> Sql<'c> {
    pub fn new(connection: &'c Connection) -> Self {
        Self { connection, kept: None }
    }

    pub fn connection(self) -> &'c Connection {
        self.connection
    }

    fn with<T>(
        self,
        statement: &'static str,
        work: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
    ) -> WorldResult<T> {
        let done = match self.kept {
            None => self.connection.prepare_cached(statement).and_then(|mut prepared| work(&mut prepared)),
            Some(kept) => {
                let (mut work, mut answer) = (Some(work), None);
                let mut once = |prepared: &mut Statement<'_>| {
                    answer = work.take().map(|work| work(prepared)).transpose()?;
                    Ok(())
                };
                kept.with(statement, &mut once)
                    .and_then(|()| answer.ok_or(rusqlite::Error::QueryReturnedNoRows))
            }
        };
        done.map_err(errors::from_sqlite)
    }

    /// Executes a statement. Returns the number of rows it changed.
    pub fn run(self, statement: &'static str, params: impl Params) -> WorldResult<usize> {
        self.with(statement, |prepared| prepared.execute(params))
    }

    pub fn one<T>(
        self,
        statement: &'static str,
        params: impl Params,
        read: impl FnOnce(&mut Columns<'_>) -> rusqlite::Result<T>,
    ) -> WorldResult<Option<T>> {
        self.with(statement, |prepared| {
            prepared.query_row(params, |row| read(&mut Columns { row, at: 0 })).optional()
        })
    }

    pub fn all<T>(
        self,
        statement: &'static str,
        params: impl Params,
        mut read: impl FnMut(&mut Columns<'_>) -> rusqlite::Result<T>,
    ) -> WorldResult<Vec<T>> {
        self.with(statement, |prepared| {
            let rows = prepared.query_map(params, |row| read(&mut Columns { row, at: 0 }))?;
            rows.collect::<rusqlite::Result<Vec<T>>>()
        })
    }

    /// Returns the number that a statement selects, or 0 if it has no row.
    pub fn number(self, statement: &'static str, params: impl Params) -> WorldResult<i64> {
        Ok(self.one(statement, params, |row| row.take())?.unwrap_or(0))
    }
}

/// A row read from left to right.
pub struct Columns<'r> {
    row: &'r Row<'r>,
    at: usize,
}

impl Columns<'_> {
    pub fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        let value = self.row.get(self.at)?;
        self.at += 1;
        Ok(value)
    }

    /// Reads text or bytes as they are stored.
    pub fn raw(&mut self) -> rusqlite::Result<rusqlite::types::ValueRef<'_>> {
        let value = self.row.get_ref(self.at)?;
        self.at += 1;
        Ok(value)
    }

    /// Reads an id or a name that is stored as text.
    pub fn id<T: From<String>>(&mut self) -> rusqlite::Result<T> {
        self.take::<String>().map(T::from)
    }

    pub fn id_option<T: From<String>>(&mut self) -> rusqlite::Result<Option<T>> {
        Ok(self.take::<Option<String>>()?.map(T::from))
    }

    pub fn count(&mut self) -> rusqlite::Result<u64> {
        Ok(self.take::<i64>()?.unsigned_abs())
    }

    pub fn time(&mut self) -> rusqlite::Result<Timestamp> {
        self.take().map(Timestamp)
    }

    pub fn time_option(&mut self) -> rusqlite::Result<Option<Timestamp>> {
        Ok(self.take::<Option<i64>>()?.map(Timestamp))
    }

    pub fn json<T: serde::de::DeserializeOwned>(&mut self) -> rusqlite::Result<T> {
        let text = self.row.get_ref(self.at)?.as_str()?;
        let value = serde_json::from_str(text).map_err(|error| self.damaged(error))?;
        self.at += 1;
        Ok(value)
    }

    pub fn json_option<T: serde::de::DeserializeOwned>(&mut self) -> rusqlite::Result<Option<T>> {
        let Some(text) = self.row.get_ref(self.at)?.as_str_or_null()? else {
            self.at += 1;
            return Ok(None);
        };
        let value = serde_json::from_str(text).map_err(|error| self.damaged(error))?;
        self.at += 1;
        Ok(Some(value))
    }

    pub fn payload(&mut self) -> rusqlite::Result<Payload> {
        self.json()
    }

    /// Reads a word that `parse` knows.
    pub fn word<T>(&mut self, parse: fn(&str) -> Option<T>) -> rusqlite::Result<T> {
        let text = self.row.get_ref(self.at)?.as_str()?;
        let value = parse(text).ok_or_else(|| self.damaged(format!("{text:?} is not known here")))?;
        self.at += 1;
        Ok(value)
    }

    pub fn damaged(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
        rusqlite::Error::FromSqlConversionFailure(self.at, Type::Text, error.into())
    }
}

/// Converts a counter. SQLite's integers have 63 bits, and no counter gets that far.
pub fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Reinterprets a number as signed, because SQLite's integers are signed.
pub fn number(number: u64) -> i64 {
    number as i64
}

pub fn size(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Serialises a value that this program made, which cannot fail.
pub fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("stored values always serialise")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_where_the_next_begins() {
        const FILE: &str = "-- about\n-- name: a\nSELECT 1;\n-- name: ab\nSELECT 2;\n";
        assert_eq!(section(FILE, "a"), "SELECT 1;\n");
        assert_eq!(section(FILE, "ab"), "SELECT 2;\n");
    }
}
