//! The table of `docs/internals/mutants.md`.

use std::path::{Path, PathBuf};

use crate::list::Mutant;

pub fn path(root: &Path) -> PathBuf {
    root.join("docs/internals/mutants.md")
}

/// The page, with one result for each mutant.
pub fn page(results: &[(&Mutant, String)]) -> String {
    let mut page = String::from(
        "# Mutants\n\n\
         Deliberate faults, each in another promise or code path. `make mutants` puts them in one at a time, in a copy of\n\
         the sources, and requires that the named test fails; this page is written by it. The faults themselves are in\n\
         `crates/mutants/mutants.toml`; `make mutants ONLY=name` tries one.\n\n\
         | mutant | promise | file | caught by | result |\n|---|---|---|---|---|\n",
    );
    for (mutant, result) in results {
        let file = mutant.file.strip_prefix("crates/").unwrap_or(&mutant.file);
        page.push_str(&format!(
            "| `{}` | {} | `{file}` | `{}` `{}` | {result} |\n",
            mutant.name, mutant.promise, mutant.binary, mutant.test
        ));
    }
    page
}

/// The names a page lists, in its order.
pub fn names(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| row.split('`').nth(1)).map(str::to_owned).collect()
}
