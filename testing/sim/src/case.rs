//! One simulation written down: what the seed's generators made of it, so that it stays the same simulation when
//! they change, and the form in which such a case is kept in a file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::faults::{Fault, Rates, rates};
use crate::plans::long_value;
use crate::process::Setup;
use crate::sim::Outcome;
use crate::workload::Workload;

/// What to simulate. The seed still decides what the dice show on the way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    pub seed: u64,
    /// Faults that strike; none of those left out.
    pub rates: Rates,
    pub setups: Vec<Setup>,
    pub workload: Workload,
}

impl Case {
    /// What a seed says today.
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "setups");
        let setups = (0..dice.number(2..4)).map(|number| Setup::new(&mut dice, number)).collect();
        Self { seed, rates: rates(seed), setups, workload: Workload::new(seed) }
    }

    /// Nothing in it depends on luck: no faults, and workers all alike.
    pub fn tame(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "setups");
        let setups = (0..dice.number(2..4)).map(Setup::plain).collect();
        Self { seed, rates: Rates::new(), setups, workload: Workload::new(seed) }
    }
}

/// What stands in files for a value too large to stay inline.
const LONG_VALUE: &str = "<a long value>";

/// Until somebody says what was found.
const NOTHING_YET: &str = "nothing yet";

/// A case that once found something.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// What was wrong, and which test keeps it from coming back.
    pub found: String,
    /// Where it was recorded.
    pub commit: String,
    pub case: Case,
}

impl Kept {
    /// To be committed once `found` says what was wrong.
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

    /// Whether somebody has said what was wrong. What a checker says, under its name, is no more than where it showed.
    pub fn says_what_it_found(&self) -> bool {
        let is_name = |word: &str| word.chars().all(|letter| letter.is_ascii_lowercase());
        let as_written = self.found.split_once(": ").is_some_and(|(first, _)| is_name(first));
        !as_written && self.found != NOTHING_YET
    }

    /// Writes it as `<seed>.json` and says where.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, String> {
        let path = folder.join(format!("{}.json", self.case.seed));
        let text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        let text = text.replace(&long_value(), LONG_VALUE);
        std::fs::write(&path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

/// The commit this was built from, with a plus when files were changed since.
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
