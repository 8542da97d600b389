//! Files beside a graph: read within the folder of the graph's own file by whoever registers it, and stored as content. What is
//! registered has their hashes in place of their paths, so no world ever opens a path.

use std::path::{Component, Path};

use rhythm_core::BlobRef;
use rhythm_graph::codes::FILE;
use rhythm_graph::{Context, compile, file_references};
use rhythm_syntax::Diagnostic;
use rhythm_syntax::diagnostic::excerpt;
use serde_json::Value;

use super::{Content, Refused};

/// A file is at most this long.
const LONGEST: u64 = 1024 * 1024;

/// A graph with the files it refers to.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// The text to register: hashes in place of paths.
    pub source: String,
    /// What the files hold, to be stored first.
    pub files: Vec<(BlobRef, Vec<u8>)>,
    /// What the files hold, by their paths as the graph writes them and by their full references.
    pub content: Content,
}

/// Reads the files a graph refers to, within this folder. What is wrong with any of them is told beside what else is wrong with
/// the graph.
pub fn gather(folder: &Path, source: &str) -> Result<Gathered, Refused> {
    let mut gathered = Gathered { source: source.to_owned(), ..Gathered::default() };
    let mut wrong = Vec::new();
    // From the end, so that places before stay where they are.
    for (path, span) in file_references(source).into_iter().rev() {
        let refuse = |reason: &str, help: &str| {
            let title = format!("the file `{}` cannot be taken along", excerpt(&path));
            Diagnostic::new(FILE, span, reason).titled(title).helped(help)
        };
        let bytes = match read(folder, &path) {
            Ok(bytes) => bytes,
            Err((reason, help)) => {
                wrong.push(refuse(&reason, help));
                continue;
            }
        };
        let value = match value(&path, &bytes) {
            Ok(value) => value,
            Err(reason) => {
                wrong.push(refuse(&reason, "content is JSON, or a program as text"));
                continue;
            }
        };
        let blob = BlobRef::of(&bytes);
        match replaced(&gathered.source[span.range()], &path, &blob.hash) {
            Some(reference) => gathered.source.replace_range(span.range(), &reference),
            None => {
                wrong.push(refuse("written in several parts", "write the path in one piece, on one line"))
            }
        }
        gathered.content.insert(path, value.clone());
        gathered.content.insert(format!("cas://{}", blob.hash), value);
        gathered.files.push((blob, bytes));
    }
    if wrong.is_empty() {
        return Ok(gathered);
    }
    let content = gathered.content;
    let look = |reference: &str| content.get(reference).cloned();
    let others = compile(source, &Context { content: &look, ..Context::default() }).diagnostics;
    wrong.extend(others.into_iter().filter(|other| other.code != FILE.id));
    wrong.sort_by_key(|found| (found.span, found.severity));
    Err(Refused { diagnostics: wrong })
}

/// The same for who only looks: what cannot be read is missing then.
pub fn content(folder: &Path, source: &str) -> Content {
    let mut content = Content::new();
    for (path, _) in file_references(source) {
        if let Ok(value) =
            read(folder, &path).map_err(drop).and_then(|bytes| value(&path, &bytes).map_err(drop))
        {
            content.insert(path, value);
        }
    }
    content
}

/// A reference with the quotes that its path has.
fn replaced(text: &str, path: &str, hash: &str) -> Option<String> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let bare = match quote {
        Some(quote) => text.strip_prefix(quote)?.strip_suffix(quote)?,
        None => text,
    };
    let quote = quote.map(String::from).unwrap_or_default();
    (bare == path).then(|| format!("{quote}{hash}{quote}"))
}

fn read(folder: &Path, path: &str) -> Result<Vec<u8>, (String, &'static str)> {
    const WITHIN: &str =
        "write `./NAME`: only files within the folder of the graph's own file are taken along";
    const THERE: &str = "check the path; it begins at the folder of the graph's own file";
    let inner = Path::new(path);
    if !path.starts_with('.') {
        return Err(("no path within the folder".to_owned(), WITHIN));
    }
    if inner.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(("`..` leads out of the folder".to_owned(), WITHIN));
    }
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => ("there is no such file".to_owned(), THERE),
        _ => (error.to_string(), THERE),
    };
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let root = folder.canonicalize().map_err(failed)?;
    let file = root.join(inner).canonicalize().map_err(failed)?;
    if !file.starts_with(&root) {
        return Err(("a link that leads out of the folder".to_owned(), WITHIN));
    }
    let facts = file.metadata().map_err(failed)?;
    match (facts.is_file(), facts.len()) {
        (false, _) => Err(("this is no file".to_owned(), THERE)),
        (true, 0) => Err(("the file is empty".to_owned(), "write what it should hold")),
        (true, size) if size > LONGEST => Err((
            format!("{size} bytes; a file has at most {LONGEST}"),
            "store it with `rhythm artifacts put FILE`, and refer to its hash",
        )),
        _ => std::fs::read(&file).map_err(failed),
    }
}

/// What a file holds: JSON, or a text.
fn value(path: &str, bytes: &[u8]) -> Result<Value, String> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    if ends(&[".yaml", ".yml"]) {
        return Err("this is YAML".to_owned());
    }
    match serde_json::from_slice(bytes) {
        Ok(value) => Ok(value),
        Err(error) if ends(&[".json"]) => Err(format!("no valid JSON: {error}")),
        Err(_) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::from(text)),
            Err(_) => Err("no UTF-8 text".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_quotes_as_a_hash() {
        for (text, expected) in [
            ("./a.json", Some("sha256:1")),
            ("\"./a.json\"", Some("\"sha256:1\"")),
            ("'./a.json'", Some("'sha256:1'")),
            ("\"./\\u0061.json\"", None),
            ("|\n  ./a.json", None),
        ] {
            assert_eq!(replaced(text, "./a.json", "sha256:1").as_deref(), expected, "{text}");
        }
    }
}
