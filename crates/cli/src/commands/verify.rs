use clap::Args;
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::output::count;
use crate::session::Session;

/// Fold a run's history again and compare it with what is stored
#[derive(Debug, Args)]
pub struct Verify {
    run: String,
}

impl Verify {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let run = session.client.find_run(&self.run).await?;
        let verified = verify(&session.client, &Programs::default(), &run).await?;
        match verified.problem {
            Some(problem) => Err(CliError::Unverified { run: run.to_string(), problem }),
            None => {
                let (events, counter) = (verified.events, verified.counter);
                let mut text = format!("run {run} verifies: {events} history rows fold to what is stored");
                if let Some(counter) = counter {
                    text.push_str(&format!(", {} left", count(counter, "token")));
                }
                let told = json!({ "run": run, "events": events, "counter": counter, "verified": true });
                session.out.done(text, &told)
            }
        }
    }
}
