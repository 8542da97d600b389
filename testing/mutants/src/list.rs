//! The list of mutants and the rules it must follow.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mutant: Vec<Mutant>,
}

/// One deliberate fault.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    pub name: String,
    /// Promise the fault breaks.
    pub promise: String,
    /// Path from the root of the repository.
    pub file: String,
    /// Text that occurs exactly once in the file.
    pub find: String,
    pub replace: String,
    pub package: String,
    /// Test binary of the package, or `lib` for tests beside the code.
    pub binary: String,
    /// Full name of the test that must fail.
    pub test: String,
    /// Message the test must print, for tests that can fail for several reasons.
    pub says: Option<String>,
}

impl Mutant {
    /// Returns the file's text with the fault in it.
    pub fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            times => Err(format!("{}: the text to change occurs {times} times in {}", self.name, self.file)),
        }
    }

    /// Returns the position of the fault in its file.
    pub fn place(&self, text: &str) -> Option<std::ops::Range<usize>> {
        let start = text.find(&self.find)?;
        // Surrounding spaces do not count, so that overlaps are found.
        let leading = self.find.len() - self.find.trim_start().len();
        Some(start + leading..start + leading + self.find.trim().len())
    }

    /// Returns the files that may contain the named test.
    pub fn test_sources(&self, root: &Path) -> Vec<PathBuf> {
        let package = folder(root, &self.package);
        let conformance = || self.test.split_once("::").map(|(module, _)| module);
        match (self.binary.as_str(), conformance()) {
            ("lib", _) => rust_files(&package.join("src")),
            (binary, Some(module)) if binary.ends_with("_conformance") => {
                vec![root.join(format!("crates/conformance/src/{module}.rs"))]
            }
            (binary, _) if binary.ends_with("_model") => {
                vec![root.join("crates/conformance/src/model.rs")]
            }
            (binary, _) => vec![package.join("tests").join(format!("{binary}.rs"))],
        }
    }

    /// Returns whether the named test exists.
    pub fn test_exists(&self, root: &Path) -> bool {
        let function = self.test.rsplit("::").next().unwrap_or(&self.test);
        // The second form is how the laboratory lists its scenarios.
        let declared = [format!("fn {function}("), format!("    {function} \"")];
        let there = |text: String| declared.iter().any(|declaration| text.contains(declaration));
        self.test_sources(root).iter().any(|file| fs::read_to_string(file).is_ok_and(there))
    }
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

pub fn read(root: &Path) -> Result<Vec<Mutant>, String> {
    let path = root.join("testing/mutants/mutants.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file: File = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(file.mutant)
}

/// Returns the folder of a package: its name without the prefix `rhythm-`. The SDK is just `rhythm`.
fn folder(root: &Path, package: &str) -> PathBuf {
    let name = package.strip_prefix("rhythm-").unwrap_or(package);
    let product = root.join("crates").join(name);
    if product.is_dir() { product } else { root.join("testing").join(name) }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}
