//! `cargo run -p rhythm-tidy`: compares the counts with `ratchet.toml`; `--lower` writes lower numbers down, `--list`
//! shows every area.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use std::path::Path;
use std::process::ExitCode;

use rhythm_tidy::ratchet::{Areas, measure, problems, read, write};

fn main() -> ExitCode {
    match run() {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            eprintln!("{}", problems.join("\n"));
            eprintln!(
                "Write plainer sentences (CONTRIBUTING.md, \"Plain words\"); the limits are not raised."
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> std::io::Result<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let option = std::env::args().nth(1).unwrap_or_default();
    let found = measure(&root)?;
    if option == "--list" {
        list(&found);
    }
    let allowed = read(&root).unwrap_or_default();
    let problems = problems(&allowed, &found);
    if option == "--lower" && (problems.is_empty() || allowed.is_empty()) {
        write(&root, &found)?;
        return Ok(Vec::new());
    }
    Ok(problems)
}

fn list(found: &Areas) {
    for (area, counts) in found {
        let rate = counts.rate();
        println!("{area:24} {:5} phrases in {:6} words, {rate:5.1} per 1,000", counts.phrases, counts.words);
    }
}
