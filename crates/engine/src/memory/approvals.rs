//! Reads approvals from histories. A cursor is the time, run and row of the last one shown.

use rhythm_core::RunId;
use rhythm_core::event::{Event, EventData};

use super::records::not_a_cursor;
use super::state::Tenant;
use crate::world::*;

/// Order of approvals: request time, then run and row.
type Key = (i64, RunId, u64);

impl Tenant {
    pub fn list_approvals(&self, query: &ApprovalQuery) -> WorldResult<Page<ApprovalRow>> {
        let before = query.cursor.as_deref().map(read_cursor).transpose()?;
        let runs: Vec<&RunId> = match (&query.run, query.state) {
            (Some(run), _) => vec![run],
            (None, Some(ApprovalState::Pending)) => self.live.keys().collect(),
            (None, _) => self.events.keys().collect(),
        };
        let mut rows: Vec<(Key, ApprovalRow)> =
            runs.into_iter().flat_map(|run| self.approvals_of(run)).collect();
        rows.retain(|(key, _)| before.as_ref().is_none_or(|before| key < before));
        rows.sort_by(|(one, _), (other, _)| other.cmp(one));
        let mut page = ApprovalPage::new(query);
        for ((at, run, seq), row) in rows {
            page.offer(format!("{at}/{seq}/{run}"), row);
        }
        Ok(page.close())
    }

    /// Returns a run's approvals in the order they were requested.
    pub fn approvals_of(&self, run: &RunId) -> Vec<(Key, ApprovalRow)> {
        let ended = self.ended.get(run).map(|ended| &ended.run);
        let Some(row) = self.live.get(run).or(ended).map(|live| &live.row) else { return Vec::new() };
        let events = self.events.get(run).map(Vec::as_slice).unwrap_or_default();
        let created = |event: &&Event| matches!(event.data, EventData::ApprovalCreated(_));
        let tell = |created: &Event| {
            let (run, workflow) = (run.clone(), row.workflow.clone());
            let asked = Asked { run, workflow, ended: ended.is_some(), created: created.clone() };
            let key = (created.at.millis(), row.id.clone(), created.seq);
            Some((key, ApprovalRow::of(&asked, events)?))
        };
        events.iter().filter(created).filter_map(tell).collect()
    }
}

fn read_cursor(text: &str) -> WorldResult<Key> {
    let mut parts = text.splitn(3, '/');
    let key = match (parts.next(), parts.next(), parts.next()) {
        (Some(at), Some(seq), Some(run)) => {
            at.parse().ok().zip(seq.parse().ok()).map(|(at, seq)| (at, RunId::new(run), seq))
        }
        _ => None,
    };
    key.ok_or_else(|| not_a_cursor(text))
}
