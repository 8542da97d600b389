//! Requeues or discards one, some or all dead letters.

use clap::Args;
use rhythm_core::TaskId;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::{DeadQuery, Fate};
use serde_json::json;

use super::choice::{Choice, Nodes};
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::output::count as counted;
use crate::session::Session;

#[derive(Debug, Args)]
pub struct Which {
    #[arg(required_unless_present_any = ["all", "run", "node"], conflicts_with_all = ["all", "run", "node", "queue"], value_name = "TASK")]
    tasks: Vec<String>,
    /// All of them, or all of one run, node or queue
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    choice: Choice,
    /// Of several: do it
    #[arg(long, conflicts_with = "tasks")]
    yes: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Verb {
    Requeue,
    Discard,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Requeue => "requeue",
            Self::Discard => "discard",
        }
    }

    fn past(self) -> &'static str {
        match self {
            Self::Requeue => "requeued",
            Self::Discard => "discarded",
        }
    }

    async fn apply(self, session: &Session, task: &TaskId) -> Result<(), EngineError> {
        match self {
            Self::Requeue => session.client.requeue_dead(task).await,
            Self::Discard => session.client.discard_dead(task).await,
        }
    }
}

impl Which {
    pub async fn run(self, settings: Settings, verb: Verb) -> CliResult {
        let session = Session::open(&settings).await?;
        if self.tasks.is_empty() {
            return self.run_all(&session, verb).await;
        }
        let mut tasks = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            tasks.push(session.client.find_task(task).await?);
        }
        for task in &tasks {
            verb.apply(&session, task).await?;
            if !session.out.is_json() && !session.out.is_quiet() {
                session.out.line(format!("{} {task}", verb.past()))?;
            }
        }
        match session.out.is_json() {
            true => session.out.json(&json!({ "done": verb.past(), "tasks": tasks })),
            false => Ok(()),
        }
    }

    async fn run_all(&self, session: &Session, verb: Verb) -> CliResult {
        let tasks = self.find(session).await?;
        let count = tasks.len();
        if !self.yes && count > 0 {
            let place = self.choice.words();
            return Err(CliError::Unconfirmed(format!(
                "{} {}{place}",
                verb.word(),
                counted(count as u64, "dead letter")
            )));
        }
        let mut failed = 0;
        for task in &tasks {
            // A letter that was decided in the meantime must not stop the others.
            if let Err(error) = verb.apply(session, task).await {
                if matches!(&error, EngineError::World(error) if error.is_passing()) {
                    return Err(error.into());
                }
                failed += 1;
                session.out.note(format!("{task}: {error}"));
            }
        }
        let done = count - failed;
        let mut text = format!("{} {done} of {}", verb.past(), counted(count as u64, "dead letter"));
        if count == 0 {
            text = "no dead letters".to_owned();
        }
        session.out.done(text, &json!({ "done": verb.past(), "count": done, "failed": failed }))
    }

    async fn find(&self, session: &Session) -> CliResult<Vec<TaskId>> {
        let mut query = DeadQuery { limit: 500, ..self.choice.query(session).await? };
        let (mut tasks, mut nodes) = (Vec::new(), Nodes::default());
        loop {
            let page = session.rhythm.world().list_dead(query.clone()).await?;
            let letters = nodes.keep(session, page.rows, &self.choice).await?;
            // Operators cannot decide a failure that its run has not consumed yet.
            let decidable = letters.into_iter().filter(|letter| letter.fate != Fate::Undecided);
            tasks.extend(decidable.map(|letter| letter.task));
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(tasks),
            }
        }
    }
}
