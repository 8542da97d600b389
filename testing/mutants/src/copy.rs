//! A private copy of the sources. Unchanged files are not touched, so that builds stay incremental.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Updates the copy with the files git tracks or would add, and returns their number.
pub fn refresh(root: &Path, tree: &Path) -> Result<usize, String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git: {error}"))?;
    if !listed.status.success() {
        return Err(String::from_utf8_lossy(&listed.stderr).into_owned());
    }
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let wanted: BTreeSet<PathBuf> =
        names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    let present: BTreeSet<PathBuf> = wanted.into_iter().filter(|file| root.join(file).is_file()).collect();
    for file in &present {
        copy_if_changed(&root.join(file), &tree.join(file))?;
    }
    for file in files_below(tree) {
        let known = file.strip_prefix(tree).is_ok_and(|file| present.contains(file));
        if !known {
            fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    Ok(present.len())
}

fn copy_if_changed(from: &Path, to: &Path) -> Result<(), String> {
    let name = |error: std::io::Error| format!("{}: {error}", from.display());
    let content = fs::read(from).map_err(name)?;
    if fs::read(to).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(name)?;
    }
    // Copies the permissions too, so that scripts stay executable.
    fs::copy(from, to).map(drop).map_err(name)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}
