//! Assigns comments to the items around them.

use std::ops::Range;

use rhythm_syntax::Span;

use super::Formatter;
use super::doc::Doc;
use crate::tree::Comment;

/// The comments between two items, sorted by the item they belong to.
#[derive(Default)]
pub(super) struct Gap<'a> {
    /// After the previous item, on its line and before a comma.
    pub(super) suffix: Vec<&'a Comment>,
    /// After the previous item and its comma, up to the end of the line.
    pub(super) trailing: Vec<&'a Comment>,
    /// On lines of their own.
    pub(super) leading: Vec<&'a Comment>,
    /// On the line of the next item, before it.
    pub(super) prefix: Vec<&'a Comment>,
}

/// Whether there is an item at each end of a gap.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) before: bool,
    pub(super) after: bool,
}

impl<'a> Formatter<'a> {
    /// Returns the comments within a range of bytes.
    pub(super) fn comments_in(&self, range: Range<usize>) -> &'a [Comment] {
        let first = self.comments.partition_point(|comment| comment.span.range().start < range.start);
        let last = self.comments.partition_point(|comment| comment.span.range().end <= range.end);
        self.comments.get(first..last).unwrap_or_default()
    }

    /// Returns whether a span contains comments outside of the parts that print their own.
    pub(super) fn has_stray(&self, span: Span, parts: impl IntoIterator<Item = Range<usize>>) -> bool {
        !self.strays(span.range(), parts).is_empty()
    }

    /// Returns the comments of a range that are in none of its parts. The parts must be sorted.
    pub(super) fn strays(
        &self,
        range: Range<usize>,
        parts: impl IntoIterator<Item = Range<usize>>,
    ) -> Vec<&'a Comment> {
        let mut strays = Vec::new();
        if self.comments_in(range.clone()).is_empty() {
            return strays;
        }
        let mut start = range.start;
        for part in parts {
            strays.extend(self.comments_in(start..part.start));
            start = part.end;
        }
        strays.extend(self.comments_in(start..range.end));
        strays
    }

    /// Sorts the comments of a gap.
    pub(super) fn gap(&self, range: Range<usize>, ends: Ends) -> Gap<'a> {
        let comments = self.comments_in(range.clone());
        let mut gap = Gap::default();
        let comma = self.comma(range.clone(), comments);
        let inline = |comment: &Comment| {
            let text = self.text_of(comment);
            text.starts_with("/*") && !text.contains('\n')
        };
        // From the end: comments directly before the next item.
        let mut prefix = comments.len();
        let mut next = range.end;
        while ends.after
            && let Some(index) = prefix.checked_sub(1)
        {
            let Some(comment) = comments.get(index).filter(|comment| inline(comment)) else { break };
            if comma.is_some_and(|comma| comment.span.range().start < comma)
                || self.breaks_line(comment.span.range().end..next)
            {
                break;
            }
            prefix = index;
            next = comment.span.range().start;
        }
        let mut previous = range.start;
        let mut same_line = ends.before;
        for (index, comment) in comments.iter().enumerate() {
            let at = comment.span.range();
            same_line &= !self.breaks_line(previous..at.start);
            let before_comma = comma.map_or(!ends.after, |comma| at.start < comma);
            if same_line && inline(comment) && before_comma {
                gap.suffix.push(comment);
            } else if index >= prefix {
                gap.prefix.push(comment);
            } else if same_line {
                gap.trailing.push(comment);
            } else {
                gap.leading.push(comment);
            }
            previous = at.end;
            same_line &= !self.text_of(comment).contains('\n');
        }
        gap
    }

    /// Returns the offset of the comma in a gap.
    fn comma(&self, range: Range<usize>, comments: &[Comment]) -> Option<usize> {
        let mut start = range.start;
        for index in 0..=comments.len() {
            let next = comments.get(index).map_or(range.end..range.end, |comment| comment.span.range());
            let between = self.source.get(start..next.start).unwrap_or_default();
            if let Some(at) = between.find(',') {
                return Some(start + at);
            }
            start = next.end;
        }
        None
    }

    pub(super) fn breaks_line(&self, range: Range<usize>) -> bool {
        self.source.get(range).unwrap_or_default().contains('\n')
    }

    /// Returns whether a range that contains only separators includes a blank line.
    pub(super) fn blank_between(&self, range: Range<usize>) -> bool {
        self.source.get(range).unwrap_or_default().matches('\n').nth(1).is_some()
    }

    pub(super) fn text_of(&self, comment: &Comment) -> &'a str {
        comment.span.text(self.source)
    }

    pub(super) fn comment(&self, comment: &Comment) -> Doc {
        Doc::comment(self.text_of(comment))
    }
}
