//! Tags, numbers and patches of workflow versions: every move of a tag is recorded, and of two concurrent
//! moves one wins.

use rhythm_core::{Actor, Version};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

fn version(source: &str) -> Version {
    Version::of(source.as_bytes())
}

fn at(source: &str) -> TagTarget {
    TagTarget { workflow: "order".to_owned(), version: version(source) }
}

fn moving(tag: &str, to: Option<TagTarget>, expected: u64) -> Control {
    let reason = match &to {
        Some(to) => format!("to {}", to.version),
        None => "enough".to_owned(),
    };
    Control::MoveTag(NewTagMove { tag: tag.to_owned(), to, reason, expected })
}

fn patching(base: &str, source: &str, tag: Option<(&str, u64)>) -> Control {
    Control::PatchWorkflow(Box::new(NewWorkflowPatch {
        definition: definition("order", source),
        base: version(base),
        operations: json(&format!(r#"[{{"op":"add","path":"/x","value":"{source}"}}]"#)),
        inverse: json(r#"[{"op":"remove","path":"/x"}]"#),
        reason: format!("for {source}"),
        tag: tag.map(|(tag, expected)| (tag.to_owned(), expected)),
    }))
}

impl Play<'_> {
    async fn register(&self, sources: &[&str]) {
        for source in sources {
            let (tenant, definitions) = (self.tenant.clone(), vec![definition("order", source)]);
            self.world.register(Register { tenant, definitions }).await.unwrap();
        }
    }

    /// Returns the number and source of each version, by number.
    async fn numbered(&self, sources: &[&str]) -> Vec<(u64, String)> {
        let rows = self.world.version_numbers(&self.tenant, "order").await.unwrap();
        let source = |row: &NumberedVersion| sources.iter().find(|source| version(source) == row.version);
        rows.iter().map(|row| (row.number, (*source(row).expect("one of these")).to_owned())).collect()
    }

    async fn current(&self) -> Version {
        let (tenant, workflow) = (self.tenant.clone(), "order".to_owned());
        let query = DefinitionQuery { tenant, workflow, version: None };
        self.world.definition(query).await.unwrap().expect("it is registered").version
    }

    async fn moves(&self, tag: &str) -> Vec<TagMove> {
        self.world.tag_history(&self.tenant, tag, 100).await.unwrap()
    }

    async fn patches(&self) -> Vec<WorkflowPatch> {
        self.world.workflow_patches(&self.tenant, "order").await.unwrap()
    }
}

pub async fn a_version_is_stored_beside_the_current_one(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let store = |source: &str| Control::StoreVersion(Box::new(definition("order", source)));
    play.order(store("first")).await;
    let (tenant, workflow) = (play.tenant.clone(), "order".to_owned());
    let query = DefinitionQuery { tenant, workflow, version: None };
    assert_eq!(play.world.definition(query.clone()).await.unwrap(), None, "nothing is current");
    let named = DefinitionQuery { version: Some(version("first")), ..query.clone() };
    assert_eq!(play.world.definition(named).await.unwrap().unwrap().source, "first");
    assert!(play.world.workflows(&play.tenant).await.unwrap().is_empty());
    let versions = play.world.versions(&play.tenant, "order").await.unwrap();
    assert_eq!(versions.iter().map(|row| row.current).collect::<Vec<_>>(), [false]);
    assert_eq!(play.control(store("first")).await, Ok(Controlled::Unchanged));
    play.register(&["second"]).await;
    play.order(store("third")).await;
    assert_eq!(play.current().await, version("second"));
    assert_eq!(play.control(store("second")).await, Ok(Controlled::Unchanged));
    assert_eq!(play.current().await, version("second"));
    let rows = play.world.workflows(&play.tenant).await.unwrap();
    assert_eq!((rows.len(), rows[0].versions), (1, 3));
    play.register(&["first"]).await;
    assert_eq!(play.current().await, version("first"), "one that was stored beside can become current");
}

fn is_conflict<T: std::fmt::Debug>(answer: &WorldResult<T>) -> bool {
    matches!(answer, Err(WorldError::Conflict(_)))
}

pub async fn versions_are_numbered_in_the_order_of_their_registration(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    assert_eq!(play.world.version_numbers(&play.tenant, "order").await.unwrap(), []);
    let sources = ["zulu", "alpha", "mike", "patched", "tagged", "last"];
    // A source that is registered again keeps its number and takes no new one.
    play.register(&["zulu", "zulu", "alpha", "zulu", "mike", "alpha"]).await;
    play.order(patching("alpha", "patched", None)).await;
    play.order(moving("live", Some(at("mike")), 0)).await;
    // A refused patch takes no number.
    assert!(is_conflict(&play.control(patching("mike", "never", Some(("live", 7)))).await));
    play.order(patching("mike", "tagged", Some(("live", 1)))).await;
    play.register(&["last"]).await;
    let expected: Vec<(u64, String)> = (1..).zip(sources.map(str::to_owned)).collect();
    assert_eq!(play.numbered(&sources).await, expected);
    let rows = play.world.versions(&play.tenant, "order").await.unwrap();
    let listed: Vec<(u64, Version)> = rows.into_iter().map(|row| (row.number, row.version)).collect();
    let newest_first = expected.iter().rev().map(|(number, source)| (*number, version(source)));
    assert_eq!(listed, newest_first.collect::<Vec<_>>());
    let stranger = play.tenant("somebody else").await;
    stranger.register(&["mike"]).await;
    assert_eq!(stranger.numbered(&sources).await, [(1, "mike".to_owned())]);
}

pub async fn of_versions_registered_at_once_each_has_a_number(stage: &dyn Stage) {
    let (play, other) = (Play::on(stage).await, stage.handle().await);
    for round in 0..10_u64 {
        let (here, there, both) =
            (format!("here {round}"), format!("there {round}"), format!("both {round}"));
        let definitions = vec![definition("order", &there), definition("order", &both)];
        let registered = other.register(Register { tenant: play.tenant.clone(), definitions });
        let sources = [here.as_str(), both.as_str()];
        let ((), there) = tokio::join!(play.register(&sources), registered);
        there.unwrap();
        let rows = play.world.version_numbers(&play.tenant, "order").await.unwrap();
        let numbers: Vec<u64> = rows.iter().map(|row| row.number).collect();
        assert_eq!(numbers, (1..=3 * (round + 1)).collect::<Vec<_>>());
    }
}

pub async fn a_tag_moves_and_remembers_every_move(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.register(&["one", "two"]).await;
    assert_eq!(play.world.tags(&play.tenant).await.unwrap(), []);
    play.order(moving("live", Some(at("one")), 0)).await;
    stage.clock().advance(secs(1));
    let later = play.now().await;
    play.order(moving("live", Some(at("two")), 1)).await;
    play.order(moving("early", Some(at("one")), 0)).await;
    let moves = play.moves("live").await;
    let last = TagMove {
        tag: "live".to_owned(),
        number: 2,
        at: later,
        actor: Actor("user:ann".to_owned()),
        reason: format!("to {}", version("two")),
        from: Some(at("one")),
        to: Some(at("two")),
    };
    assert_eq!((moves.len(), &moves[0]), (2, &last));
    assert_eq!((moves[1].number, &moves[1].from, &moves[1].to), (1, &None, &Some(at("one"))));
    let tags = play.world.tags(&play.tenant).await.unwrap();
    assert_eq!((tags.len(), tags[0].tag.as_str(), &tags[1]), (2, "early", &last));
    assert_eq!(play.world.tag_history(&play.tenant, "live", 1).await.unwrap(), [last]);
    let stranger = play.tenant("somebody else").await;
    assert_eq!(stranger.moves("live").await, []);
    assert_eq!(stranger.world.tags(&stranger.tenant).await.unwrap(), []);
}

pub async fn a_repeated_move_of_a_tag_is_one(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.register(&["one", "two"]).await;
    play.order(moving("live", Some(at("one")), 0)).await;
    assert_eq!(play.control(moving("live", Some(at("one")), 0)).await, Ok(Controlled::Unchanged));
    let other = play.control(moving("live", Some(at("two")), 0)).await;
    assert!(is_conflict(&other), "{other:?}");
    assert_eq!(play.moves("live").await.len(), 1);
}

pub async fn a_tag_points_at_a_version_that_is_there(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.register(&["one"]).await;
    let answer = play.control(moving("live", Some(at("never")), 0)).await;
    assert!(matches!(answer, Err(WorldError::NotFound(_))), "{answer:?}");
    assert_eq!(play.moves("live").await, []);
}

pub async fn a_removed_tag_keeps_its_history(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.register(&["one"]).await;
    play.order(moving("live", Some(at("one")), 0)).await;
    play.order(moving("live", None, 1)).await;
    assert_eq!(play.world.tags(&play.tenant).await.unwrap(), []);
    let moves = play.moves("live").await;
    assert_eq!((moves.len(), &moves[0].from, &moves[0].to), (2, &Some(at("one")), &None));
    let anew = play.control(moving("live", Some(at("one")), 0)).await;
    assert!(is_conflict(&anew), "a removed tag is not a new one: {anew:?}");
    play.order(moving("live", Some(at("one")), 2)).await;
    assert_eq!(play.moves("live").await.len(), 3);
}

pub async fn of_two_moves_of_a_tag_one_wins(stage: &dyn Stage) {
    let (play, other) = (Play::on(stage).await, stage.handle().await);
    play.register(&["one", "two"]).await;
    for round in 0..20 {
        let (here, there) = (moving("live", Some(at("one")), round), moving("live", Some(at("two")), round));
        let actor = Actor("user:bob".to_owned());
        let there = ControlRequest { tenant: play.tenant.clone(), actor, control: there };
        let (here, there) = tokio::join!(play.control(here), other.control(there));
        let won = [&here, &there].iter().filter(|answer| ***answer == Ok(Controlled::Done)).count();
        assert!(won == 1 && (is_conflict(&here) || is_conflict(&there)), "{here:?} {there:?}");
        let last = play.moves("live").await.remove(0);
        let winner = if here.is_ok() { "user:ann" } else { "user:bob" };
        assert_eq!((last.number, last.actor.0.as_str()), (round + 1, winner));
    }
}

pub async fn a_patched_version_is_current_and_kept_with_its_patch(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.register(&["one"]).await;
    let now = play.now().await;
    play.order(patching("one", "two", None)).await;
    play.order(patching("two", "one", None)).await;
    assert_eq!(play.current().await, version("one"), "what was there before is current again");
    let patches = play.patches().await;
    let first = WorkflowPatch {
        number: 1,
        at: now,
        actor: Actor("user:ann".to_owned()),
        reason: "for two".to_owned(),
        tag: None,
        base: version("one"),
        version: version("two"),
        operations: json(r#"[{"op":"add","path":"/x","value":"two"}]"#),
        inverse: json(r#"[{"op":"remove","path":"/x"}]"#),
    };
    assert_eq!((patches.len(), &patches[0], patches[1].number), (2, &first, 2));
    assert_eq!(play.world.versions(&play.tenant, "order").await.unwrap().len(), 2);
    assert_eq!(play.world.workflow_patches(&play.tenant, "other").await.unwrap(), []);
    let stranger = play.tenant("somebody else").await;
    assert_eq!(stranger.patches().await, []);
}

pub async fn a_patch_of_a_tagged_version_leaves_the_current_one(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.register(&["one", "two"]).await;
    play.order(moving("live", Some(at("one")), 0)).await;
    play.order(patching("one", "one and more", Some(("live", 1)))).await;
    assert_eq!(play.current().await, version("two"));
    assert_eq!(play.moves("live").await[0].to, Some(at("one and more")));
    assert_eq!(play.patches().await[0].tag.as_deref(), Some("live"));
    // Refused completely: neither the version nor the patch is kept.
    let stale = play.control(patching("one", "never", Some(("live", 1)))).await;
    assert!(is_conflict(&stale), "{stale:?}");
    let missing = DefinitionQuery {
        tenant: play.tenant.clone(),
        workflow: "order".to_owned(),
        version: Some(version("never")),
    };
    assert_eq!(play.world.definition(missing).await.unwrap(), None);
    assert_eq!((play.patches().await.len(), play.moves("live").await.len()), (1, 2));
    // A version that never was current can become current.
    play.register(&["one and more"]).await;
    assert_eq!(play.current().await, version("one and more"));
}

pub async fn a_repeated_patch_of_a_workflow_is_one(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.register(&["one"]).await;
    play.order(patching("one", "two", None)).await;
    assert_eq!(play.control(patching("one", "two", None)).await, Ok(Controlled::Unchanged));
    play.order(moving("live", Some(at("two")), 0)).await;
    play.order(patching("two", "three", Some(("live", 1)))).await;
    assert_eq!(play.control(patching("two", "three", Some(("live", 1)))).await, Ok(Controlled::Unchanged));
    assert_eq!((play.patches().await.len(), play.moves("live").await.len()), (2, 2));
}

/// Races two moves, repeatedly; returns how often each side won.
async fn race(play: &Play<'_>, other: &dyn World, tag: Option<&str>) {
    let mut base = "one".to_owned();
    for round in 0..20 {
        let sides = [format!("{base} a{round}"), format!("{base} b{round}")];
        let tagged = tag.map(|tag| (tag, round + 1));
        let there = ControlRequest {
            tenant: play.tenant.clone(),
            actor: Actor("user:bob".to_owned()),
            control: patching(&base, &sides[1], tagged),
        };
        let (here, there) =
            tokio::join!(play.control(patching(&base, &sides[0], tagged)), other.control(there));
        let won = match (&here, &there) {
            (Ok(Controlled::Done), Err(WorldError::Conflict(_))) => 0,
            (Err(WorldError::Conflict(_)), Ok(Controlled::Done)) => 1,
            both => panic!("not one of two: {both:?}"),
        };
        base = sides[won].clone();
        match tag {
            None => assert_eq!(play.current().await, version(&base)),
            Some(tag) => assert_eq!(play.moves(tag).await[0].to, Some(at(&base))),
        }
        let patches = play.patches().await;
        let last = patches.last().unwrap();
        assert_eq!((patches.len() as u64, &last.version), (round + 1, &version(&base)));
    }
}

pub async fn of_two_patches_of_one_version_one_wins(stage: &dyn Stage) {
    let (play, other) = (Play::on(stage).await, stage.handle().await);
    play.register(&["one"]).await;
    race(&play, &*other, None).await;
}

pub async fn of_two_patches_of_one_tag_one_wins(stage: &dyn Stage) {
    let (play, other) = (Play::on(stage).await, stage.handle().await);
    play.register(&["one"]).await;
    play.order(moving("live", Some(at("one")), 0)).await;
    race(&play, &*other, Some("live")).await;
}

pub async fn what_was_registered_meanwhile_is_not_overwritten(stage: &dyn Stage) {
    let (play, other) = (Play::on(stage).await, stage.handle().await);
    play.register(&["zero", "one"]).await;
    let late = play.control(patching("zero", "late", None)).await;
    assert!(is_conflict(&late), "{late:?}");
    assert_eq!(play.current().await, version("one"));
    let mut base = "one".to_owned();
    for round in 0..20 {
        let (patched, plain) = (format!("patched {round}"), format!("plain {round}"));
        let definitions = vec![definition("order", &plain)];
        let registered = other.register(Register { tenant: play.tenant.clone(), definitions });
        let (here, there) = tokio::join!(play.control(patching(&base, &patched, None)), registered);
        there.unwrap();
        // Registering checks nothing: its version is current whether it came first or second.
        assert!(here == Ok(Controlled::Done) || is_conflict(&here), "{here:?}");
        assert_eq!(play.current().await, version(&plain), "{here:?}");
        base = plain;
    }
}
