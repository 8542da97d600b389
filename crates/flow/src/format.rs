//! The one layout of a `.flow` file. Formatting twice changes nothing more, no comment is lost, and the text means
//! what it meant: it parses to the same tree, apart from brackets that never mattered.
//!
//! - Two spaces a level, lines up to 100 characters, at most one blank line between statements.
//! - A statement a line, without `;`. It stays where the next line would otherwise continue the statement: before a
//!   line that begins with `-`, and between the name `workflow` and a block.
//! - Objects, lists and arguments stand on one line when they fit, otherwise one item a line with a comma after the
//!   last. An object whose first property is on a line of its own stays that way. A call may end in an object, a list
//!   or a function that is opened on its line.
//! - Strings are in double quotes, unless they contain those and no single ones.
//! - Round brackets go where they change nothing and clarify nothing: around a name, around a whole value.
//! - Comments stay before, behind and between statements and items. One within an expression keeps that expression
//!   as it was written; one within the head of a statement moves in front of it.
//! - Front matter and functions, which the language refuses anyway, are left alone.

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
