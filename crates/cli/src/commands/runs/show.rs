use clap::Args;
use rhythm_core::event::Forked;
use rhythm_core::{Failure, Message, Payload, Timestamp, label};
use rhythm_engine::tokens::{Place, standing};
use rhythm_engine::travel::origin;
use rhythm_engine::whereabouts::{Whereabouts, whereabouts};
use rhythm_engine::world::{DeadLetter, Picture, RunSummary, TaskSummary, TimerRow};
use serde::Serialize;

use super::list::state;
use super::people::{self, Deed};
use super::{places, position};
use crate::commands::workflows::versions::{numbered, short_version};
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Table, short, shown_labels};
use crate::session::Session;
use crate::short_ids::ShortIds;
use crate::times::{exact, relative};

/// Number of characters shown of a value.
const SHOWN: usize = 2_000;

/// Show one run with everything around it
#[derive(Debug, Args)]
pub struct Show {
    run: String,
}

/// The JSON output.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    summary: RunSummary,
    version_number: Option<u64>,
    input: Payload,
    output: Option<Payload>,
    failure: Option<Failure>,
    /// Only for flows: the current or failed line, and the variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Whereabouts>,
    /// Only for graphs: the positions of the tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    places: Option<Vec<Place>>,
    /// The run it was forked from, and the last event they share.
    #[serde(skip_serializing_if = "Option::is_none")]
    forked: Option<Forked>,
    /// Actions of people, with their reasons.
    people: Vec<Deed>,
    awaiting: Vec<String>,
    workflow_paused: bool,
    ready_since: Option<Timestamp>,
    claimed_by: Option<String>,
    tasks: Vec<TaskSummary>,
    timers: Vec<ShownTimer>,
    children: Vec<ShownChild>,
    inbox: Vec<Message>,
    dead: Vec<DeadLetter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dismissed_at: Option<Timestamp>,
}

#[derive(Serialize)]
struct ShownTimer {
    #[serde(flatten)]
    row: TimerRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

#[derive(Serialize)]
struct ShownChild {
    #[serde(flatten)]
    row: RunSummary,
    /// Number of the list item that it processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<u64>,
}

impl Show {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let picture = session.client.picture(&session.client.find_run(&self.run).await?).await?;
        let position = whereabouts(&session.client, &picture).await?;
        let stands = standing(&session.client, &picture.row).await?;
        let places = stands.filter(|_| !picture.summary.status.is_final()).map(|stands| stands.places);
        let forked = origin(&picture.summary);
        let people = people::deeds(&session, &picture.summary).await?;
        let awaiting = picture.row.awaiting().iter().cloned().collect();
        let Picture { summary, input, output, failure, .. } = picture;
        let output = match output {
            Some(output) => Some(session.loaded(output).await?),
            None => None,
        };
        let version_number = session.client.number_of(&summary.workflow, &summary.version).await?;
        let children = picture.children.into_iter();
        let children = children.map(|row| with_item(row, position.as_ref(), places.as_deref())).collect();
        let timers = picture.timers.into_iter();
        let timers = timers.map(|row| labelled(row, position.as_ref(), places.as_deref())).collect();
        let shown = Shown {
            summary,
            version_number,
            input: session.loaded(input).await?,
            output,
            failure,
            position,
            places,
            forked,
            people,
            awaiting,
            workflow_paused: picture.workflow_paused,
            ready_since: picture.ready_since,
            claimed_by: picture.claimed_by,
            tasks: picture.tasks,
            timers,
            children,
            inbox: picture.inbox,
            dead: picture.dead,
            dismissed_at: picture.dismissed_at,
        };
        match session.out.is_json() {
            true => session.out.json(&shown),
            false => tell(&session, &shown).await,
        }
    }
}

fn labelled(row: TimerRow, position: Option<&Whereabouts>, places: Option<&[Place]>) -> ShownTimer {
    let of_flow =
        || position.zip(row.timer).and_then(|(position, timer)| position.labels.get(&timer).cloned());
    let place = places.into_iter().flatten().find(|place| row.timer.is_some() && place.command == row.timer);
    let label = place.and_then(|place| place.label.clone()).or_else(of_flow);
    ShownTimer { row, label }
}

fn with_item(row: RunSummary, position: Option<&Whereabouts>, places: Option<&[Place]>) -> ShownChild {
    let number = row.parent.as_ref().map(|parent| parent.child);
    let waits = position.into_iter().flat_map(|position| &position.waiting_for);
    let of_flow = waits.filter(|wait| Some(wait.current) == number).find_map(|wait| wait.item);
    let of_graph = places.into_iter().flatten().find(|place| number.is_some() && place.command == number);
    let item = of_flow.or_else(|| of_graph.and_then(|place| place.item));
    ShownChild { row, item }
}

async fn tell(session: &Session, shown: &Shown) -> CliResult {
    let now = session.now().await?;
    let run = &shown.summary;
    let time = |at: Timestamp| format!("{} ({})", exact(at), relative(now, at));
    let value = |payload: &Payload| short(payload.text().unwrap_or("(large)"), SHOWN);
    let name = numbered(&run.workflow, shown.version_number, &run.version);
    session.out.details(&[
        ("run", run.id.to_string()),
        ("workflow", format!("{name} ({}, {})", run.kind.as_str(), short_version(&run.version))),
        ("status", state(run)),
        ("created", time(run.created_at)),
        ("updated", time(run.updated_at)),
        ("ended", run.ended_at.map(time).unwrap_or_default()),
        ("dismissed", shown.dismissed_at.map(time).unwrap_or_default()),
        ("deadline", run.deadline_at.map(time).unwrap_or_default()),
        ("priority", if run.priority == 0 { String::new() } else { run.priority.to_string() }),
        ("labels", shown_labels(&run.labels)),
        ("forked from", shown.forked.as_ref().map(origin_text).unwrap_or_default()),
        ("parent", run.parent.as_ref().map(|parent| parent.run.to_string()).unwrap_or_default()),
        ("events", run.seq.to_string()),
        ("input", value(&shown.input)),
        ("output", shown.output.as_ref().map(value).unwrap_or_default()),
        ("failure", shown.failure.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("awaiting", shown.awaiting.join(", ")),
    ])?;
    people::tell(session, &shown.people, now)?;
    if let Some(position) = &shown.position {
        position::tell(session, run.status, position)?;
    }
    if let Some(places) = &shown.places {
        places::tell(session, places, now)?;
    }
    let ids = ShortIds::of(
        shown.tasks.iter().map(|task| &task.id.0).chain(shown.children.iter().map(|child| &child.row.id.0)),
    );
    let mut tasks = Table::new(&["TASK", "NAME", "STATE", "ATTEMPT", "SINCE"]);
    for task in &shown.tasks {
        let attempt = format!("{}/{}", task.attempt, task.options.policy().max_attempts);
        let state = super::super::tasks::list::word(task.state).to_owned();
        let name = task.options.shown(&task.name);
        tasks.row(vec![ids.show(&task.id.0), name, state, attempt, relative(now, task.since)]);
    }
    session.out.section("open tasks", &tasks)?;
    let mut timers = Table::new(&["TIMER", "DUE"]);
    for timer in &shown.timers {
        let what = label::shown(&timer.row.what, timer.label.as_deref(), None, None);
        timers.row(vec![what, time(timer.row.due_at)]);
    }
    session.out.section("timers", &timers)?;
    let mut children = Table::new(&["CHILD", "WORKFLOW", "STATUS", "CREATED"]);
    for child in &shown.children {
        let created = relative(now, child.row.created_at);
        let (row, label) = (&child.row, child.row.labels.get(label::CHILD_LABEL));
        let workflow = label::shown(&row.workflow, label.map(String::as_str), child.item, None);
        children.row(vec![ids.show(&row.id.0), workflow, state(row), created]);
    }
    session.out.section("children", &children)?;
    let mut inbox = Table::new(&["MESSAGE", "FROM", "ARRIVED"]);
    for message in &shown.inbox {
        inbox.row(vec![message.id.to_string(), message.actor.0.clone(), relative(now, message.at)]);
    }
    session.out.section("waiting messages", &inbox)?;
    let dead_ids = ShortIds::of(shown.dead.iter().map(|letter| &letter.task.0));
    let mut dead = Table::new(&["DEAD LETTER", "NAME", "FAILURE"]);
    for letter in &shown.dead {
        let name = letter.options.shown(&letter.name);
        dead.row(vec![dead_ids.show(&letter.task.0), name, short(&letter.failure.to_string(), 60)]);
    }
    session.out.section("dead letters", &dead)
}

fn origin_text(forked: &Forked) -> String {
    format!("{} after event {}", forked.from, forked.at_seq)
}
