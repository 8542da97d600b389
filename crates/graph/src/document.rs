//! Reads a graph's text into a tree. The first characters tell JSON from YAML, so no file name is needed.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Diagnostic;
use rhythm_syntax::spanned_value::{Node, NodeKind, Reader, Unreadable};

use super::codes;

/// Maximum length of a graph in bytes.
pub const SOURCE_LIMIT: usize = 1 << 20;
/// Maximum nesting of values. With the levels that the intermediate form adds, it stays below the limit of
/// JSON readers.
pub const DEPTH_LIMIT: usize = 100;

/// Reads a document. Fails with one diagnostic when the text is too long, cannot be read, or is not a
/// mapping.
pub fn read(source: &str) -> Result<Node, Diagnostic> {
    if source.len() > SOURCE_LIMIT {
        let label = format!("{} bytes", source.len());
        let help = format!(
            "at most {SOURCE_LIMIT} bytes: keep large configs as content and refer to them with `config_ref`"
        );
        return Err(Diagnostic::new(codes::TOO_LARGE, Span::new(0, 0), label).helped(help));
    }
    let reader = Reader { subject: "graph", offset: 0, depth: DEPTH_LIMIT };
    let root = match is_json(source) {
        true => reader.json(source).map(Some),
        false => reader.yaml(source),
    };
    let usual = match is_json(source) {
        true => "a text that begins with `{\"` is read as JSON",
        false => "a graph is JSON or YAML; in YAML, a key, a colon, a space and a value, and lists with `- `",
    };
    match root.map_err(|unreadable| refused(unreadable, usual))? {
        Some(root) if matches!(root.kind, NodeKind::Mapping(_)) => Ok(root),
        Some(root) => Err(another_form(root.span, root.describe())),
        None => Err(another_form(Span::new(0, 0), "nothing")),
    }
}

/// Returns whether the text is JSON. A YAML mapping in braces begins with a bare key instead.
fn is_json(source: &str) -> bool {
    let inner = source.trim_start_matches('\u{feff}').trim_start().strip_prefix('{').map(str::trim_start);
    inner.is_some_and(|inner| inner.is_empty() || inner.starts_with(['"', '}']))
}

fn another_form(span: Span, found: &str) -> Diagnostic {
    Diagnostic::new(codes::FORM, span, found)
        .titled("a graph is a mapping with `nodes`")
        .helped("write for example `nodes: [{id: fetch, type: task}]`")
}

fn refused(unreadable: Unreadable, usual: &str) -> Diagnostic {
    let diagnostic = Diagnostic::new(codes::UNREADABLE, unreadable.span, unreadable.label);
    let diagnostic = match unreadable.title {
        Some(title) => diagnostic.titled(title),
        None => diagnostic,
    };
    diagnostic.helped(unreadable.help.unwrap_or_else(|| usual.to_owned()))
}
