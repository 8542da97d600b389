//! A client process: makes the calls of the load in order and logs their answers. After a kill and restart it
//! continues where its log ends. A call without a known answer is repeated under its name.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use rhythm::{Actor, Client, EngineError, Error, Rhythm, TenantId};
use rhythm_crash::client_log::{self, Answer, Call, ClientLog};
use rhythm_crash::load::{perform, script};
use rhythm_crash::lost_ack_world;
use rhythm_crash::process::die_with_parent;
use rhythm_crash::wait::PATIENCE;

/// Delay before a call is repeated.
const AGAIN: Duration = Duration::from_millis(100);

#[derive(Parser)]
struct Arguments {
    world: String,
    log: PathBuf,
    #[arg(long)]
    name: String,
    /// Ends after the current script once this file exists.
    #[arg(long)]
    until: PathBuf,
    /// Number of scripts after which the client ends.
    #[arg(long, default_value_t = u64::MAX)]
    scripts: u64,
    /// Milliseconds between two scripts.
    #[arg(long, default_value_t = 10)]
    pause: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    die_with_parent()?;
    let arguments = Arguments::parse();
    let opened = open(&arguments.world).await?;
    let world = lost_ack_world::from_environment(opened.world().clone())?;
    let rhythm = Rhythm::on(world, TenantId::default(), Actor("crash-client".to_owned()));
    let client = rhythm.client();
    let known = client_log::read(&arguments.log)?;
    let mut log = ClientLog::append_to(&arguments.log)?;
    let settled = |call: &Call| {
        let outcome = known.get(&call.name);
        outcome.is_some_and(|outcome| !matches!(outcome.answer, Answer::Unknown(_)))
    };
    for number in 0..arguments.scripts {
        let calls = script(&arguments.name, number);
        if calls.iter().all(settled) {
            continue;
        }
        if arguments.until.exists() && !calls.iter().any(|call| known.contains_key(&call.name)) {
            break;
        }
        for call in calls.iter().filter(|call| !settled(call)) {
            insist(&client, &mut log, call).await?;
        }
        tokio::time::sleep(Duration::from_millis(arguments.pause)).await;
    }
    Ok(())
}

/// Opens the world, and retries while it is unavailable.
async fn open(world: &str) -> Result<Rhythm, Error> {
    let mut left = PATIENCE.as_millis() / AGAIN.as_millis();
    loop {
        match Rhythm::open(world).await {
            Err(Error::Engine(EngineError::World(error))) if error.is_passing() && left > 0 => left -= 1,
            opened => return opened,
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Repeats a call until its answer is known. Fails when the world is broken; then the process ends.
async fn insist(client: &Client, log: &mut ClientLog, call: &Call) -> Result<(), Box<dyn std::error::Error>> {
    loop {
        let began = log.sending(call)?;
        let answer = perform(client, call).await?;
        let known = !matches!(answer, Answer::Unknown(_));
        log.answered(call, began, answer)?;
        if known {
            return Ok(());
        }
        tokio::time::sleep(AGAIN).await;
    }
}
