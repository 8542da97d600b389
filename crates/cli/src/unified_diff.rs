//! Differences of texts as people know them.

use similar::TextDiff;

use crate::errors::CliResult;
use crate::output::{Output, clean};

/// Each side has a name and a text. Nothing when the texts are the same.
pub fn diff(from: (&str, &str), to: (&str, &str)) -> String {
    TextDiff::from_lines(from.1, to.1).unified_diff().context_radius(3).header(from.0, to.0).to_string()
}

/// In colours, where those are wanted.
pub fn tell(out: &Output, diff: &str) -> CliResult {
    diff.lines().try_for_each(|line| out.styled(&out.changed(&clean(line))))
}
