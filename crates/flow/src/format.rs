//! The one layout of a `.flow` file. Formatting a second time changes nothing, and no comment is lost. The
//! result parses to the same tree, apart from redundant round brackets.
//!
//! - Indentation is two spaces a level, lines have up to 100 characters, and at most one blank line separates
//!   statements.
//! - Each statement has its own line and no `;`. The `;` stays where the next line would otherwise continue
//!   the statement: before a line that begins with `-`, and between the name `workflow` and a block.
//! - Objects, lists and arguments are on one line if they fit, otherwise one item a line with a comma after
//!   the last. An object whose first property is on its own line stays that way. The last argument of a call
//!   may be an object, a list or a function that opens on the line of the call.
//! - Strings use double quotes, unless they contain double and no single quotes.
//! - Round brackets are removed where they are redundant and add no clarity: around a name or a whole value.
//! - Comments stay before, after and between statements and items. An expression with a comment inside is
//!   left as written; a comment in the head of a statement moves in front of the statement.
//! - Front matter is left as written, and so are functions, which the language refuses.

mod comments;
mod doc;
mod expression;
mod file;
mod items;
mod statement;
mod text;

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{Diagnostic, Severity};

use super::parser::parse;
use super::tree::{Comment, File};
use doc::Doc;

/// Returns the formatted text. Fails for a file with syntax errors, which is left as it is.
pub fn format(source: &str) -> Result<String, Vec<Diagnostic>> {
    let parsed = parse(source);
    let errors: Vec<_> = parsed.diagnostics.into_iter().filter(|d| d.severity == Severity::Error).collect();
    if errors.is_empty() { Ok(layout(source, &parsed.file)) } else { Err(errors) }
}

fn layout(source: &str, file: &File) -> String {
    let formatter = Formatter { source, comments: &file.comments };
    doc::print(&formatter.file(file))
}

struct Formatter<'a> {
    source: &'a str,
    /// Comments in source order.
    comments: &'a [Comment],
}

impl Formatter<'_> {
    /// Keeps the source of a span unchanged.
    fn verbatim(&self, span: Span) -> Doc {
        Doc::verbatim(span.text(self.source))
    }
}

#[cfg(test)]
mod tests;
