//! Commits and the blobs they refer to: the world checks the blobs in the transaction that writes the commit.

use rhythm_core::event::{EventData, Marker};
use rhythm_core::message::{MessageBody, Start};
use rhythm_core::{BlobRef, Millis, Payload};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

impl Play<'_> {
    async fn store(&self, what: &str) -> BlobRef {
        let content = format!("{what:?}");
        let blob = BlobRef::of(content.as_bytes());
        self.world.put_blob(&self.tenant, &blob, content.as_bytes()).await.unwrap();
        blob
    }

    async fn is_stored(&self, blob: &BlobRef) -> bool {
        match self.world.read_blob(&self.tenant, blob).await {
            Ok(_) => true,
            Err(WorldError::NotFound(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs the collector once: marks unreferenced blobs and removes those already marked.
    async fn look_for_unused(&self) {
        self.upkeep(Upkeep::CollectBlobs { grace: Millis::ZERO, limit: 1_000 }).await;
    }
}

/// Adds a row with this blob to the draft, and lists the blob.
fn naming(draft: Draft, blob: &BlobRef) -> Draft {
    let data = Payload::Blob(blob.clone());
    let row = EventData::Marker(Marker { name: "large".to_owned(), data });
    listing(draft.operator(row), blob)
}

fn listing(draft: Draft, blob: &BlobRef) -> Draft {
    draft.with(|item| item.blobs.push(blob.hash.clone()))
}

fn missing(blob: &BlobRef) -> CommitOutcome {
    CommitOutcome::Missing(vec![blob.hash.clone()])
}

pub async fn a_commit_that_refers_to_a_collected_blob_is_refused(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    play.start("s").await;
    let claimed = play.claims(2).await;
    let blob = play.store("taken").await;
    let kept = play.store("kept").await;
    let draft = listing(naming(Draft::of(&claimed[0]), &blob).task(1), &kept);
    // The collector runs between the put and the commit.
    play.look_for_unused().await;
    play.look_for_unused().await;
    assert!(!play.is_stored(&blob).await);
    play.store("kept").await;
    let before = play.stored(&draft.item.run).await;
    let other = Draft::of(&claimed[1]);
    let outcomes = play.commit(&[&draft, &other]).await;
    assert_eq!(outcomes[0], missing(&blob));
    assert!(outcomes[1].is_done(), "the other item of the batch is its own: {outcomes:?}");
    assert_eq!(play.stored(&draft.item.run).await, before, "a refused commit wrote something");
    // The claim is still current: once the blob is stored again, the same commit is written.
    play.store("taken").await;
    let done = play.done(&draft).await;
    assert_eq!(play.done(&draft).await, done, "a repeated commit gets the original answer");
    play.look_for_unused().await;
    play.look_for_unused().await;
    assert!(play.is_stored(&blob).await, "a row names it");
    assert!(!play.is_stored(&kept).await, "only the commit did");
}

pub async fn a_commit_keeps_its_blobs_from_a_collector_that_is_about_to_take_them(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.start("r").await;
    let blob = play.store("marked").await;
    // The next check would remove it.
    play.look_for_unused().await;
    play.done(&listing(Draft::of(&play.claim().await), &blob)).await;
    play.look_for_unused().await;
    assert!(play.is_stored(&blob).await, "somebody said that it is used");
    play.look_for_unused().await;
    assert!(!play.is_stored(&blob).await, "nobody said so again");
}

pub async fn of_a_commit_and_a_collector_one_wins(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    play.start("r").await;
    let mut claimed = play.claim().await;
    for round in 0..20 {
        let blob = play.store(&format!("contended {round}")).await;
        other.look_for_unused().await;
        let draft = naming(Draft::of(&claimed), &blob).with(|item| item.more = true);
        let drafts = [&draft];
        let (outcomes, ()) = tokio::join!(play.commit(&drafts), other.look_for_unused());
        if !outcomes[0].is_done() {
            assert_eq!(outcomes, [missing(&blob)]);
            play.store(&format!("contended {round}")).await;
            play.done(&draft).await;
        }
        other.look_for_unused().await;
        other.look_for_unused().await;
        assert!(play.is_stored(&blob).await, "round {round}: a row names it");
        claimed = play.claim().await;
    }
}

pub async fn first_commits_and_forks_need_their_blobs_too(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let lost = BlobRef::of(b"nobody stored this");
    let new = new_run("r");
    let created_at = play.now().await;
    let start = message("start", MessageBody::Start(Start { input: new.input.clone() }));
    let begun = Draft::to_begin(&new.row(&play.tenant, created_at), &[start]);
    let fork = naming(begun.clone(), &lost).item;
    let begun = naming(begun, &lost).with(|item| {
        item.created_at = Some(created_at);
        item.new = Some(Box::new(new.clone()));
    });
    assert_eq!(play.commit(&[&begun]).await, [missing(&lost)]);
    assert_eq!(play.find(&new.id).await, None, "a refused commit made a run");
    let refused = play.control(Control::Fork { run: Box::new(new.clone()), item: Box::new(fork) }).await;
    assert!(matches!(refused, Err(WorldError::NotFound(_))), "{refused:?}");
    assert_eq!(play.find(&new.id).await, None, "a refused fork made a run");
    // Blobs of another tenant do not count.
    let stranger = play.tenant("somebody else").await;
    let content = b"nobody stored this";
    stranger.world.put_blob(&stranger.tenant, &lost, content).await.unwrap();
    assert_eq!(play.commit(&[&begun]).await, [missing(&lost)]);
    play.world.put_blob(&play.tenant, &lost, content).await.unwrap();
    play.done(&begun).await;
}

pub async fn a_fused_commit_needs_its_blobs_too(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("r", |draft| draft.awaiting(&["go"]).task(1)).await;
    let (task, row) = play.take_with_run().await;
    let lost = BlobRef::of(b"\"lost\"");
    let draft = naming(Draft::fused(&row, &task), &lost);
    assert_eq!(play.commit(&[&draft]).await, [missing(&lost)]);
    play.store("lost").await;
    play.done(&draft).await;
}
