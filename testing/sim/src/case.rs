//! A recorded simulation and its file format. It holds everything the generators derived from the seed, so
//! the simulation stays the same when the generators change.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::faults::{Fault, Rates, rates};
use crate::plans::long_value;
use crate::process::Setup;
use crate::sim::Outcome;
use crate::workload::Workload;

/// Input of one simulation. The seed still decides the random draws during the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    pub seed: u64,
    /// Rates of the faults to inject. A fault that is not listed never happens.
    pub rates: Rates,
    pub setups: Vec<Setup>,
    pub workload: Workload,
}

impl Case {
    /// Generates the case of a seed with the current generators.
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "setups");
        let setups = (0..dice.number(2..4)).map(|number| Setup::new(&mut dice, number)).collect();
        Self { seed, rates: rates(seed), setups, workload: Workload::new(seed) }
    }

    /// A case without randomness in its environment: no faults, and all workers set up alike.
    pub fn tame(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "setups");
        let setups = (0..dice.number(2..4)).map(Setup::plain).collect();
        Self { seed, rates: Rates::new(), setups, workload: Workload::new(seed) }
    }
}

/// Placeholder in case files for a value too large to be stored inline.
const LONG_VALUE: &str = "<a long value>";

/// Text of `found` until a person describes the bug.
const NOTHING_YET: &str = "nothing yet";

/// A recorded case that once showed a bug.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Description of the bug, and the name of the test that prevents its return.
    pub found: String,
    /// Commit at which the case was recorded.
    pub commit: String,
    pub case: Case,
}

impl Kept {
    /// Records a case. Commit it only after `found` describes the bug.
    pub fn new(case: Case, outcome: &Outcome) -> Self {
        let found = outcome.violations.first().map(|first| format!("{}: {}", first.check, first.what));
        Self { found: found.unwrap_or_else(|| NOTHING_YET.into()), commit: commit(), case }
    }

    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = text.replace(LONG_VALUE, &long_value());
        let kept: Self =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        match kept.case.rates.keys().find(|name| Fault::named(name).is_none()) {
            Some(unknown) => Err(format!("{}: there is no fault {unknown:?}", path.display())),
            None => Ok(kept),
        }
    }

    /// Returns whether `found` describes the bug. Text in the form `checker: objection` only says where it
    /// showed.
    pub fn says_what_it_found(&self) -> bool {
        let is_name = |word: &str| word.chars().all(|letter| letter.is_ascii_lowercase());
        let as_written = self.found.split_once(": ").is_some_and(|(first, _)| is_name(first));
        !as_written && self.found != NOTHING_YET
    }

    /// Writes the case as `<seed>.json` and returns the path.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, String> {
        let path = folder.join(format!("{}.json", self.case.seed));
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        let text = text.replace(&long_value(), LONG_VALUE);
        std::fs::write(&path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

/// Returns the commit of the working tree, with a `+` when files differ from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "HEAD"]) else { return "unknown".into() };
    let clean =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changed| changed.is_empty());
    if clean { head } else { format!("{head}+") }
}
