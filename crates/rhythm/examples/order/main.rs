//! Crash recovery on one screen. The demo starts the order of `examples/order.flow` and kills its workers
//! with SIGKILL: one in the middle of a task, one while the run sleeps. Each next worker goes on where the
//! run stopped, and no finished task is repeated. Run it with `make run`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

mod handlers;
mod story;

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use rhythm::{Client, EventData, Payload, Rhythm, RunId, WorkflowKind};
use rhythm_engine::definitions::define;
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;
use rhythm_flow::Flow;
use rhythm_flow::inspect::describe;

use story::Story;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const SOURCE: &str = include_str!("../../../../examples/order.flow");

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let outcome = match arguments.get(1).map(String::as_str) {
        Some("worker") => handlers::work(Path::new(&arguments[2])).await,
        _ => show().await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn show() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("rhythm-demo-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = perform(&folder).await;
    std::fs::remove_dir_all(&folder)?;
    outcome
}

async fn perform(folder: &Path) -> Outcome<()> {
    let client = Rhythm::open(&world(folder)).await?.client();
    let defined = define("order", WorkflowKind::Flow, SOURCE).map_err(|_| "order.flow is refused")?;
    let flow = Flow::load(&defined.definition.compiled)?;
    client.register_defined(defined).await?;

    println!("examples/order.flow, one SQLite file, and workers that do not live long.\n");
    for (number, line) in SOURCE.lines().enumerate() {
        println!("{:4}  {line}", number + 1);
    }
    println!();
    let input = serde_json::json!({ "id": "o-1", "amount": 99.5, "grace": "2s" });
    let run = client.start("order", &input).await?;
    let mut story = Story::new(&client, &run, SOURCE);
    story.say("started", &format!("run {run}"));

    let first = Worker::spawn(folder, "A", &story)?;
    story.until(|event| matches!(event, EventData::StepScheduled(step) if step.name == "reserve")).await?;
    handlers::wait_until_reserving(folder).await;
    let died = first.kill(&story, "in the middle of reserve")?;
    snapshot(&client, &run, &flow, &story).await?;

    let second = Worker::spawn(folder, "B", &story)?;
    story.until(|event| matches!(event, EventData::TimerScheduled(_))).await?;
    story.say("", &format!("{:.1} s after the kill", died.elapsed().as_secs_f64()));
    second.kill(&story, "while the run sleeps")?;
    snapshot(&client, &run, &flow, &story).await?;

    let third = Worker::spawn(folder, "C", &story)?;
    story.until(|event| matches!(event, EventData::SignalRequested(_))).await?;
    story.say("you", "approve the order");
    client.signal(&run, "approve", Payload::of(&serde_json::json!({ "by": "you" }))?, None).await?;
    story
        .until(|event| matches!(event, EventData::WorkflowCompleted(_) | EventData::WorkflowFailed(_)))
        .await?;
    let result: serde_json::Value = client.result(&run).await?;
    third.stop()?;
    close(folder, &client, &run, &story, &result).await
}

/// Shows the result of the run, and how often the interrupted task began and finished.
async fn close(
    folder: &Path,
    client: &Client,
    run: &RunId,
    story: &Story<'_>,
    result: &serde_json::Value,
) -> Outcome<()> {
    println!();
    story.say("result", &result.to_string());
    let done = handlers::ledger(folder)?;
    story.say("done", &format!("{}, by the workers' own ledger", done.join(", ")));
    let begun = handlers::times_reserve_began(folder)?;
    let finished = done.iter().filter(|name| *name == "reserve").count();
    story.say("counted", &format!("reserve began {} and finished {}", times(begun), times(finished)));
    let verified = verify(client, &Programs::default(), run).await?;
    if let Some(problem) = verified.problem {
        return Err(problem.into());
    }
    story.say("verified", &format!("{} events of history fold to what is stored", verified.events));
    let right = done == ["charge", "reserve", "release", "refund"] && result["status"] == "refunded";
    if right { Ok(()) } else { Err("a step was lost or repeated".into()) }
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}

/// Shows the position of the run, read from its stored snapshot alone.
async fn snapshot(client: &Client, run: &RunId, flow: &Flow, story: &Story<'_>) -> Outcome<()> {
    let picture = client.picture(run).await?;
    let Some(snapshot) = &picture.row.state.snapshot else { return Err("the run has no snapshot".into()) };
    let line = describe(flow, snapshot)?.line;
    story.say("on disk", &format!("a snapshot of {} bytes, at line {line}", snapshot.bytes.len()));
    Ok(())
}

fn world(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("rhythm.db").display())
}

/// A worker process. It is killed when this value is dropped.
struct Worker {
    name: &'static str,
    process: Child,
}

impl Worker {
    fn spawn(folder: &Path, name: &'static str, story: &Story<'_>) -> Outcome<Self> {
        let program = std::env::current_exe()?;
        let process = Command::new(program).arg("worker").arg(folder).stdin(Stdio::null()).spawn()?;
        story.say(&format!("worker {name}"), &format!("is process {}", process.id()));
        Ok(Self { name, process })
    }

    /// Kills the process with SIGKILL, so it cannot clean up.
    fn kill(self, story: &Story<'_>, when: &str) -> Outcome<Instant> {
        let name = self.name;
        self.stop()?;
        println!();
        story.say("SIGKILL", &format!("worker {name} is dead, {when}"));
        Ok(Instant::now())
    }

    fn stop(mut self) -> Outcome<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
