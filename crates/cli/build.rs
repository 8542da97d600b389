//! Puts the pages of `docs/errors` into the binary, so that `rhythm explain FLOW007` needs no network and no checkout.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    pages.sort();
    let mut table = "pub const PAGES: &[(&str, &str)] = &[\n".to_owned();
    for page in pages {
        let Some(code) = page.file_name().and_then(|name| name.to_str()?.strip_suffix(".md")) else {
            continue;
        };
        if code != "README" {
            writeln!(table, "    ({code:?}, include_str!({:?})),", page.display().to_string())?;
        }
    }
    table.push_str("];\n");
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("error_pages.rs"), table)?;
    Ok(())
}
