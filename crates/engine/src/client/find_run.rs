//! Runs and tasks by the last characters of their ids, as listings show them.

use rhythm_core::{RunId, TaskId};

use super::Client;
use crate::error::EngineError;
use crate::world::{Page, RunQuery, TaskQuery};

/// Number of newest runs, or newest tasks, that are searched for a shortened id. No index covers the end of an id.
pub const SEARCHED: usize = 10_000;
/// A shortened id has at least this many characters before its first `.`, `~` or `:`.
pub const FEWEST: usize = 6;
const PAGE: usize = 1_000;
/// Number of ids that an error lists.
const LISTED: usize = 5;

impl Client {
    /// Returns the run with this id, or else the only one among the newest `SEARCHED` runs whose id ends with `name`. A name
    /// that fits no run is returned unchanged, so that the request itself reports the unknown run. Fails with `Ambiguous`
    /// if several ids end with it. A generated id is not looked up.
    pub async fn find_run(&self, name: &str) -> Result<RunId, EngineError> {
        let run = RunId::new(name);
        // A run that cannot be read exists: the request reports what is wrong with it.
        if !is_short(name) || !matches!(self.world.picture(&self.tenant, &run).await, Ok(None)) {
            return Ok(run);
        }
        let mut search = Search::of(name);
        let mut cursor = None;
        for _ in 0..SEARCHED / PAGE {
            let tenant = self.tenant.clone();
            let query = RunQuery { tenant, cursor, limit: PAGE, ..RunQuery::default() };
            let Page { rows, next } = self.world.list_runs(query).await?;
            rows.into_iter().for_each(|row| search.look(row.id.0));
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(search.found("run")?.map_or(run, RunId))
    }

    /// Returns the task with this id, found as by `find_run`: a task of a run by the id of its run, a standalone task among the
    /// newest `SEARCHED` tasks.
    pub async fn find_task(&self, name: &str) -> Result<TaskId, EngineError> {
        if let Some((run, number)) = name.rsplit_once(':') {
            return Ok(TaskId(format!("{}:{number}", self.find_run(run).await?)));
        }
        let task = TaskId::new(name);
        if !is_short(name) || !matches!(self.world.task(&self.tenant, &task).await, Ok(None)) {
            return Ok(task);
        }
        let mut search = Search::of(name);
        let mut cursor = None;
        for _ in 0..SEARCHED / PAGE {
            let tenant = self.tenant.clone();
            let query = TaskQuery { tenant, cursor, limit: PAGE, ..TaskQuery::default() };
            let Page { rows, next } = self.world.list_tasks(query).await?;
            rows.into_iter().for_each(|row| search.look(row.id.0));
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(search.found("task")?.map_or(task, TaskId))
    }
}

/// The part of an id before the numbers of children and tasks and the mark of a fork.
pub fn base(id: &str) -> &str {
    id.split(['.', '~', ':']).next().unwrap_or_default()
}

/// Returns whether the text may be the end of an id: long enough, and no generated id itself.
fn is_short(name: &str) -> bool {
    let base = base(name);
    base.chars().count() >= FEWEST && uuid::Uuid::try_parse(base).is_err()
}

/// Collects the ids that end with a text.
struct Search<'a> {
    end: &'a str,
    found: Vec<String>,
}

impl<'a> Search<'a> {
    fn of(end: &'a str) -> Self {
        Self { end, found: Vec::new() }
    }

    /// A run that ended between two pages is listed twice.
    fn look(&mut self, id: String) {
        if id.ends_with(self.end) && !self.found.contains(&id) {
            self.found.push(id);
        }
    }

    fn found(mut self, kind: &'static str) -> Result<Option<String>, EngineError> {
        if self.found.len() <= 1 {
            return Ok(self.found.pop());
        }
        let more = self.found.len().saturating_sub(LISTED);
        self.found.truncate(LISTED);
        Err(EngineError::Ambiguous { kind, end: self.end.to_owned(), ids: self.found, more })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_has_six_characters_before_the_numbers() {
        assert!(is_short("0f3a9c") && is_short("0f3a9c.3") && is_short("0f3a9c~f") && is_short("order-17"));
        assert!(!is_short("a9c.3.1~f") && !is_short("0f3a9") && !is_short(""));
        assert!(!is_short("0199c5d0-7b1e-7000-8000-00000f3a9c11.3"));
    }
}
