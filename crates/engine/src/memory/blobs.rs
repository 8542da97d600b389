//! Immutable content, and collecting what nothing names any more.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::{Millis, Payload, Snapshot, Timestamp};
use serde::Serialize;

use super::state::{Blob, Live, Tenant};
use crate::world::*;

impl Tenant {
    pub fn put_blob(&mut self, hash: &str, content: &[u8], now: Timestamp) {
        let blob = self.blobs.entry(hash.to_owned());
        let blob = blob.or_insert_with(|| Blob { content: content.into(), seen_at: now, unused: false });
        (blob.seen_at, blob.unused) = (now, false);
    }

    /// Something that is written now refers to these. Gives those that do not exist.
    pub fn use_blobs(&mut self, hashes: &[String], now: Timestamp) -> Vec<String> {
        let mut missing = Vec::new();
        for hash in hashes {
            match self.blobs.get_mut(hash) {
                Some(blob) => (blob.seen_at, blob.unused) = (now, false),
                None => missing.push(hash.clone()),
            }
        }
        missing
    }

    pub fn read_blob(&self, hash: &str) -> Option<Arc<[u8]>> {
        self.blobs.get(hash).map(|blob| blob.content.clone())
    }

    pub fn take_unnamed(&mut self, hashes: &[String]) -> usize {
        let named = self.named();
        let unnamed = hashes.iter().filter(|hash| !named.contains(*hash));
        unnamed.filter(|hash| self.blobs.remove(*hash).is_some()).count()
    }

    pub fn collect_blobs(&mut self, grace: Millis, limit: usize, now: Timestamp) -> u64 {
        let is_due = |blob: &Blob| blob.seen_at.plus(grace) <= now;
        let mut due: Vec<(Timestamp, String)> = self
            .blobs
            .iter()
            .filter(|(_, blob)| is_due(blob))
            .map(|(hash, blob)| (blob.seen_at, hash.clone()))
            .collect();
        due.sort();
        due.truncate(limit);
        if due.is_empty() {
            return 0;
        }
        let named = self.named();
        for (_, hash) in &due {
            let Some(blob) = self.blobs.get_mut(hash) else { continue };
            match (named.contains(hash), blob.unused) {
                (false, true) => drop(self.blobs.remove(hash)),
                (is_named, _) => (blob.seen_at, blob.unused) = (now, !is_named),
            }
        }
        due.len() as u64
    }

    /// Every hash in anything this tenant has stored.
    fn named(&self) -> BTreeSet<String> {
        let mut named = Named(BTreeSet::new());
        let run = |named: &mut Named, run: &Live| {
            named.payload(&run.input);
            named.snapshot(run.row.state.snapshot.as_ref());
        };
        self.live.values().for_each(|live| run(&mut named, live));
        for ended in self.ended.values() {
            run(&mut named, &ended.run);
            ended.output.iter().for_each(|output| named.payload(output));
            named.value(&ended.failure);
            named.value(&ended.failed_by);
        }
        self.inbox.values().for_each(|messages| named.value(messages));
        self.timers.values().for_each(|timer| named.value(&timer.body));
        for task in self.tasks.values() {
            named.payload(&task.new.input);
            named.value(&task.new.options);
            task.progress.iter().for_each(|progress| named.payload(progress));
        }
        self.ended_tasks.values().for_each(|task| named.value(task));
        self.attempts.iter().for_each(|attempt| named.value(&attempt.row));
        self.dead.values().for_each(|letter| named.value(&letter.letter));
        self.events.values().for_each(|events| named.value(events));
        for registered in self.definitions.values() {
            named.text(registered.definition.source.as_bytes());
            named.text(&registered.definition.compiled);
        }
        self.artifacts.keys().for_each(|hash| named.text(hash.as_bytes()));
        self.schedules.values().for_each(|schedule| named.value(schedule));
        self.workflow_patches.values().for_each(|patches| named.value(patches));
        named.0
    }
}

struct Named(BTreeSet<String>);

impl Named {
    fn text(&mut self, text: &[u8]) {
        self.0.extend(named_blobs(text).map(str::to_owned));
    }

    fn payload(&mut self, payload: &Payload) {
        self.text(payload.to_stored().as_bytes());
    }

    fn snapshot(&mut self, snapshot: Option<&Snapshot>) {
        self.text(snapshot.map(|snapshot| &snapshot.bytes[..]).unwrap_or_default());
    }

    fn value<T: Serialize>(&mut self, value: &T) {
        self.text(&serde_json::to_vec(value).expect("stored values always serialise"));
    }
}
