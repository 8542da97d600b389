//! Appends to histories.

use rhythm_core::event::{Event, EventData};
use rhythm_core::{Actor, MessageId};
use rhythm_engine::world::{WorldError, WorldResult};
use rusqlite::params;

use super::sql::{int, sql};
use super::tx::Tx;

pub fn append(tx: &Tx<'_>, key: i64, events: &[Event]) -> WorldResult<()> {
    for event in events {
        let row = params![
            key,
            int(event.seq),
            event.data.kind(),
            event.at.millis(),
            event.cause.map(int),
            event.message.as_ref().map(MessageId::as_str),
            event.actor.0,
            event.trace,
            event.data.to_json(),
        ];
        tx.run(sql!("commit", "append_event"), row)?;
    }
    Ok(())
}

/// Writes an operator's row. It raises the revision, so a commit of a step under way is refused.
pub fn write_operator_row(tx: &Tx<'_>, key: i64, actor: &Actor, data: EventData) -> WorldResult<()> {
    let place = tx.one(sql!("commit", "write_operator_row"), params![key, tx.now.millis()], |row| {
        Ok((row.count()?, row.time()?))
    })?;
    let (seq, at) = place.ok_or_else(|| WorldError::NotFound(format!("run {key}")))?;
    let event = Event { seq, at, cause: None, message: None, actor: actor.clone(), trace: None, data };
    append(tx, key, &[event])
}
