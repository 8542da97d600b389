use clap::{Args, ValueEnum};
use rhythm_engine::world::{TaskQuery, TaskState};

use crate::args::Paging;
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Words;
use crate::session::Session;
use crate::short_ids::ShortIds;
use crate::times::relative;

/// List open tasks and finished standalone ones, newest first
#[derive(Debug, Args)]
pub struct List {
    /// Only tasks in this state
    #[arg(long, ignore_case = true)]
    state: Option<StateArg>,
    /// Only tasks of this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// Only tasks of this name
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StateArg {
    Delayed,
    Ready,
    Running,
    Held,
    Completed,
    Failed,
    Cancelled,
}

impl List {
    pub async fn run(self, settings: Settings) -> CliResult {
        let query = TaskQuery {
            tenant: settings.tenant.clone(),
            state: self.state.map(state),
            queue: self.queue,
            name: self.name,
            cursor: self.paging.cursor,
            limit: usize::from(self.paging.limit),
        };
        let session = Session::read(&settings).await?;
        let page = session.rhythm.world().list_tasks(query).await?;
        let now = session.now().await?;
        let words = Words {
            columns: &["TASK", "NAME", "QUEUE", "STATE", "ATTEMPT", "SINCE", "CREATED"],
            none: "no tasks",
        };
        let ids = ShortIds::of(page.rows.iter().map(|task| &task.id.0));
        session.out.page(&page, words, |task| {
            vec![
                ids.show(&task.id.0),
                task.options.shown(&task.name),
                task.options.queue.clone(),
                word(task.state).to_owned(),
                format!("{}/{}", task.attempt, task.options.policy().max_attempts),
                relative(now, task.since),
                relative(now, task.created_at),
            ]
        })
    }
}

fn state(arg: StateArg) -> TaskState {
    match arg {
        StateArg::Delayed => TaskState::Delayed,
        StateArg::Ready => TaskState::Ready,
        StateArg::Running => TaskState::Running,
        StateArg::Held => TaskState::Held,
        StateArg::Completed => TaskState::Completed,
        StateArg::Failed => TaskState::Failed,
        StateArg::Cancelled => TaskState::Cancelled,
    }
}

pub fn word(state: TaskState) -> &'static str {
    match state {
        TaskState::Delayed => "delayed",
        TaskState::Ready => "ready",
        TaskState::Running => "running",
        TaskState::Held => "held",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Cancelled => "cancelled",
    }
}
