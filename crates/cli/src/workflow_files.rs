//! Finds the workflow files that commands name: flows and graphs, or folders that contain them.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use rhythm_core::WorkflowKind;
use rhythm_syntax::Diagnostic;
use rhythm_syntax::render::{Style, render};

use crate::errors::{CliError, CliResult, color_wanted};
use crate::input;

const FLOW: &str = ".flow";
const GRAPHS: [&str; 3] = [".graph.json", ".graph.yaml", ".graph.yml"];
/// Endings of graphs. Any file with one of them that is named directly is a graph.
const DOCUMENTS: [&str; 3] = [".json", ".yaml", ".yml"];

pub struct WorkflowFile {
    pub path: String,
    pub source: String,
}

impl WorkflowFile {
    pub fn kind(&self) -> WorkflowKind {
        kind_of(&self.path)
    }

    /// Returns the folder of the files that the workflow may refer to.
    pub fn folder(&self) -> &Path {
        folder(&self.path)
    }

    /// Returns the file's name without its ending.
    pub fn stem(&self) -> String {
        stem(&self.path)
    }
}

/// Returns the folder of a file, empty for the current folder.
pub fn folder(path: &str) -> &Path {
    Path::new(path).parent().unwrap_or(Path::new(""))
}

/// Returns the kind of a workflow file by its ending: JSON and YAML are graphs, everything else is a flow.
pub fn kind_of(path: &str) -> WorkflowKind {
    match DOCUMENTS.iter().any(|ending| path.ends_with(ending)) {
        true => WorkflowKind::Graph,
        false => WorkflowKind::Flow,
    }
}

/// Whether a name that may be a file or a registered workflow is a file.
pub fn is_file(target: &str) -> bool {
    target.ends_with(FLOW) || kind_of(target) == WorkflowKind::Graph || Path::new(target).is_file()
}

fn is_graph(path: &str) -> bool {
    GRAPHS.iter().any(|ending| path.ends_with(ending))
}

pub fn stem(path: &str) -> String {
    let name =
        Path::new(path).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let graph = GRAPHS.iter().find_map(|ending| name.strip_suffix(ending));
    let plain = || Path::new(&name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    graph.map(str::to_owned).or_else(plain).unwrap_or_default()
}

/// Reads all workflow files of the paths, in order. Files of a folder come by name.
pub fn find(paths: &[String]) -> CliResult<Vec<WorkflowFile>> {
    find_those(paths, |path| path.ends_with(FLOW) || is_graph(path), ".flow or .graph.yaml")
}

/// Reads workflow files like `find`, but searches folders only for flows.
pub fn find_flows(paths: &[String]) -> CliResult<Vec<WorkflowFile>> {
    find_those(paths, |path| path.ends_with(FLOW), FLOW)
}

fn find_those(paths: &[String], wanted: fn(&str) -> bool, endings: &str) -> CliResult<Vec<WorkflowFile>> {
    let mut files = Vec::new();
    for path in paths {
        if !Path::new(path).is_dir() {
            files.push(WorkflowFile { path: path.clone(), source: input::read_text(path)? });
            continue;
        }
        let mut below = Vec::new();
        walk(Path::new(path), wanted, &mut below)?;
        if below.is_empty() {
            return Err(CliError::EmptyFolder { path: path.clone(), endings: endings.to_owned() });
        }
        below.sort();
        for file in below {
            let path = file.display().to_string();
            files.push(WorkflowFile { source: input::read_text(&path)?, path });
        }
    }
    Ok(files)
}

fn walk(folder: &Path, wanted: fn(&str) -> bool, found: &mut Vec<PathBuf>) -> CliResult {
    let unreadable = |error: std::io::Error| CliError::BadFile {
        path: folder.display().to_string(),
        reason: error.to_string(),
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        // Skip hidden files, and links, which may form circles.
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with('.') || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(&path, wanted, found)?;
        } else if wanted(&name) {
            found.push(path);
        }
    }
    Ok(())
}

/// Renders diagnostics, with colours if the terminal has them.
pub fn rendered(path: &str, source: &str, diagnostics: &[Diagnostic]) -> String {
    let style = if color_wanted(std::io::stdout().is_terminal()) { Style::Coloured } else { Style::Plain };
    render(path, source, diagnostics, style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_what_a_file_is_and_what_it_is_called() {
        for (path, kind, name) in [
            ("a/order.flow", WorkflowKind::Flow, "order"),
            ("a/order.graph.yaml", WorkflowKind::Graph, "order"),
            ("order.v2.graph.json", WorkflowKind::Graph, "order.v2"),
            ("order.yml", WorkflowKind::Graph, "order"),
        ] {
            assert_eq!((kind_of(path), stem(path).as_str()), (kind, name), "{path}");
        }
    }
}
