//! Giving live and failed runs another version of their workflow, to repair a bug in it. The place in the new program is
//! found here, before anything is written; the change itself is one recorded message, committed with the new snapshot.

mod beside;

use rhythm_core::fold::{Advance, Advanced, RunState, change_version};
use rhythm_core::lineage::ByVersion;
use rhythm_core::message::{Message, MessageBody, MovedPosition, VersionChanged};
use rhythm_core::program::RunFacts;
use rhythm_core::{
    Blobs, BlockedCode, CommitId, EventData, MessageId, Program, ProgramError, RunId, Status, Version,
};
use rhythm_flow::Flow;
use rhythm_flow::change::{Beginning, Misfit, fit};
use serde::Serialize;

use crate::children::{new_child, pin};
use crate::client::{Client, RetryRun};
use crate::error::EngineError;
use crate::origins::Origins;
use crate::plan::{Plan, plan_change, refuse_child};
use crate::programs::{Lookup, Programs};
use crate::world::*;
use beside::side_by_side;

/// Writes that lose a race are tried again so often: each time somebody else has moved the run meanwhile.
const TRIES: usize = 20;

/// Another version for a run.
#[derive(Clone, Debug)]
pub struct ChangeVersion {
    pub to: Version,
    /// The line of the new source that waits for what the run waits for; looked for when absent.
    pub line: Option<u32>,
    pub reason: String,
    /// Makes a repeated call harmless: one id is one change.
    pub id: Option<String>,
}

/// What a change does, or did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    pub run: RunId,
    pub from: Version,
    pub to: Version,
    /// Lines of the two sources where the run stands. Absent for graphs, and where nothing has happened yet.
    pub from_line: Option<u32>,
    pub to_line: Option<u32>,
    /// The run is failed, and opened with the change.
    pub reopens: bool,
}

/// A run and the two programs.
struct Switch<'a> {
    client: &'a Client,
    row: &'a RunRow,
    facts: RunFacts,
    programs: (&'a dyn Program, &'a dyn Program),
}

/// What would become of a run with another version. Nothing is written.
pub async fn preview_change(
    client: &Client,
    programs: &Programs,
    run: &RunId,
    wish: &ChangeVersion,
) -> Result<Change, EngineError> {
    let picture = client.picture(run).await?;
    let (change, _) = planned(client, programs, &picture, wish, "preview").await?;
    Ok(change)
}

/// Gives a live or failed run another version. A failed one is opened with it, as `retry_run` does.
pub async fn change_version_of(
    client: &Client,
    programs: &Programs,
    run: &RunId,
    wish: &ChangeVersion,
) -> Result<Change, EngineError> {
    let id = wish.id.clone().unwrap_or_else(|| client.fresh_id());
    let mut tried = 0;
    loop {
        let picture = client.picture(run).await?;
        if let Some(done) = done_before(client, &picture, &id).await? {
            return Ok(done);
        }
        let (change, plan) = planned(client, programs, &picture, wish, &id).await?;
        let again = RetryRun { reason: wish.reason.clone(), deadline: None };
        let reopen = match change.reopens {
            true => Some(client.opening_with_child(&picture, again).await?),
            false => None,
        };
        let item = prepare(client, &picture.row, plan).await?;
        let (run, version) = (run.clone(), wish.to.clone());
        let control = Control::ChangeVersion { run, version, item: Box::new(item), reopen };
        tried += 1;
        match client.control(control).await {
            Ok(_) => {
                let blocked = client.picture(&change.run).await?.summary.blocked;
                if blocked.is_some_and(|blocked| blocked.code == BlockedCode::DeadLetter) {
                    client.retry_run(&change.run, &wish.reason).await?;
                }
                return Ok(change);
            }
            // A run that moves on meanwhile is looked at again.
            Err(EngineError::World(WorldError::Conflict(_))) if tried < TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

/// The change this id made earlier.
async fn done_before(client: &Client, picture: &Picture, id: &str) -> Result<Option<Change>, EngineError> {
    let run = &picture.summary.id;
    let message = MessageId::new(format!("version:{id}"));
    let history = client.history(run).await?;
    let found = history.into_iter().find(|row| row.message.as_ref() == Some(&message));
    Ok(found.and_then(|row| match row.data {
        EventData::VersionChanged(changed) => Some(told(run, &changed, false)),
        _ => None,
    }))
}

async fn planned(
    client: &Client,
    programs: &Programs,
    picture: &Picture,
    wish: &ChangeVersion,
    id: &str,
) -> Result<(Change, Plan), EngineError> {
    let row = &picture.row;
    let run = row.id.to_string();
    let reopens = match picture.summary.status {
        Status::Completed | Status::Cancelled => return Err(EngineError::Ended(run)),
        Status::Failed if picture.is_compensated() => return Err(EngineError::Compensated(run)),
        status => status == Status::Failed,
    };
    if row.version == wish.to {
        return Err(EngineError::Invalid(format!("run {run} has version {} already", wish.to)));
    }
    if row.state.snapshot.is_none() && !reopens {
        let help = "cancel it, and start it with that version";
        return Err(EngineError::Invalid(format!("run {run} has not begun; {help}")));
    }
    let loaded = load(client, programs, &row.workflow, [&row.version, &wish.to]).await?;
    let facts = RunFacts { version: wish.to.clone(), ..row.facts() };
    let (before, after) = (&*loaded[&row.version], &*loaded[&wish.to]);
    let switch = Switch { client, row, facts, programs: (before, after) };
    let changed = switch.changed(&row.state, &row.version, wish, picture).await?;
    let change = told(&row.id, &changed, reopens);
    let (message, advanced) = switch.step(&row.state, changed, id).await?;
    let commit = CommitId::new(format!("version:{id}"));
    let plan = plan_change(after, row, commit, message, advanced).map_err(crate::patches::unreadable)?;
    Ok((change, plan))
}

fn told(run: &RunId, changed: &VersionChanged, reopens: bool) -> Change {
    let VersionChanged { from, to, position, .. } = changed;
    Change {
        run: run.clone(),
        from: from.clone(),
        to: to.clone(),
        from_line: position.as_ref().map(|moved| moved.from_line),
        to_line: position.as_ref().map(|moved| moved.to_line),
        reopens,
    }
}

/// Programs of one workflow by version; each must be there.
pub async fn load<'a>(
    client: &Client,
    programs: &Programs,
    workflow: &str,
    versions: impl IntoIterator<Item = &'a Version>,
) -> Result<ByVersion, EngineError> {
    let mut loaded = ByVersion::new();
    for version in versions {
        let found = programs.load(&**client.world(), client.tenant(), workflow, version).await?;
        let program = match found {
            Lookup::Found(program) => program,
            Lookup::Missing => {
                let (workflow, version) = (workflow.to_owned(), version.to_string());
                return Err(EngineError::UnknownVersion { workflow, version });
            }
            Lookup::Unreadable(error) => {
                return Err(EngineError::Invalid(format!(
                    "version {version} of {workflow} cannot be read here: {error}"
                )));
            }
        };
        loaded.insert(version.clone(), program);
    }
    Ok(loaded)
}

/// A fork's past goes on with another version: the message, and what it did.
pub(crate) async fn change_past(
    client: &Client,
    (picture, facts): (&Picture, &RunFacts),
    state: &RunState,
    (from, wish): (&Version, &ChangeVersion),
    loaded: &ByVersion,
) -> Result<Advanced, EngineError> {
    let facts = RunFacts { version: wish.to.clone(), ..facts.clone() };
    let (before, after) = (&*loaded[from], &*loaded[&wish.to]);
    let switch = Switch { client, row: &picture.row, facts, programs: (before, after) };
    let changed = switch.changed(state, from, wish, picture).await?;
    Ok(switch.step(state, changed, "fork").await?.1)
}

impl Switch<'_> {
    /// The message, with the place in the new program.
    async fn changed(
        &self,
        state: &RunState,
        from: &Version,
        wish: &ChangeVersion,
        picture: &Picture,
    ) -> Result<VersionChanged, EngineError> {
        let (old, new) = (self.programs.0.as_any(), self.programs.1.as_any());
        let position = match (old.downcast_ref(), new.downcast_ref(), &state.snapshot) {
            (Some(old), Some(new), Some(_)) => {
                Some(self.place(state, (old, new), (from, wish), picture).await?)
            }
            _ => None,
        };
        let (to, reason) = (wish.to.clone(), wish.reason.clone());
        Ok(VersionChanged { from: from.clone(), to, reason, position })
    }

    async fn place(
        &self,
        state: &RunState,
        flows: (&Flow, &Flow),
        (from, wish): (&Version, &ChangeVersion),
        picture: &Picture,
    ) -> Result<MovedPosition, EngineError> {
        let Some(snapshot) = &state.snapshot else { return Ok(MovedPosition::default()) };
        let started_at = self.started_at().await?;
        let beginning = Beginning { input: picture.input.clone(), started_at };
        let found = fit(flows, snapshot, beginning, wish.line).map_err(crate::patches::unreadable)?;
        match found {
            Ok(moved) => Ok(moved),
            Err(misfit) => Err(self.refusal(from, wish, misfit).await?),
        }
    }

    async fn started_at(&self) -> Result<rhythm_core::Timestamp, EngineError> {
        let (tenant, run) = (self.client.tenant().clone(), self.row.id.clone());
        let first = HistoryQuery { tenant, run, after: 0, limit: 10 };
        let rows = self.client.world().history(first).await?;
        let starts = |row: &&rhythm_core::Event| matches!(row.data, EventData::WorkflowStarted(_));
        Ok(rows.iter().find(starts).map_or(self.row.created_at, |row| row.at))
    }

    async fn refusal(
        &self,
        from: &Version,
        wish: &ChangeVersion,
        misfit: Misfit,
    ) -> Result<EngineError, EngineError> {
        let old = (self.source(from).await?, vec![misfit.from_line]);
        let new = (self.source(&wish.to).await?, misfit.to_lines);
        Ok(EngineError::VersionMisfit {
            run: self.row.id.to_string(),
            version: wish.to.to_string(),
            reason: misfit.reason,
            sources: format!("\n{}", side_by_side((&old.0, &old.1), (&new.0, &new.1))),
        })
    }

    async fn source(&self, version: &Version) -> Result<String, EngineError> {
        let (tenant, workflow) = (self.client.tenant().clone(), self.row.workflow.clone());
        let query = DefinitionQuery { tenant, workflow, version: Some(version.clone()) };
        let found = self.client.world().definition(query).await?;
        Ok(found.map(|definition| definition.source).unwrap_or_default())
    }

    async fn step(
        &self,
        state: &RunState,
        changed: VersionChanged,
        id: &str,
    ) -> Result<(Message, Advanced), EngineError> {
        let now = self.client.world().now().await?;
        let (id, actor) = (MessageId::new(format!("version:{id}")), self.client.actor().clone());
        let body = MessageBody::VersionChanged(changed.clone());
        let message = Message { id, at: now, actor, trace: None, body };
        let mut blobs = Blobs::new();
        loop {
            let about = (&message, &changed);
            match change_version(self.programs, &self.facts, state, about, now, &blobs) {
                Ok(Advance::Advanced(advanced)) => return Ok((message, *advanced)),
                Ok(Advance::NeedBlobs(wanted)) => {
                    for blob in wanted {
                        let content = self.client.world().read_blob(self.client.tenant(), &blob).await?;
                        blobs.insert(blob.hash, content);
                    }
                }
                Err(ProgramError::Misfit { code, message }) => {
                    return Err(EngineError::VersionMisfit {
                        run: self.row.id.to_string(),
                        version: changed.to.to_string(),
                        reason: format!("{code}: {message}"),
                        sources: String::new(),
                    });
                }
                Err(error) => return Err(crate::patches::unreadable(error)),
            }
        }
    }
}

/// Stores what must be there before the commit and pins the versions of children.
async fn prepare(client: &Client, row: &RunRow, plan: Plan) -> Result<CommitItem, EngineError> {
    let Plan { mut item, children, blobs } = plan;
    for (blob, content) in &blobs {
        client.world().put_blob(client.tenant(), blob, content).await?;
    }
    Origins::default().name(&**client.world(), client.tenant(), &mut item.tasks).await?;
    for child in children {
        match pin(&**client.world(), client.tenant(), client.schemas(), &child).await? {
            Ok(definition) => item.children.push(new_child(&row.id, child, definition)),
            Err(failure) => refuse_child(&mut item, &child, failure),
        }
    }
    Ok(item)
}
