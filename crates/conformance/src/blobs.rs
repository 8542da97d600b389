//! Immutable content, addressed by its hash.

use rhythm_core::{BlobRef, Payload};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn a_blob_comes_back_as_it_was(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    // Text that compresses well, bytes that do not, and sizes at the limits.
    let text = "{\"rhythm\":\"♩\"}".repeat(70_000).into_bytes();
    let mut state = 0x9e37_79b9_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(1_100_000)
    .collect();
    for content in [text, noise, vec![], vec![0]] {
        let blob = BlobRef::of(&content);
        play.world.put_blob(&play.tenant, &blob, &content).await.unwrap();
        assert_eq!(&other.world.read_blob(&play.tenant, &blob).await.unwrap()[..], &content[..]);
        let by_hash = BlobRef { bytes: BlobRef::UNKNOWN_SIZE, ..blob };
        assert_eq!(&other.world.read_blob(&play.tenant, &by_hash).await.unwrap()[..], &content[..]);
    }
}

pub async fn storing_a_blob_twice_is_storing_it_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let content = b"[1,2,3]";
    let blob = BlobRef::of(content);
    for _ in 0..2 {
        let (one, two) = tokio::join!(
            play.world.put_blob(&play.tenant, &blob, content),
            other.world.put_blob(&play.tenant, &blob, content),
        );
        assert_eq!((one, two), (Ok(()), Ok(())));
    }
    assert_eq!(&play.world.read_blob(&play.tenant, &blob).await.unwrap()[..], content);
}

pub async fn an_unknown_blob_is_not_found(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let answer = play.world.read_blob(&play.tenant, &BlobRef::of(b"never stored")).await;
    assert!(matches!(answer, Err(WorldError::NotFound(_))), "{answer:?}");
}

/// The world keeps the reference; it never inlines the content.
pub async fn a_large_value_travels_by_reference(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let content = format!("\"{}\"", "x".repeat(1 << 20));
    let blob = BlobRef::of(content.as_bytes());
    play.world.put_blob(&play.tenant, &blob, content.as_bytes()).await.unwrap();
    let input = Payload::Blob(blob.clone());
    let run = play.start_as(NewRun { input: input.clone(), ..new_run("r") }).await;
    assert_eq!(play.picture(&run).await.input, input);
    let same = NewRun { input: input.clone(), ..new_run("r") };
    let other = NewRun { input: Payload::Blob(BlobRef::of(b"other")), ..new_run("r") };
    assert_eq!(play.create(vec![same, other]).await, [Creation::Exists, Creation::Conflict]);
    let draft = Draft::of(&play.claim().await).task_as(1, |task| NewTask { input: input.clone(), ..task });
    play.done(&draft).await;
    assert_eq!(play.take().await.input, input);
}
