use std::collections::BTreeMap;

use clap::Args;
use rhythm_engine::error::EngineError;
use rhythm_engine::tags::MoveTag;
use rhythm_engine::world::{Controlled, NumberedVersion, TagMove, TagTarget};
use serde_json::json;

use super::versions::{definition, numbered, short_version};
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::{exact, relative};

/// Point a tag at a version of a workflow, move it, roll it back, or show where it has been
#[derive(Debug, Args)]
#[command(after_help = "\
A tag is a name people move from version to version: `rhythm start --tag live` starts whatever version `live` points at. \
Every move is remembered with who, when and why. --rollback moves it to where it was before the last move, and is itself a \
move. Moves are numbered: live@v3 names the third one, wherever a version can be named. Without anything else, the command says \
where the tag points.")]
pub struct Tag {
    tag: String,
    /// What it shall point at: a version by number, hash or tag; without one, the one that is current now
    #[arg(value_name = "NAME[@VERSION]", conflicts_with_all = ["history", "rollback", "remove"])]
    target: Option<String>,
    /// Why, for its history
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// Only move it if it points at this version now
    #[arg(long, value_name = "VERSION", requires = "target")]
    expect: Option<String>,
    /// List its moves, the last one first
    #[arg(long, conflicts_with_all = ["rollback", "remove"])]
    history: bool,
    /// Move it to where it pointed before its last move
    #[arg(long, conflicts_with = "remove")]
    rollback: bool,
    /// Let it point at nothing; its history stays
    #[arg(long)]
    remove: bool,
}

impl Tag {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let client = &session.client;
        if self.history {
            return history(&session, client.tag_history(&self.tag).await?).await;
        }
        if self.rollback {
            let to = client.rollback_tag(&self.tag, &self.reason).await?;
            return tell(&session, &self.tag, to.as_ref(), "points at").await;
        }
        if self.remove {
            client.remove_tag(&self.tag, &self.reason).await?;
            return tell(&session, &self.tag, None, "points at").await;
        }
        let Some(target) = &self.target else {
            let at = match client.tagged(&self.tag).await {
                Ok((at, _)) => Some(at),
                Err(EngineError::EmptyTag(_)) => None,
                Err(error) => return Err(error.into()),
            };
            return tell(&session, &self.tag, at.as_ref(), "points at").await;
        };
        let definition = definition(&session, target, None).await?;
        let to = TagTarget { workflow: definition.workflow, version: definition.version };
        let expected = match &self.expect {
            Some(named) => Some(client.select_version(&to.workflow, named).await?),
            None => None,
        };
        let wish = MoveTag { tag: self.tag.clone(), to: to.clone(), reason: self.reason, expected };
        let words = match client.move_tag(wish).await? {
            Controlled::Done => "points at",
            Controlled::Unchanged => "points already at",
        };
        tell(&session, &self.tag, Some(&to), words).await
    }
}

async fn tell(session: &Session, tag: &str, to: Option<&TagTarget>, words: &str) -> CliResult {
    let mut places = Places::default();
    places.learn(session, to).await?;
    let number = to.and_then(|to| places.number(to));
    let shown = json!({ "tag": tag, "to": to, "number": number });
    session.out.done(format!("tag {tag} {words} {}", places.shown(to)), &shown)
}

/// Numbers of the versions that tags point at, by workflow.
#[derive(Default)]
struct Places(BTreeMap<String, Vec<NumberedVersion>>);

impl Places {
    async fn learn(&mut self, session: &Session, target: Option<&TagTarget>) -> CliResult {
        let Some(target) = target.filter(|target| !self.0.contains_key(&target.workflow)) else {
            return Ok(());
        };
        let world = session.rhythm.world();
        let versions = world.version_numbers(session.client.tenant(), &target.workflow).await?;
        self.0.insert(target.workflow.clone(), versions);
        Ok(())
    }

    fn number(&self, target: &TagTarget) -> Option<u64> {
        let versions = self.0.get(&target.workflow)?;
        versions.iter().find(|row| row.version == target.version).map(|row| row.number)
    }

    /// `order@3 sha256:1a2b3c4d5e6f…`
    fn shown(&self, target: Option<&TagTarget>) -> String {
        let Some(target) = target else { return "nothing".to_owned() };
        let name = numbered(&target.workflow, self.number(target), &target.version);
        match self.number(target) {
            Some(_) => format!("{name} {}", short_version(&target.version)),
            None => name,
        }
    }
}

async fn history(session: &Session, moves: Vec<TagMove>) -> CliResult {
    let now = session.now().await?;
    let mut places = Places::default();
    for row in &moves {
        places.learn(session, row.from.as_ref()).await?;
        places.learn(session, row.to.as_ref()).await?;
    }
    let words = Words { columns: &["MOVE", "WHEN (UTC)", "", "WHO", "FROM", "TO", "WHY"], none: "" };
    session.out.list(moves, words, |row| {
        vec![
            format!("{}@v{}", row.tag, row.number),
            exact(row.at),
            relative(now, row.at),
            row.actor.0.clone(),
            places.shown(row.from.as_ref()),
            places.shown(row.to.as_ref()),
            short(&row.reason, 60),
        ]
    })
}

/// Prints all tags that point at a version.
pub async fn list(session: &Session) -> CliResult {
    let now = session.now().await?;
    let words = Words {
        columns: &["TAG", "MOVE", "WORKFLOW", "VERSION", "MOVED", "WHO", "WHY"],
        none: "no tags; `rhythm workflows tag TAG NAME` makes one",
    };
    let tags = session.client.tags().await?;
    let mut places = Places::default();
    for row in &tags {
        places.learn(session, row.to.as_ref()).await?;
    }
    session.out.list(tags, words, |row| {
        let to = row.to.as_ref();
        vec![
            row.tag.clone(),
            format!("{}@v{}", row.tag, row.number),
            to.map(|to| numbered(&to.workflow, places.number(to), &to.version)).unwrap_or_default(),
            to.map(|to| short_version(&to.version)).unwrap_or_default(),
            relative(now, row.at),
            row.actor.0.clone(),
            short(&row.reason, 60),
        ]
    })
}
