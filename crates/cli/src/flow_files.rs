//! `.flow` files as commands name them: files, or folders that are searched for them.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use rhythm_core::flow::Diagnostic;
use rhythm_core::flow::render::{Style, render};

use crate::errors::{CliError, CliResult, color_wanted};
use crate::input;

pub struct FlowFile {
    pub path: String,
    pub source: String,
}

impl FlowFile {
    /// The file's name without its ending.
    pub fn stem(&self) -> String {
        Path::new(&self.path).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }
}

/// Reads everything the paths name, in order; of a folder, the files below it by name.
pub fn find(paths: &[String]) -> CliResult<Vec<FlowFile>> {
    let mut files = Vec::new();
    for path in paths {
        if !Path::new(path).is_dir() {
            files.push(FlowFile { path: path.clone(), source: input::read_text(path)? });
            continue;
        }
        let mut below = Vec::new();
        walk(Path::new(path), &mut below)?;
        if below.is_empty() {
            let reason = "no file below it ends in .flow".to_owned();
            return Err(CliError::BadFile { path: path.clone(), reason });
        }
        below.sort();
        for file in below {
            let path = file.display().to_string();
            files.push(FlowFile { source: input::read_text(&path)?, path });
        }
    }
    Ok(files)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> CliResult {
    let unreadable = |error: std::io::Error| CliError::BadFile {
        path: folder.display().to_string(),
        reason: error.to_string(),
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        // What begins with a dot is nobody's workflow, and links may lead in circles.
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "flow") {
            found.push(path);
        }
    }
    Ok(())
}

/// Diagnostics as the terminal at hand shows them.
pub fn rendered(path: &str, source: &str, diagnostics: &[Diagnostic]) -> String {
    let style = if color_wanted(std::io::stdout().is_terminal()) { Style::Coloured } else { Style::Plain };
    render(path, source, diagnostics, style)
}
