//! The main job on one screen: a workflow runs, its worker is killed with SIGKILL halfway, another worker goes on
//! where it stopped, and nothing that was acknowledged is done twice. Run it with `make run`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rhythm::{Client, EventData, Rhythm, RunId, TaskContext, TaskError, WorkflowKind};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const STEPS: usize = 16;
const KILL_AFTER: usize = 8;
const STEP_TIME: Duration = Duration::from_millis(150);

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let outcome = match arguments.get(1).map(String::as_str) {
        Some("worker") => work(Path::new(&arguments[2])).await,
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

/// A worker process: each step takes a moment and leaves a line in a ledger outside the engine.
async fn work(folder: &Path) -> Outcome<()> {
    let rhythm = Rhythm::open(&world(folder)).await?;
    let ledger = folder.join("ledger");
    let worker = rhythm.worker().task("ship", move |context: TaskContext, parcel: String| {
        let ledger = ledger.clone();
        async move {
            tokio::time::sleep(STEP_TIME).await;
            let line = format!("{} {}\n", context.stable_key(), std::process::id());
            std::fs::OpenOptions::new().create(true).append(true).open(ledger)?.write_all(line.as_bytes())?;
            Ok::<_, TaskError>(format!("{parcel} shipped"))
        }
    });
    worker.run_until(std::future::pending()).await?;
    Ok(())
}

async fn show() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("rhythm-demo-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let outcome = perform(&folder).await;
    std::fs::remove_dir_all(&folder)?;
    outcome
}

async fn perform(folder: &Path) -> Outcome<()> {
    let rhythm = Rhythm::open(&world(folder)).await?;
    let client = rhythm.client();
    let step = |n: usize| format!(r#"{{"task":{{"name":"ship","input":"parcel {n}"}}}}"#);
    let steps: Vec<String> = (1..=STEPS).map(step).collect();
    let source = format!(r#"{{"steps":[{}]}}"#, steps.join(","));
    client.register("shipping", WorkflowKind::Drill, &source).await?;

    println!("A workflow of {STEPS} steps, one SQLite file, and a worker that will not live long.\n");
    let run = client.start("shipping", &()).await?;
    println!("  started   run {run}");
    let mut first = spawn_worker(folder)?;
    println!("  worker A  process {}", first.id());
    wait_for_steps(&client, &run, KILL_AFTER).await?;
    first.kill()?;
    first.wait()?;
    let acknowledged = completed(&client, &run).await?;
    println!("\n  SIGKILL   worker A dies with {} steps acknowledged and one under way", acknowledged.len());

    let died = Instant::now();
    let mut second = spawn_worker(folder)?;
    println!("  worker B  process {}", second.id());
    wait_for_steps(&client, &run, acknowledged.len() + 1).await?;
    let recovery = died.elapsed();
    wait_for_steps(&client, &run, STEPS).await?;
    let result: Vec<String> = client.result(&run).await?;
    second.kill()?;
    second.wait()?;

    let by_worker = ledger(folder)?;
    let of = |process: u32| by_worker.get(&process).cloned().unwrap_or_default();
    let again = of(second.id()).iter().filter(|step| acknowledged.contains(step)).count();
    println!("\n\n  result    {} ... {}", result[0], result[result.len() - 1]);
    println!(
        "  steps     {STEPS} acknowledged; worker A did {}, worker B {}",
        of(first.id()).len(),
        of(second.id()).len()
    );
    println!("  going on  {:.1} s after the kill, the step that died included", recovery.as_secs_f64());
    println!("  twice     {again} acknowledged steps were done again");
    match (again, result.len()) {
        (0, STEPS) => Ok(()),
        _ => Err("an acknowledged step was lost or repeated".into()),
    }
}

fn world(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("rhythm.db").display())
}

fn spawn_worker(folder: &Path) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?).arg("worker").arg(folder).stdin(Stdio::null()).spawn()
}

/// The steps whose results are in the run's history.
async fn completed(client: &Client, run: &RunId) -> Outcome<Vec<String>> {
    let history = client.history(run).await?;
    let step = |data: &EventData| match data {
        EventData::StepCompleted(done) => Some(run.task(done.task).to_string()),
        _ => None,
    };
    Ok(history.iter().filter_map(|event| step(&event.data)).collect())
}

/// Shows the progress until so many steps are acknowledged.
async fn wait_for_steps(client: &Client, run: &RunId, wanted: usize) -> Outcome<()> {
    let give_up = Instant::now() + Duration::from_secs(60);
    let mut shown = None;
    loop {
        let done = completed(client, run).await?.len();
        if shown != Some(done) && (done >= wanted || std::io::stdout().is_terminal()) {
            let bar: String = (0..STEPS).map(|n| if n < done { '#' } else { '.' }).collect();
            print!("\r  steps     [{bar}] {done:2} of {STEPS}");
            std::io::stdout().flush()?;
            shown = Some(done);
        }
        if done >= wanted {
            return Ok(());
        }
        if Instant::now() > give_up {
            return Err(format!("only {done} of {wanted} steps after a minute").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What each process did, by its own word.
fn ledger(folder: &Path) -> Outcome<BTreeMap<u32, Vec<String>>> {
    let path: PathBuf = folder.join("ledger");
    let mut by_worker: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let (step, process) = line.split_once(' ').ok_or("the ledger is damaged")?;
        by_worker.entry(process.parse()?).or_default().push(step.to_owned());
    }
    Ok(by_worker)
}
