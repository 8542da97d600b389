//! Artifacts: blobs that are kept until they are removed explicitly.

use rhythm_core::{Actor, BlobRef, Millis};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

impl Play<'_> {
    async fn content(&self, content: &str) -> BlobRef {
        let blob = BlobRef::of(content.as_bytes());
        self.world.put_blob(&self.tenant, &blob, content.as_bytes()).await.unwrap();
        blob
    }

    async fn artifacts(&self) -> Vec<ArtifactRow> {
        self.world.artifacts(&self.tenant).await.unwrap()
    }
}

fn keeping(blob: &BlobRef, name: &str) -> Control {
    Control::PutArtifact(NewArtifact { blob: blob.clone(), name: name.to_owned() })
}

pub async fn an_artifact_is_kept_until_it_is_removed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    assert_eq!(play.artifacts().await, []);
    let (first, second) = (play.content("{}").await, play.content("'; DROP").await);
    play.order(keeping(&first, "order.schema.json")).await;
    stage.clock().advance(secs(1));
    let later = play.now().await;
    play.order(keeping(&second, "judge.py")).await;
    // An existing artifact keeps its name.
    assert_eq!(play.control(keeping(&first, "another")).await, Ok(Controlled::Unchanged));
    let rows = play.artifacts().await;
    let newest = ArtifactRow {
        hash: second.hash.clone(),
        name: "judge.py".to_owned(),
        bytes: 7,
        at: later,
        actor: Actor("user:ann".to_owned()),
    };
    assert_eq!((rows.len(), &rows[0], rows[1].name.as_str()), (2, &newest, "order.schema.json"));
    let remove = || Control::RemoveArtifact { hash: first.hash.clone() };
    play.order(remove()).await;
    assert_eq!(play.artifacts().await, [newest]);
    assert!(matches!(play.control(remove()).await, Err(WorldError::NotFound(_))));
}

pub async fn a_kept_blob_is_not_collected(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (kept, named) = (play.content("kept").await, play.content("named").await);
    play.order(keeping(&kept, "kept")).await;
    play.order(keeping(&named, "named")).await;
    let definitions = vec![definition("order", &format!("config_ref: {}", named.hash))];
    play.world.register(Register { tenant: play.tenant.clone(), definitions }).await.unwrap();
    let look = Upkeep::CollectBlobs { grace: Millis::ZERO, limit: 100 };
    let is_there = async |blob: &BlobRef| play.world.read_blob(&play.tenant, blob).await.is_ok();
    for _ in 0..3 {
        play.upkeep(look.clone()).await;
    }
    assert!(is_there(&kept).await && is_there(&named).await);
    // After removal the content stays only where something refers to it.
    for blob in [&kept, &named] {
        play.order(Control::RemoveArtifact { hash: blob.hash.clone() }).await;
    }
    for _ in 0..3 {
        play.upkeep(look.clone()).await;
    }
    assert_eq!((is_there(&kept).await, is_there(&named).await), (false, true));
}

pub async fn what_is_not_there_cannot_be_kept(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let answer = play.control(keeping(&BlobRef::of(b"never stored"), "x")).await;
    assert!(matches!(answer, Err(WorldError::NotFound(_))), "{answer:?}");
    assert_eq!(play.artifacts().await, []);
    // The last pass marked it and the next would remove it: keeping it now is in time.
    let marked = play.content("marked").await;
    let look = Upkeep::CollectBlobs { grace: Millis::ZERO, limit: 100 };
    play.upkeep(look.clone()).await;
    play.order(keeping(&marked, "marked")).await;
    play.upkeep(look).await;
    assert!(play.world.read_blob(&play.tenant, &marked).await.is_ok());
}

pub async fn an_artifact_belongs_to_its_tenant(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (acme, stranger) = (play.tenant("acme").await, play.tenant("stranger").await);
    let blob = acme.content("theirs").await;
    acme.order(keeping(&blob, "theirs")).await;
    assert_eq!(stranger.artifacts().await, []);
    for control in [keeping(&blob, "mine"), Control::RemoveArtifact { hash: blob.hash.clone() }] {
        assert!(matches!(stranger.control(control).await, Err(WorldError::NotFound(_))));
    }
    assert_eq!(acme.artifacts().await.len(), 1);
}
