use clap::Args;
use clap_complete::Shell;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::help;

/// Write completions for a shell, to be loaded by it
#[derive(Debug, Args)]
#[command(after_help = "For bash: source <(rhythm completions bash)")]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self, settings: Settings) -> CliResult {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut help::command(), "rhythm", &mut script);
        settings.output.raw(&String::from_utf8_lossy(&script))
    }
}
