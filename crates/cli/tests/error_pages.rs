//! Every code a user can meet has a page, every page a code, and the index lists them all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Quoted texts that look like a code: `"WORLD005"`.
fn numbered_codes(source: &str) -> impl Iterator<Item = String> + '_ {
    source.split('"').filter_map(|text| {
        let digits = text.get(text.len().checked_sub(3)?..)?;
        let letters = &text[..text.len() - 3];
        let upper = letters.len() >= 3 && letters.bytes().all(|byte| byte.is_ascii_uppercase());
        (upper && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.to_owned())
    })
}

/// Files with lines such as `pub const TIMEOUT: &str = "TIMEOUT";`: what tasks, programs and requests fail with.
const FAILURES: [&str; 4] = [
    "crates/core/src/failure.rs",
    "crates/flow/src/thrown.rs",
    "crates/http/src/codes.rs",
    "crates/sandbox/src/codes.rs",
];

fn failure_codes() -> Vec<String> {
    let mut codes = Vec::new();
    for file in FAILURES {
        let source = std::fs::read_to_string(root().join(file)).unwrap();
        let lines = source.lines().filter(|line| line.contains("pub const") && line.contains("&str = \""));
        let before = codes.len();
        codes.extend(lines.map(|line| line.split('"').nth(1).unwrap().to_owned()));
        assert!(codes.len() > before, "no codes in {file}");
    }
    codes
}

fn codes() -> BTreeSet<String> {
    let mut codes: BTreeSet<String> = failure_codes().into_iter().collect();
    for krate in ["core", "syntax", "flow", "graph", "engine", "worlds", "scenario", "rhythm", "cli"] {
        let mut files = Vec::new();
        rust_files(&root().join("crates").join(krate).join("src"), &mut files);
        for file in files {
            codes.extend(numbered_codes(&std::fs::read_to_string(file).unwrap()));
        }
    }
    codes
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let folder = root().join("docs/errors");
    let pages: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
        .filter(|name| name != "README")
        .collect();
    let codes = codes();
    assert!(codes.len() > 40, "the search for codes is broken: {codes:?}");
    assert_eq!(pages, codes, "left: pages in docs/errors, right: codes in the source");
}

#[test]
fn every_page_says_what_why_and_what_to_do_and_is_in_the_index() {
    let folder = root().join("docs/errors");
    let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for code in codes() {
        let page = std::fs::read_to_string(folder.join(format!("{code}.md"))).unwrap();
        assert!(page.starts_with(&format!("# {code}: ")), "{code}");
        for part in ["\n## Why it happens\n", "\n## What to do\n"] {
            assert!(page.contains(part), "{code}");
        }
        assert!(index.contains(&format!("[{code}]({code}.md)")), "{code} is not in the index");
    }
}
