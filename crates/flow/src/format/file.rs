//! Formats the whole file: front matter, the form of the program, its body, and the comments around them.

use super::Formatter;
use super::doc::Doc;
use super::statement::After;
use crate::tree::{File, Form, FrontMatter};

impl Formatter<'_> {
    pub(super) fn file(&self, file: &File) -> Doc {
        let mut parts = Vec::new();
        let mut end = 0;
        if let Some(front_matter) = &file.front_matter {
            end = self.front_matter(&mut parts, front_matter);
        }
        if file.form == Form::Bare {
            let after = if end > 0 { After::Program } else { After::Nothing };
            parts.extend(self.statements(&file.body.statements, end..self.source.len(), after));
        } else {
            end = self.wrapped(&mut parts, file, end);
            parts.extend(self.statements(&[], end..self.source.len(), After::Program));
        }
        // No line break before the first line.
        if let Some(Doc::Break { .. }) = parts.first() {
            parts.remove(0);
        }
        Doc::Concat(parts)
    }

    /// Adds the front matter; returns the offset of its end.
    fn front_matter(&self, parts: &mut Vec<Doc>, front_matter: &FrontMatter) -> usize {
        let text = front_matter.span.range();
        let before = self.source.get(..text.start).unwrap_or_default();
        let fence = before.rfind("```").unwrap_or_default();
        parts.extend(self.statements(&[], 0..fence, After::Nothing));
        parts.push(Doc::Break { blank: parts.len() > 1 && self.blank_before(fence) });
        let opening = before.get(fence..).unwrap_or_default().trim_end();
        let yaml = front_matter.text.replace("\r\n", "\n");
        let line = if yaml.is_empty() || yaml.ends_with('\n') { "" } else { "\n" };
        parts.push(Doc::verbatim(&format!("{opening}\n{yaml}{line}```")));
        let after = self.source.get(text.end..).unwrap_or_default();
        text.end + after.find("```").map_or(0, |at| at + 3)
    }

    /// Returns whether the line before `offset` is blank.
    fn blank_before(&self, offset: usize) -> bool {
        let before = self.source.get(..offset).unwrap_or_default();
        self.blank_between(before.trim_end().len()..offset)
    }

    /// Adds a body in braces with its head; returns the offset of its end.
    fn wrapped(&self, parts: &mut Vec<Doc>, file: &File, start: usize) -> usize {
        let body = file.body.span.range();
        let comments = self.comments_in(start..body.start);
        let mut end = start;
        for comment in comments {
            let at = comment.span.range();
            parts.push(Doc::Break { blank: end > 0 && self.blank_between(end..at.start) });
            parts.push(self.comment(comment));
            end = at.end;
        }
        let between = self.source.get(end..body.start).unwrap_or_default();
        let head = end + (between.len() - between.trim_start().len());
        parts.push(Doc::Break { blank: end > 0 && self.blank_between(end..head) });
        parts.push(Doc::text(match &file.form {
            Form::Main => "async function main() ".to_owned(),
            Form::Workflow { parameters } if !parameters.is_empty() => {
                let names: Vec<_> = parameters.iter().map(|name| name.text.as_str()).collect();
                format!("workflow({}) ", names.join(", "))
            }
            _ => "workflow ".to_owned(),
        }));
        parts.push(self.block(&file.body));
        body.end
    }
}
