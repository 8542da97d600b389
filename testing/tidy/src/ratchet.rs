//! The numbers each area may have.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use crate::count::Counts;
use crate::source::{files, is_page, prose};

/// An area is a crate, a folder of pages, or what lies beside them.
pub type Areas = BTreeMap<String, Counts>;

/// Where the numbers are kept, from the root of the repository.
pub const FILE: &str = "testing/tidy/ratchet.toml";

/// Counts everything below the root.
pub fn measure(root: &Path) -> io::Result<Areas> {
    let mut areas = Areas::new();
    for path in files(root)? {
        let inside = path.strip_prefix(root).unwrap_or(&path);
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        *areas.entry(area(inside)).or_default() += Counts::of(&prose(inside, &text), is_page(inside));
    }
    Ok(areas)
}

fn area(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    match parts.as_slice() {
        [_] => "root".to_owned(),
        [top, name, _, ..] if ["crates", "testing", "docs", "sdk"].contains(&top.as_str()) => {
            format!("{top}/{name}")
        }
        [top, ..] => top.clone(),
        [] => String::new(),
    }
}

/// One line for each area that has more than it may.
pub fn problems(allowed: &Areas, found: &Areas) -> Vec<String> {
    let mut problems = Vec::new();
    for (area, counts) in found {
        let limit = allowed.get(area).copied().unwrap_or_default();
        let kinds = [
            ("hard phrases", counts.phrases, limit.phrases),
            ("comment lines past 125 columns", counts.long_lines, limit.long_lines),
            ("uses of \"to come\"", counts.to_come, limit.to_come),
        ];
        for (kind, found, limit) in kinds {
            if found > limit {
                problems.push(format!("{area}: {found} {kind}, at most {limit} are allowed"));
            }
        }
    }
    problems
}

pub fn read(root: &Path) -> io::Result<Areas> {
    let text = fs::read_to_string(root.join(FILE))?;
    toml::from_str(&text).map_err(|error| io::Error::other(error.to_string()))
}

/// Writes today's numbers down. They may not be higher than before anywhere.
pub fn write(root: &Path, found: &Areas) -> io::Result<()> {
    let head = "# Hard turns of phrase each area may have. Lower the numbers with `cargo run -p rhythm-tidy -- --lower`.\n\n";
    let text = toml::to_string(found).map_err(|error| io::Error::other(error.to_string()))?;
    fs::write(root.join(FILE), format!("{head}{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_a_crate_or_a_folder_of_pages() {
        for (path, expected) in [
            ("README.md", "root"),
            ("crates/core/src/fold.rs", "crates/core"),
            ("docs/guide/flow.md", "docs/guide"),
            ("docs/README.md", "docs"),
            ("scripts/test.sh", "scripts"),
        ] {
            assert_eq!(area(Path::new(path)), expected);
        }
    }

    #[test]
    fn more_than_before_is_a_problem_and_less_is_not() {
        let areas = |phrases| Areas::from([("docs".to_owned(), Counts { phrases, ..Counts::default() })]);
        assert!(problems(&areas(3), &areas(3)).is_empty());
        assert!(problems(&areas(3), &areas(2)).is_empty());
        assert_eq!(problems(&areas(3), &areas(4)).len(), 1);
        assert_eq!(problems(&Areas::new(), &areas(1)).len(), 1, "a new area begins with none");
    }
}
