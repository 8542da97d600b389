//! Garbage collection of blobs: referenced blobs stay, unreferenced ones are removed after the grace period.

use std::sync::Arc;

use rhythm_core::event::{EventData, Marker};
use rhythm_core::fold::End;
use rhythm_core::message::SignalReceived;
use rhythm_core::{BlobRef, Failure, MessageBody, Millis, Payload, Snapshot};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

impl Play<'_> {
    async fn put(&self, what: &str) -> BlobRef {
        let content = format!("{what:?}");
        let blob = BlobRef::of(content.as_bytes());
        self.world.put_blob(&self.tenant, &blob, content.as_bytes()).await.unwrap();
        blob
    }

    async fn has(&self, blob: &BlobRef) -> bool {
        match self.world.read_blob(&self.tenant, blob).await {
            Ok(_) => true,
            Err(WorldError::NotFound(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs two passes: the first marks unreferenced blobs, the second removes them.
    async fn collect(&self, grace: Millis) {
        for _ in 0..2 {
            self.upkeep(Upkeep::CollectBlobs { grace, limit: 1_000 }).await;
        }
    }
}

/// Blob payloads, each with the name of its use.
struct Names<'p> {
    play: &'p Play<'p>,
    all: Vec<(String, BlobRef)>,
}

impl Names<'_> {
    async fn payload(&mut self, what: &str) -> Payload {
        let blob = self.play.put(what).await;
        self.all.push((what.to_owned(), blob.clone()));
        Payload::Blob(blob)
    }

    async fn text(&mut self, what: &str) -> String {
        self.payload(what).await.to_stored()
    }

    async fn failure(&mut self, what: &str) -> Failure {
        Failure::new("LARGE", self.text(what).await)
    }
}

pub async fn what_anything_names_is_never_collected(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let mut names = Names { play: &play, all: Vec::new() };

    // A live run: its input, snapshot, history and inbox, and its task with progress and a failed attempt.
    let run = NewRun { input: names.payload("input").await, ..new_run("live") };
    play.start_as(run).await;
    let snapshot = format!("{{\"values\":[{}]}}#00000000", names.text("snapshot").await);
    let marker = Marker { name: "kept".to_owned(), data: names.payload("event").await };
    let input = names.payload("task input").await;
    let draft = Draft::of(&play.claim().await)
        .operator(EventData::Marker(marker))
        .task_as(1, |task| NewTask { input, ..task })
        .with(|item| {
            item.state.snapshot = Some(Snapshot { format: 7, bytes: Arc::from(snapshot.as_bytes()) })
        });
    play.done(&draft).await;
    let payload = names.payload("signal").await;
    let signal = message("s", MessageBody::Signal(SignalReceived { name: "never".to_owned(), payload }));
    assert_eq!(play.deliver(&"live".into(), signal).await, Delivered::Accepted);
    let task = play.take().await;
    let failure = names.failure("attempt").await;
    play.finish(&task, TaskOutcome::Retry { failure, delay: Millis::ZERO }).await;
    play.sweep().await;
    let task = play.take().await;
    play.beat_for(&task, Some(names.payload("progress").await)).await;

    // Ended runs: completed and failed.
    play.start("completed").await;
    let output = names.payload("output").await;
    let draft =
        Draft::of(&play.claim().await).completed().with(|item| item.end = Some(End::Completed(output)));
    play.done(&draft).await;
    play.start("failed").await;
    let (failure, payload) = (names.failure("run failure").await, names.payload("failed by").await);
    let by = message("x", MessageBody::Signal(SignalReceived { name: "x".to_owned(), payload }));
    let draft = Draft::of(&play.claim().await).failed().with(|item| {
        item.end = Some(End::Failed(failure));
        item.failed_by = Some(by);
    });
    play.done(&draft).await;

    // Standalone tasks: completed, and a dead letter.
    play.queue(NewTask { input: names.payload("ended input").await, ..new_task("done") }).await;
    let task = play.take().await;
    play.finish(&task, TaskOutcome::Completed { output: names.payload("task output").await }).await;
    play.queue(NewTask { input: names.payload("letter input").await, ..new_task("dead") }).await;
    let task = play.take().await;
    let failure = names.failure("letter failure").await;
    play.finish(&task, TaskOutcome::Exhausted { failure, hold: false }).await;

    // A schedule and its target.
    let input = names.payload("schedule").await;
    let target = ScheduleTarget::Workflow { workflow: "drill".to_owned(), input };
    let nightly = Schedule { target, ..schedule("nightly", play.now().await.plus(days(9))) };
    play.order(Control::PutSchedule(nightly)).await;
    let source = format!("config_ref: cas://{}", names.play.put("content").await.hash);
    names.all.push(("content".to_owned(), names.play.put("content").await));
    let base = definition("order", &source);
    let compiled = names.text("compiled").await.into_bytes();
    let (tenant, definitions) = (play.tenant.clone(), vec![Definition { compiled, ..base.clone() }]);
    play.world.register(Register { tenant, definitions }).await.unwrap();
    play.order(Control::PatchWorkflow(Box::new(NewWorkflowPatch {
        definition: definition("order", "two"),
        base: base.version,
        operations: names.payload("operations").await,
        inverse: names.payload("inverse").await,
        reason: String::new(),
        tag: None,
    })))
    .await;

    let stranger = play.tenant("somebody else").await;
    let of_others = stranger.put("of others").await;
    stranger.queue(NewTask { input: Payload::Blob(of_others.clone()), ..new_task("theirs") }).await;
    let nobodys = play.put("nobody's").await;
    for _ in 0..3 {
        play.collect(Millis::ZERO).await;
    }
    assert!(!play.has(&nobodys).await, "it was looked at all");
    for (what, blob) in &names.all {
        assert!(play.has(blob).await, "{what} was collected");
    }
    assert!(stranger.has(&of_others).await);
    assert_eq!(names.all.len(), 19, "a kind of reference is missing here");
}

pub async fn what_nothing_names_is_collected_after_the_grace(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let blob = play.put("left over").await;
    let used = play.put("used").await;
    play.queue(NewTask { input: Payload::Blob(used.clone()), ..new_task("t") }).await;
    play.collect(days(3)).await;
    stage.clock().advance(days(2));
    play.collect(days(3)).await;
    assert!(play.has(&blob).await, "it is young");
    stage.clock().advance(days(1));
    play.collect(days(3)).await;
    assert!(play.has(&blob).await, "that nothing names it is known since now");
    stage.clock().advance(days(3));
    play.collect(days(3)).await;
    assert!(!play.has(&blob).await);
    assert!(play.has(&used).await);
    // The last reference is removed; the grace period begins.
    let task = play.take().await;
    play.finish(&task, TaskOutcome::Completed { output: json("1") }).await;
    stage.clock().advance(days(30));
    play.upkeep(Upkeep::Retain { keep: days(1), keep_failed: days(1), limit: 10 }).await;
    play.collect(days(3)).await;
    assert!(play.has(&used).await, "nobody knew that nothing names it");
    stage.clock().advance(days(3));
    play.collect(days(3)).await;
    assert!(!play.has(&used).await);
}

pub async fn a_blob_stored_again_is_not_collected(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let look = Upkeep::CollectBlobs { grace: Millis::ZERO, limit: 100 };
    for round in 0..20 {
        let what = format!("again {}", round % 3);
        let blob = play.put(&what).await;
        // Marked: the next pass would remove it.
        play.upkeep(look.clone()).await;
        let (stored, _) = tokio::join!(other.put(&what), play.upkeep(look.clone()));
        assert!(play.has(&stored).await, "round {round}: it was stored, and nobody looked since");
        assert_eq!(stored, blob);
        play.collect(Millis::ZERO).await;
        assert!(!play.has(&blob).await);
    }
}

pub async fn blobs_are_collected_in_small_pieces(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let mut blobs = Vec::new();
    for number in 0..5 {
        blobs.push(play.put(&format!("number {number}")).await);
        stage.clock().advance(Millis(1));
    }
    let mut left = Vec::new();
    for _ in 0..6 {
        let report = play.upkeep(Upkeep::CollectBlobs { grace: Millis::ZERO, limit: 2 }).await;
        assert!(report.changed <= 2, "{report:?}");
        stage.clock().advance(Millis(1));
        let mut count = 0;
        for blob in &blobs {
            count += usize::from(play.has(blob).await);
        }
        left.push(count);
    }
    // Three passes reach every blob once, then they are removed.
    assert_eq!((left[1], left[5]), (5, 0), "{left:?}");
}
