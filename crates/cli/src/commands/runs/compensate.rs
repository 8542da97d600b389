use clap::Args;
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::session::Session;

/// Have a run of a graph take back what it did
#[derive(Debug, Args)]
#[command(after_help = "\
The compensators of all nodes that have ended are run, the last first, each with its own retries. A run that has ended is \
open until that is done and then ends as it had before; when something could not be taken back, it fails and says what is \
left. A run that has not ended is cancelled: it takes back what it did, and ends. A run that took back what it did when it \
failed or was cancelled is refused.")]
pub struct Compensate {
    run: String,
    /// Kept in the history
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

impl Compensate {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::open(&settings).await?;
        let run = session.client.find_run(&self.run).await?;
        let taking = session.client.compensate(&run, &self.reason).await?;
        let nodes = taking.nodes.join(", ");
        let text = match taking.cancelled {
            true => format!("run {run} was asked to stop and takes back the work of {nodes}"),
            false => format!("run {run} is open again to take back the work of {nodes}"),
        };
        let shown = json!({ "run": run, "nodes": taking.nodes, "cancelled": taking.cancelled });
        session.out.done(text, &shown)
    }
}
