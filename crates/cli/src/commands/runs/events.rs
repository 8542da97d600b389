use clap::Args;
use rhythm_core::event::{EventData, StepRetrying};
use rhythm_core::{Actor, CommandId, Event, Timestamp};
use rhythm_engine::world::{AttemptRow, HistoryQuery, Page};
use serde::Serialize;

use super::follow::follow;
use crate::args::Paging;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::exact;

/// List the history of a run, oldest first, with the attempts that were retried
#[derive(Debug, Args)]
pub struct Events {
    run: String,
    /// Go on with what happens, until the run has ended; as JSON, one document a line
    #[arg(long, conflicts_with = "limit")]
    follow: bool,
    #[command(flatten)]
    paging: Paging,
}

/// A row of the history, or a retried attempt, which is not part of the history and has no number.
#[derive(Debug, Serialize)]
pub struct Row {
    pub seq: Option<u64>,
    pub at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<u64>,
    actor: Actor,
    pub r#type: &'static str,
    pub data: Box<serde_json::value::RawValue>,
}

/// End of a page: the number and time of its last row.
#[derive(Clone, Copy)]
pub struct Cursor {
    pub seq: u64,
    pub at: Timestamp,
}

impl Events {
    pub async fn run(self, settings: Settings) -> CliResult {
        let from = self.paging.cursor.as_deref().map(parse_cursor).transpose()?;
        let session = Session::read(&settings).await?;
        let run = session.client.find_run(&self.run).await?;
        if self.follow {
            return follow(&session, &run, from).await;
        }
        let limit = usize::from(self.paging.limit);
        let query = HistoryQuery {
            tenant: settings.tenant.clone(),
            run: run.clone(),
            after: from.map_or(0, |cursor| cursor.seq),
            limit: limit + 1,
        };
        let mut events = session.rhythm.world().history(query).await?;
        if events.is_empty() {
            // Fails if the run does not exist, unlike a run without history.
            session.client.picture(&run).await?;
        }
        let more = events.len() > limit;
        events.truncate(limit);
        let last = events.last().map(|event| Cursor { seq: event.seq, at: event.at });
        let next = last.filter(|_| more);
        let attempts = session.rhythm.world().attempts(&settings.tenant, &run).await?;
        let here = |attempt: &AttemptRow| {
            from.is_none_or(|from| attempt.ended_at > from.at)
                && next.is_none_or(|next| attempt.ended_at <= next.at)
        };
        let rows = merge(events, attempts.into_iter().filter(here))?;
        let next = next.map(|cursor| format!("{}@{}", cursor.seq, cursor.at.millis()));
        let words =
            Words { columns: &["SEQ", "TIME (UTC)", "TYPE", "DATA"], none: "nothing has happened yet" };
        session.out.page(&Page { rows, next }, words, |row| {
            let seq = row.seq.map_or_else(|| "-".to_owned(), |seq| seq.to_string());
            vec![seq, exact(row.at), row.r#type.to_owned(), short(row.data.get(), 100)]
        })
    }
}

fn parse_cursor(text: &str) -> CliResult<Cursor> {
    let parts = text.split_once('@').and_then(|(seq, at)| Some((seq.parse().ok()?, at.parse().ok()?)));
    match parts {
        Some((seq, at)) => Ok(Cursor { seq, at: Timestamp(at) }),
        None => Err(CliError::BadValue(format!("--cursor {text:?} is not what a page of events ended with"))),
    }
}

/// Merges attempts into the history by time, each before the row that ended its task.
pub fn merge(events: Vec<Event>, attempts: impl Iterator<Item = AttemptRow>) -> CliResult<Vec<Row>> {
    let mut rows: Vec<(Timestamp, Option<CommandId>, Row)> = Vec::new();
    for event in events {
        let ends = match &event.data {
            EventData::StepCompleted(step) => Some(step.task),
            EventData::StepFailed(step) => Some(step.task),
            _ => None,
        };
        let data = raw(&event.data)?;
        let Event { seq, at, cause, actor, data: kind, .. } = event;
        rows.push((at, ends, Row { seq: Some(seq), at, cause, actor, r#type: kind.kind(), data }));
    }
    for attempt in attempts {
        let number = attempt.task.as_str().rsplit_once(':').and_then(|(_, number)| number.parse().ok());
        let task = CommandId(number.unwrap_or_default());
        let at = attempt.ended_at;
        let next_at = attempt.next_at.unwrap_or(at);
        let (number, failure) = (attempt.attempt, attempt.failure);
        let data = EventData::StepRetrying(StepRetrying { task, attempt: number, failure, next_at });
        let actor = Actor(format!("worker:{}", attempt.worker));
        let row = Row { seq: None, at, cause: None, actor, r#type: data.kind(), data: raw(&data)? };
        let after = |(other, ends, _): &(Timestamp, Option<CommandId>, Row)| {
            *other > at || (*other == at && *ends == Some(task))
        };
        let place = rows.iter().position(after).unwrap_or(rows.len());
        rows.insert(place, (at, None, row));
    }
    Ok(rows.into_iter().map(|(_, _, row)| row).collect())
}

fn raw(data: &EventData) -> CliResult<Box<serde_json::value::RawValue>> {
    serde_json::value::RawValue::from_string(data.to_json())
        .map_err(|error| CliError::Output(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhythm_core::event::StepScheduled;
    use rhythm_core::message::TaskCompleted;
    use rhythm_core::{Failure, Payload, TaskId};

    fn event(seq: u64, at: i64, data: EventData) -> Event {
        Event {
            seq,
            at: Timestamp(at),
            cause: None,
            message: None,
            actor: Actor::system(),
            trace: None,
            data,
        }
    }

    #[test]
    fn an_attempt_stands_between_the_rows_that_began_and_ended_its_task() {
        let scheduled = StepScheduled {
            task: CommandId(1),
            name: "t".into(),
            label: None,
            item: None,
            queue: "default".into(),
            input: Payload::null(),
        };
        let completed = TaskCompleted { task: CommandId(1), attempt: 2, output: Payload::null() };
        let attempt = AttemptRow {
            task: TaskId::new("r:1"),
            attempt: 1,
            delivery: 1,
            worker: "w".into(),
            ended_at: Timestamp(5),
            failure: Failure::new("X", "y"),
            next_at: None,
        };
        let events = vec![
            event(1, 5, EventData::StepScheduled(scheduled)),
            event(2, 5, EventData::StepCompleted(completed)),
        ];
        let types: Vec<_> =
            merge(events, std::iter::once(attempt)).unwrap().iter().map(|row| row.r#type).collect();
        assert_eq!(types, ["step_scheduled", "step_retrying", "step_completed"]);
    }
}
