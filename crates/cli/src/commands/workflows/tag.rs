use clap::Args;
use rhythm_engine::error::EngineError;
use rhythm_engine::tags::MoveTag;
use rhythm_engine::world::{Controlled, TagMove, TagTarget};
use serde_json::json;

use super::versions::{definition, find, short_version};
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
move. Without anything else, the command says where the tag points.")]
pub struct Tag {
    tag: String,
    /// What it shall point at; without a version, the one that is current now
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
            return tell(&session, &self.tag, to.as_ref(), "points at");
        }
        if self.remove {
            client.remove_tag(&self.tag, &self.reason).await?;
            return tell(&session, &self.tag, None, "points at");
        }
        let Some(target) = &self.target else {
            let at = match client.tagged(&self.tag).await {
                Ok((at, _)) => Some(at),
                Err(EngineError::EmptyTag(_)) => None,
                Err(error) => return Err(error.into()),
            };
            return tell(&session, &self.tag, at.as_ref(), "points at");
        };
        let (workflow, version) = match target.split_once('@') {
            Some((workflow, version)) => (workflow, Some(version)),
            None => (target.as_str(), None),
        };
        let definition = definition(&session, workflow, version).await?;
        let to = TagTarget { workflow: workflow.to_owned(), version: definition.version };
        let expected = match &self.expect {
            Some(prefix) => Some(find(&session, workflow, prefix).await?),
            None => None,
        };
        let wish = MoveTag { tag: self.tag.clone(), to: to.clone(), reason: self.reason, expected };
        let words = match client.move_tag(wish).await? {
            Controlled::Done => "points at",
            Controlled::Unchanged => "points already at",
        };
        tell(&session, &self.tag, Some(&to), words)
    }
}

fn tell(session: &Session, tag: &str, to: Option<&TagTarget>, words: &str) -> CliResult {
    session.out.done(format!("tag {tag} {words} {}", place(to)), &json!({ "tag": tag, "to": to }))
}

/// `order sha256:1a2b3c4d5e6f…`
fn place(target: Option<&TagTarget>) -> String {
    match target {
        Some(target) => format!("{} {}", target.workflow, short_version(&target.version)),
        None => "nothing".to_owned(),
    }
}

async fn history(session: &Session, moves: Vec<TagMove>) -> CliResult {
    let now = session.now().await?;
    let words = Words { columns: &["MOVE", "WHEN (UTC)", "", "WHO", "FROM", "TO", "WHY"], none: "" };
    session.out.list(moves, words, |row| {
        vec![
            row.number.to_string(),
            exact(row.at),
            relative(now, row.at),
            row.actor.0.clone(),
            place(row.from.as_ref()),
            place(row.to.as_ref()),
            short(&row.reason, 60),
        ]
    })
}

/// Every tag that points somewhere.
pub async fn list(session: &Session) -> CliResult {
    let now = session.now().await?;
    let words = Words {
        columns: &["TAG", "WORKFLOW", "VERSION", "MOVED", "WHO", "WHY"],
        none: "no tags; `rhythm workflows tag TAG NAME` makes one",
    };
    session.out.list(session.client.tags().await?, words, |row| {
        let to = row.to.as_ref();
        vec![
            row.tag.clone(),
            to.map(|to| to.workflow.clone()).unwrap_or_default(),
            to.map(|to| short_version(&to.version)).unwrap_or_default(),
            relative(now, row.at),
            row.actor.0.clone(),
            short(&row.reason, 60),
        ]
    })
}
