//! Unified diffs of texts.

use similar::TextDiff;

use crate::errors::CliResult;
use crate::output::{Output, clean};

/// Returns the diff of two texts, each given with its name. Empty if they are equal.
pub fn diff(from: (&str, &str), to: (&str, &str)) -> String {
    TextDiff::from_lines(from.1, to.1).unified_diff().context_radius(3).header(from.0, to.0).to_string()
}

/// Prints a diff, with colours if the terminal has them.
pub fn tell(out: &Output, diff: &str) -> CliResult {
    diff.lines().try_for_each(|line| out.styled(&out.changed(&clean(line))))
}
