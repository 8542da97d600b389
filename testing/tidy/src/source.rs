//! Which files have prose, and what of them is prose.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders without prose of ours. Applied migrations are checksummed: they never change.
const SKIPPED: [&str; 9] =
    ["target", ".git", "node_modules", "corpus", "found", "dist", ".venv", "snapshots", "migrations"];

/// Marks of a comment line by the ending of a file. Pages are prose throughout.
fn marks(path: &Path) -> Option<&'static [&'static str]> {
    Some(match path.extension()?.to_str()? {
        "rs" | "ts" | "svelte" => &["//"],
        "py" | "sh" | "toml" => &["#"],
        "sql" => &["--"],
        "md" => &[],
        _ => return None,
    })
}

pub fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}

/// All files with prose below a folder, in order.
pub fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if marks(&path).is_some() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The lines of prose of a file: its comments, or a page without its code blocks.
pub fn prose(path: &Path, text: &str) -> Vec<String> {
    let Some(marks) = marks(path) else { return Vec::new() };
    if is_page(path) { page(text) } else { comments(text, marks) }
}

fn page(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push(line.replace(['`', '*', '|'], " "));
        }
    }
    lines
}

fn comments(text: &str, marks: &[&str]) -> Vec<String> {
    let comment = |line: &str| {
        let line = line.trim();
        let mark = marks.iter().find(|mark| line.starts_with(**mark))?;
        Some(line.trim_start_matches(mark).trim_start_matches(['/', '!', '#', '-']).trim().to_owned())
    };
    text.lines().map(|line| comment(line).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_prose_and_code_is_not() {
        let lines = prose(Path::new("a.rs"), "//! Owns it.\nlet nobody = 1;\n    /// A lease.\n");
        assert_eq!(lines, ["Owns it.", "", "A lease."]);
    }

    #[test]
    fn code_blocks_of_a_page_are_not_prose() {
        let lines = prose(Path::new("a.md"), "A `lease`.\n```sh\nnobody\n```\nMore.\n");
        assert_eq!(lines, ["A  lease .", "More."]);
    }
}
