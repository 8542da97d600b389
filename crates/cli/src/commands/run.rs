use std::time::{Duration, Instant};

use clap::Args;
use rhythm::{RunningWorker, StartRun};
use rhythm_core::{Blocked, BlockedCode, Millis, RunId, Version};
use rhythm_engine::definitions::Refused;
use rhythm_engine::explain::explain;
use rhythm_engine::world::{Picture, Register, TaskState};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::allowed::Allowed;
use crate::commands::start::tell;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::output::clean;
use crate::progress::Shown;
use crate::scratch::Scratch;
use crate::session::Session;
use crate::times;
use crate::workflow_files;

/// Time without progress after which the command looks for the reason.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval at which the run is read.
const GLANCE: Duration = Duration::from_millis(50);

/// Run a workflow here and now: a flow or graph in a file or a registered name, with the built-in tasks
#[derive(Debug, Args)]
#[command(after_help = "\
The steps are shown as they happen, the result is printed when the run ends. Ctrl-C leaves the run where it stands; \
--resume goes on with it. Tasks other than the built-in ones need a worker of their own on the same world.

A file is played as it is: its version does not become the current one of its name, and no schedule is installed. \
Without --world, RHYTHM_WORLD, rhythm.toml and .rhythm in this folder it plays in a temporary world, which is removed \
when the run has completed. Only this run and its children are stepped.")]
pub struct Run {
    /// A .flow or .graph.yaml file, or the name of a registered workflow, also with a version: order@3
    #[arg(value_name = "FILE|NAME", required_unless_present_any = ["resume", "tag"])]
    target: Option<String>,
    /// Run the version this tag points at; it names the workflow too
    #[arg(long)]
    tag: Option<String>,
    /// What the run gets: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// The same key always names the same run
    #[arg(long)]
    key: Option<String>,
    /// Go on with this run instead of starting one
    #[arg(long, value_name = "RUN", conflicts_with_all = ["target", "input", "key", "tag"])]
    resume: Option<String>,
    #[command(flatten)]
    allowed: Allowed,
}

impl Run {
    pub async fn run(self, settings: Settings) -> CliResult {
        let input = input::payload("--input", self.input.as_deref())?;
        let file = self.target.as_deref().filter(|target| workflow_files::is_file(target));
        if file.is_some() && self.tag.is_some() {
            return Err(CliError::Usage(
                "a file is played as it is: leave out --tag, or name the workflow".into(),
            ));
        }
        let mut scratch = match file {
            Some(_) if !settings.chosen => Some(Scratch::make()?),
            // A registered workflow or an existing run is in a world that exists already.
            None if !settings.chosen => {
                Session::read(&settings).await?;
                None
            }
            _ => None,
        };
        let settings = match &scratch {
            Some(scratch) => scratch.settings(settings),
            None => settings,
        };
        let played = self.play(&settings, input, &mut scratch).await;
        let done = match &played {
            // Nothing was started, or the run has ended.
            Err(Unplayed::NotStarted(_)) | Ok(()) => true,
            Err(Unplayed::Started(_)) => false,
        };
        match scratch {
            Some(scratch) if done => scratch.remove(),
            Some(mut scratch) => drop(scratch.place().map(|place| say(settings.output, &place))),
            None => {}
        }
        match played {
            Ok(()) => Ok(()),
            Err(Unplayed::NotStarted(error) | Unplayed::Started(error)) => Err(error),
        }
    }

    async fn play(
        &self,
        settings: &Settings,
        input: rhythm_core::Payload,
        scratch: &mut Option<Scratch>,
    ) -> Result<(), Unplayed> {
        let mut interrupts = signal(SignalKind::interrupt())
            .map_err(|error| Unplayed::NotStarted(CliError::Output(error.to_string())))?;
        let session = Session::open(settings).await.map_err(Unplayed::NotStarted)?;
        let run = self.begin(&session, input, scratch.is_some()).await.map_err(Unplayed::NotStarted)?;
        let watch = Watch { session: &session, run: &run, began: Instant::now() };
        let watched = async {
            session.client.picture(&run).await?;
            session.out.note(format!("run {run}"));
            let builder = self.allowed.add_to(session.rhythm.worker(), &settings.worker)?.only(run.clone());
            let own_tasks = builder.task_names();
            let worker = builder.start().await?;
            watch.to_the_end(worker, &own_tasks, scratch, &mut interrupts).await
        };
        watched.await.map_err(Unplayed::Started)
    }

    /// Returns the run to follow: the one to resume, or a new one.
    async fn begin(
        &self,
        session: &Session,
        input: rhythm_core::Payload,
        is_scratch: bool,
    ) -> CliResult<RunId> {
        if let Some(run) = &self.resume {
            return Ok(session.client.find_run(run).await?);
        }
        let target = self.target.as_deref().unwrap_or_default();
        let (workflow, version) = match workflow_files::is_file(target) {
            true => {
                let (workflow, version) = registered(session, target, is_scratch).await?;
                (workflow, Some(version))
            }
            false => (target.to_owned(), None),
        };
        let (tag, key) = (self.tag.clone(), self.key.clone());
        let start = StartRun { workflow, version, tag, input, key, ..StartRun::default() };
        Ok(session.client.start_run(start).await?)
    }
}

/// Error of the command, with whether a run was started that the user may want to inspect.
enum Unplayed {
    NotStarted(CliError),
    Started(CliError),
}

fn say(out: crate::output::Output, text: &str) {
    // Printed with `--quiet` too: the result may never come.
    out.complain(&clean(text));
}

/// Follows a run until it ends.
struct Watch<'a> {
    session: &'a Session,
    run: &'a RunId,
    began: Instant,
}

impl Watch<'_> {
    async fn to_the_end(
        &self,
        worker: RunningWorker,
        own_tasks: &[String],
        scratch: &mut Option<Scratch>,
        interrupts: &mut Signal,
    ) -> CliResult {
        let Watch { session, run, began } = self;
        let mut shown = Shown::default();
        let mut warned = false;
        let interrupted = loop {
            let picture = session.client.picture(run).await?;
            shown.go_on(session, run, &picture.tasks).await?;
            if picture.summary.status.is_final() {
                break false;
            }
            // A quarantined run does not continue without an operator.
            let set_aside = |blocked: &&Blocked| blocked.code == BlockedCode::Quarantined;
            if let Some(blocked) = picture.summary.blocked.as_ref().filter(set_aside) {
                let reason = blocked.detail.clone();
                worker.stop().await?;
                let flags = session.command("");
                return Err(CliError::Blocked { run: run.to_string(), reason, flags });
            }
            let is_late = began.elapsed() > PATIENCE;
            // The waits of children are not examined.
            let perhaps = is_late && !picture.children.is_empty();
            if (perhaps || waits_for_others(&picture, own_tasks))
                && let Some(place) = scratch.as_mut().and_then(Scratch::place)
            {
                say(session.out, &place);
            }
            // This process cannot perform the task, and perhaps no process can.
            if !warned
                && is_late
                && let Some(reason) = stuck(session, run).await?
            {
                if session.out.is_quiet() {
                    session.out.complain(&clean(&format!("  waiting    {reason}")));
                }
                session.out.progress("waiting", &reason);
                warned = true;
            }
            tokio::select! {
                () = tokio::time::sleep(GLANCE) => {}
                _ = interrupts.recv() => break true,
            }
        };
        if interrupted {
            self.leave(worker, interrupts).await?;
        } else {
            worker.stop().await?;
        }
        let picture = session.client.picture(run).await?;
        if !picture.summary.status.is_final() {
            return Err(self.interrupted());
        }
        shown.go_on(session, run, &[]).await?;
        let status = picture.summary.status.as_str();
        let took = Millis(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX));
        let told = tell(session, run, picture).await;
        session.out.progress(status, &format!("in {}: {}", times::lasted(took), shown.counts()));
        told
    }

    /// Waits for the running tasks of this process, until a second interrupt.
    async fn leave(&self, worker: RunningWorker, interrupts: &mut Signal) -> CliResult {
        let picture = self.session.client.picture(self.run).await?;
        let running: Vec<&str> = picture
            .tasks
            .iter()
            .filter(|task| task.worker.as_deref() == Some(worker.id().as_str()))
            .map(|task| task.name.as_str())
            .collect();
        let waits = match &running[..] {
            [] => "leaving the run where it stands".to_owned(),
            [only] => format!("waiting for task {only} to end; Ctrl-C again ends at once"),
            more => format!(
                "waiting for {} tasks to end ({}); Ctrl-C again ends at once",
                more.len(),
                more.join(", ")
            ),
        };
        self.session.out.complain(&clean(&waits));
        tokio::select! {
            stopped = worker.stop() => Ok(stopped?),
            _ = interrupts.recv() => Err(self.interrupted()),
        }
    }

    fn interrupted(&self) -> CliError {
        let run = self.run;
        let resume = self.session.command(&format!("rhythm run --resume {run}"));
        let explain = self.session.command(&format!("rhythm explain {run}"));
        let help = format!("`{resume}` goes on with it, `{explain}` says where it is");
        CliError::Interrupted { run: run.to_string(), help }
    }
}

/// Whether the run waits for a person, a signal, or a task of another worker.
fn waits_for_others(picture: &Picture, own_tasks: &[String]) -> bool {
    let open = |state: TaskState| matches!(state, TaskState::Ready | TaskState::Running | TaskState::Held);
    let foreign = picture.tasks.iter().filter(|task| open(task.state));
    !picture.row.state.awaiting.is_empty() || foreign.into_iter().any(|task| !own_tasks.contains(&task.name))
}

/// Returns why the run waits for work that no live worker performs.
async fn stuck(session: &Session, run: &RunId) -> CliResult<Option<String>> {
    let explained = explain(&session.client, run).await?;
    let is_stuck = |code: &str| matches!(code, "no_worker" | "no_version" | "unknown_task" | "dead_letter");
    let unserved = explained.reasons.iter().find(|reason| is_stuck(reason.code));
    Ok(unserved.map(|reason| format!("{}; it goes on when {}", reason.what, reason.moves_when)))
}

/// Registers a file for this run and returns its name and version. In a temporary world it becomes the
/// current version too, because the workflow may start itself. Its schedule is not installed.
async fn registered(session: &Session, target: &str, is_scratch: bool) -> CliResult<(String, Version)> {
    let mut files = workflow_files::find(&[target.to_owned()])?;
    let Some(file) = files.pop().filter(|_| files.is_empty()) else {
        return Err(CliError::BadValue(format!("{target} is a folder: name the file to run")));
    };
    match session.client.define_beside(&file.stem(), file.kind(), &file.source, file.folder()).await? {
        Ok(defined) => {
            let definition = defined.definition.clone();
            if !session.out.is_quiet() && !defined.remarks.is_empty() {
                session.out.complain(&workflow_files::rendered(&file.path, &file.source, &defined.remarks));
            }
            session.client.register_beside(defined).await?;
            if is_scratch {
                let tenant = session.client.tenant().clone();
                let register = Register { tenant, definitions: vec![definition.clone()] };
                session
                    .rhythm
                    .world()
                    .register(register)
                    .await
                    .map_err(rhythm_engine::error::EngineError::from)?;
            }
            Ok((definition.workflow, definition.version))
        }
        Err(Refused { diagnostics }) => {
            session.out.complain(&workflow_files::rendered(&file.path, &file.source, &diagnostics));
            Err(CliError::Refused(format!("{target} cannot be run")))
        }
    }
}
