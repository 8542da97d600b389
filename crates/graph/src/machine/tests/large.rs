//! Large values: everything a run refers to was stored with its commits, in whatever batches the messages
//! were folded, and nothing else is requested.

use rhythm_core::command::Command;
use rhythm_core::fold::{Advance, End, Fold, RunState, by_hash};
use rhythm_core::id::MessageId;
use rhythm_core::message::*;
use rhythm_core::payload::Blobs;
use rhythm_core::refers::{self, Refs};
use rhythm_core::time::Timestamp;
use serde_json::{Value, json};

use super::stage::{Stage, Stored, Way, script};

/// A run whose commits take up to `size` messages, as an engine folds them. Blobs come from the store and
/// reach it with the commit that created them.
struct Batches {
    stage: Stage,
    stored: Blobs,
    size: usize,
}

impl Batches {
    fn commit(&mut self) {
        let size = self.size.min(self.stage.pending.len());
        let batch: Vec<Message> = self.stage.pending.drain(..size).map(|(_, message)| message).collect();
        let mut loaded = Blobs::new();
        let (state, made, commands, end) = loop {
            match self.fold(&batch, &loaded) {
                Ok(folded) => break folded,
                Err(wanted) => {
                    for blob in wanted {
                        let content =
                            self.stored.get(&blob).unwrap_or_else(|| panic!("{blob} was not found"));
                        loaded.insert(blob, content.clone());
                    }
                }
            }
        };
        self.stored.extend(made);
        self.stage.state = state;
        self.stage.end = end;
        for command in commands {
            let Command::RunTask(task) = command else { continue };
            let output = task.input.clone();
            let body = MessageBody::TaskCompleted(TaskCompleted { task: task.task, attempt: 1, output });
            self.stage.expect(0, MessageId::task(task.task), body);
        }
    }

    #[expect(clippy::type_complexity, reason = "a test's")]
    fn fold(
        &self,
        batch: &[Message],
        loaded: &Blobs,
    ) -> Result<(RunState, Blobs, Vec<Command>, Option<End>), Vec<String>> {
        let mut fold = Fold::new(&self.stage.program, self.stage.facts.clone());
        let mut state = self.stage.state.clone();
        let (mut made, mut commands, mut end) = (Blobs::new(), Vec::new(), None);
        for (place, message) in batch.iter().enumerate() {
            let more = batch.len() - place - 1;
            match fold.advance(&mut state, message, (Timestamp(9), loaded), more).unwrap() {
                Advance::Advanced(advanced) => {
                    made.extend(by_hash(&advanced.blobs));
                    commands.extend(advanced.commands);
                    end = advanced.end;
                    state = advanced.state;
                }
                Advance::NeedBlobs(wanted) => return Err(wanted.into_iter().map(|blob| blob.hash).collect()),
            }
        }
        made.extend(by_hash(&fold.settle(&mut state)));
        Ok((state, made, commands, end))
    }
}

fn parallel(items: Value, concurrency: usize, size: usize) -> Value {
    let document = json!({"nodes": [{"id": "p", "type": "parallel",
        "config": {"items": "$inputs", "task": "echo", "concurrency": concurrency}}]});
    let stored = Stored::of(&document).unwrap();
    let stage = Stage::on(&stored, script().inputs(items), Way::Straight);
    let mut batches = Batches { stage, stored: Blobs::new(), size };
    while batches.stage.end.is_none() {
        batches.commit();
    }
    let Some(End::Completed(output)) = &batches.stage.end else { panic!("{:?}", batches.stage.end) };
    serde_json::from_slice(output.resolve(&batches.stored).unwrap()).unwrap()
}

/// Inputs and items do not fit into the snapshot together. The rest of them moves out between the results, in
/// a commit whose later messages need it.
#[test]
fn a_parallel_over_records_finds_what_left_its_snapshot_in_the_same_commit() {
    let items: Vec<Value> = (0..110).map(|id| json!({"id": id, "text": "r".repeat(670)})).collect();
    for (concurrency, size) in [(20, 20), (20, 7), (50, 50)] {
        let outputs = parallel(json!(items), concurrency, size);
        let inputs: Vec<&Value> = outputs.as_array().unwrap().iter().map(|output| &output["input"]).collect();
        assert_eq!(inputs, items.iter().collect::<Vec<_>>());
    }
}

#[test]
fn everything_a_snapshot_refers_to_is_known() {
    let document = json!({"nodes": [{"id": "p", "type": "parallel",
        "config": {"items": "$inputs", "task": "echo", "concurrency": 5}}]});
    // A value that only looks like a reference is not one.
    let fake = json!({"$blob": format!("sha256:{}", "0".repeat(64)), "bytes": 7});
    let inputs = json!([{"of a user": fake}, "x".repeat(100_000), "y".repeat(60_000)]);
    let stage = Stage::on(&Stored::of(&document).unwrap(), script().inputs(inputs), Way::Straight);
    let mut batches = Batches { stage, stored: Blobs::new(), size: 1 };
    batches.commit();
    let stage = &batches.stage;
    let mut refs = Refs::new();
    refers::new_in_snapshot(&stage.program, None, stage.state.snapshot.as_ref(), &mut refs).unwrap();
    let stored: Refs = batches.stored.keys().cloned().collect();
    assert!(!refs.is_empty() && refs.is_subset(&stored), "{refs:?} of {stored:?}");
    let (before, mut new) = (stage.state.snapshot.clone(), Refs::new());
    refers::new_in_snapshot(&stage.program, before.as_ref(), stage.state.snapshot.as_ref(), &mut new)
        .unwrap();
    assert_eq!(new, Refs::new(), "nothing is new in what was there before");
}
