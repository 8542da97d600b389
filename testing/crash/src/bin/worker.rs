//! A worker on the real SDK. Its handlers report to the recorder before and after their work.
#![allow(clippy::print_stderr, reason = "a program says why it ends")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rhythm::{Actor, Rhythm, TaskContext, TaskError, TenantId};
use rhythm_crash::ledger::{Entry, What};
use rhythm_crash::lost_ack_world;
use rhythm_crash::process::die_with_parent;
use rhythm_crash::receipt::{Gate, Illness, Receipt, Work};
use serde::Serialize;
use serde_json::Value;

#[derive(Parser)]
struct Arguments {
    world: String,
    /// Socket of the recorder.
    recorder: PathBuf,
    #[arg(long)]
    name: String,
    /// Queues to serve; `default` by default.
    #[arg(long)]
    queue: Vec<String>,
    #[arg(long, default_value_t = 20)]
    concurrency: usize,
    /// Use one thread, so that the calls to a server come in the same order every time.
    #[arg(long)]
    single_thread: bool,
    /// Use short leases and heartbeat intervals.
    #[arg(long)]
    fast: bool,
}

/// Interval between two checks of a shut gate.
const GLANCE: Duration = Duration::from_millis(10);

/// Output of a handler. JSON cannot represent the last variant.
#[derive(Serialize)]
#[serde(untagged)]
enum Output {
    Receipt(Receipt),
    Text(String),
    Unwritable(BTreeMap<(u8, u8), u8>),
}

fn main() -> ExitCode {
    match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = error.downcast_ref::<rhythm::Error>().map_or("", rhythm::Error::code);
            eprintln!("{code} {error}");
            ExitCode::FAILURE
        }
    }
}

fn play() -> Result<(), Box<dyn std::error::Error>> {
    die_with_parent()?;
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let arguments = Arguments::parse();
    let mut builder = match arguments.single_thread {
        true => tokio::runtime::Builder::new_current_thread(),
        false => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.worker_threads(2).enable_all().build()?.block_on(serve(arguments))
}

async fn serve(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let opened = Rhythm::open(&arguments.world).await?;
    let world = lost_ack_world::from_environment(opened.world().clone())?;
    let rhythm = Rhythm::on(world, TenantId::default(), Actor("crash-worker".to_owned()));
    let recorder = arguments.recorder;
    let handler = move |context: TaskContext, input: Value| {
        let recorder = recorder.clone();
        async move { perform(&recorder, &context, &input.to_string()).await }
    };
    let mut worker = rhythm
        .worker()
        .concurrency(arguments.concurrency)
        .id(arguments.name.as_str())
        .task("work", handler.clone())
        .task("poison", handler);
    for queue in arguments.queue {
        worker = worker.queue(queue);
    }
    if arguments.fast {
        worker = worker.fast();
    }
    worker.run_until(std::future::pending()).await?;
    Ok(())
}

/// Executes one attempt: reports its begin, works, reports its effect, returns a receipt.
async fn perform(recorder: &Path, context: &TaskContext, input: &str) -> Result<Output, TaskError> {
    let work = Work::of(input)?;
    Entry::of(What::Began, context, input).report(recorder).await?;
    pause(work.millis).await;
    pass(work.before.as_ref(), context.claim()).await;
    if context.attempt() <= work.failing {
        return Err(TaskError::new("this attempt was asked to fail"));
    }
    if let Some(illness) = work.ill {
        return suffer(illness).await;
    }
    Entry::of(What::Did, context, input).report(recorder).await?;
    pass(work.after.as_ref(), context.claim()).await;
    while work.stalled.as_ref().is_some_and(|gate| gate.is_shut(context.claim())) {
        std::thread::sleep(GLANCE);
    }
    let (claim, attempt, delivery) = (context.claim(), context.attempt(), context.delivery());
    Ok(Output::Receipt(Receipt { pid: std::process::id(), claim, attempt, delivery }))
}

async fn suffer(illness: Illness) -> Result<Output, TaskError> {
    match illness {
        Illness::Panics => std::panic::panic_any("this handler panics"),
        Illness::Exits => std::process::exit(101),
        Illness::Hangs => std::future::pending().await,
        Illness::Huge => Ok(Output::Text("x".repeat(33 << 20))),
        Illness::Unwritable => Ok(Output::Unwritable(BTreeMap::from([((1, 2), 3)]))),
    }
}

async fn pass(gate: Option<&Gate>, claim: u64) {
    while gate.is_some_and(|gate| gate.is_shut(claim)) {
        tokio::time::sleep(GLANCE).await;
    }
}

async fn pause(millis: u64) {
    if millis > 0 {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
}
