//! Formats items between brackets, with their comments.

use std::ops::Range;

use rhythm_syntax::Span;

use super::Formatter;
use super::comments::{Ends, Gap};
use super::doc::Doc;

/// A formatted item and its place in the source.
pub(super) struct Entry {
    pub(super) doc: Doc,
    pub(super) span: Span,
}

pub(super) struct Brackets {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Text between the brackets and the items when all are on one line.
    pub(super) pad: &'static str,
    /// Whether to break it even if it fits.
    pub(super) broken: bool,
}

impl Formatter<'_> {
    /// Formats the items; `inside` is the range between the brackets.
    pub(super) fn items(&self, brackets: &Brackets, inside: Range<usize>, entries: Vec<Entry>) -> Doc {
        let gaps = self.gaps(&inside, &entries);
        let lonely = gaps.iter().any(|gap| !gap.leading.is_empty() || !gap.trailing.is_empty());
        if entries.is_empty() && !lonely {
            return Doc::text(format!("{}{}", brackets.open, brackets.close));
        }
        let count = entries.len();
        let mut parts = Vec::new();
        let mut end = inside.start;
        for (index, (entry, gap)) in entries.into_iter().zip(&gaps).enumerate() {
            if index > 0 {
                parts.push(Doc::text(","));
                end = self.trail(&mut parts, gap, end);
            }
            let start = gap.prefix.first().map_or(entry.span, |comment| comment.span).range().start;
            let led = self.lead(&mut parts, gap, end, index > 0);
            parts.push(match led {
                Some(last) => Doc::Break { blank: self.blank_between(last..start) },
                None if index == 0 => Doc::Line { flat: brackets.pad, blank: false },
                None => Doc::Line { flat: " ", blank: self.blank_between(end..start) },
            });
            for comment in &gap.prefix {
                parts.extend([self.comment(comment), Doc::text(" ")]);
            }
            end = entry.span.range().end;
            parts.push(entry.doc);
            for comment in gaps.get(index + 1).map(|next| next.suffix.as_slice()).unwrap_or_default() {
                parts.extend([Doc::text(" "), self.comment(comment)]);
                end = comment.span.range().end;
            }
        }
        if count > 0 {
            parts.push(Doc::IfBroken(","));
        }
        if let Some(gap) = gaps.last() {
            if count > 0 {
                end = self.trail(&mut parts, gap, end);
            }
            self.lead(&mut parts, gap, end, count > 0);
        }
        let inside = Doc::Concat(parts).indent();
        let pad = Doc::Line { flat: brackets.pad, blank: false };
        let all = Doc::Concat(vec![Doc::text(brackets.open), inside, pad, Doc::text(brackets.close)]);
        if brackets.broken || lonely { all.broken() } else { all.group() }
    }

    /// Returns whether there is a comment between the items.
    pub(super) fn has_comments_between(
        &self,
        inside: Range<usize>,
        spans: impl Iterator<Item = Span>,
    ) -> bool {
        !self.strays(inside, spans.map(Span::range)).is_empty()
    }

    /// Returns the gap before each entry, and the one after the last.
    fn gaps(&self, inside: &Range<usize>, entries: &[Entry]) -> Vec<Gap<'_>> {
        let mut start = inside.start;
        let mut gaps = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let span = entry.span.range();
            gaps.push(self.gap(start..span.start, Ends { before: index > 0, after: true }));
            start = span.end;
        }
        gaps.push(self.gap(start..inside.end, Ends { before: !entries.is_empty(), after: false }));
        gaps
    }

    /// Adds the comments at the end of a line; returns the offset where the last one ends.
    pub(super) fn trail(&self, parts: &mut Vec<Doc>, gap: &Gap<'_>, mut end: usize) -> usize {
        for comment in &gap.trailing {
            parts.extend([Doc::text(" "), self.comment(comment)]);
            end = comment.span.range().end;
        }
        end
    }

    /// Adds the comments on lines of their own; returns the offset where the last one ends, if there is any.
    /// `blank` allows a blank line before the first.
    fn lead(&self, parts: &mut Vec<Doc>, gap: &Gap<'_>, mut end: usize, blank: bool) -> Option<usize> {
        for (index, comment) in gap.leading.iter().enumerate() {
            let blank = (index > 0 || blank) && self.blank_between(end..comment.span.range().start);
            parts.extend([Doc::Break { blank }, self.comment(comment)]);
            end = comment.span.range().end;
        }
        (!gap.leading.is_empty()).then_some(end)
    }
}
