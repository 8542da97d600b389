//! Writes the table in `docs/internals/mutants.md`.

use std::path::{Path, PathBuf};

use crate::list::Mutant;

pub fn path(root: &Path) -> PathBuf {
    root.join("docs/internals/mutants.md")
}

/// Returns the page with one result for each mutant.
pub fn page(results: &[(&Mutant, String)], tried: &str) -> String {
    let caught = results.iter().filter(|(_, result)| result == "caught").count();
    let mut page = format!(
        "# Mutants\n\n\
         Deliberate faults, each in another promise or code path. `make mutants` puts them in one at a time, in a copy of\n\
         the sources, and requires that the named test fails, where it may fail for many reasons also that it says what\n\
         it should; this page is written by it. The faults themselves are in `testing/mutants/mutants.toml`; `make mutants\n\
         ONLY=name` tries one.\n\n\
         `make mutants SAMPLE=60` is another instrument: it makes that many random faults with `cargo-mutants` in the engine, the flow and\n\
         the graph language, runs the tests of the crate each is in, and fails when fewer than 85 % are caught. It prints its seed;\n\
         `SEED=7` repeats a sample. Missed faults are listed with their places.\n\n\
         {caught} of {} were caught when all were tried last, with {tried}.\n\n\
         | mutant | promise | file | caught by | result |\n|---|---|---|---|---|\n",
        results.len()
    );
    for (mutant, result) in results {
        page.push_str(&format!("{} {result} |\n", row(mutant)));
    }
    page
}

/// Returns a mutant's row without its result.
pub fn row(mutant: &Mutant) -> String {
    let file = mutant.file.strip_prefix("crates/").unwrap_or(&mutant.file);
    let says = mutant.says.as_ref().map(|says| format!(" (`{says}`)")).unwrap_or_default();
    let Mutant { name, promise, binary, test, .. } = mutant;
    format!("| `{name}` | {promise} | `{file}` | `{binary}` `{test}`{says} |")
}

/// Returns the rows of a page without their results, in page order.
pub fn rows(page: &str) -> Vec<&str> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_end_matches('|').rsplit_once('|').map_or(row, |(kept, _)| kept).trim_end())
        .collect()
}
