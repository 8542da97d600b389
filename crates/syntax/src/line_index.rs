//! Converts byte offsets to lines and columns.

use crate::Span;

/// Line and column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// The offsets at which the lines of a source begin.
pub struct Lines<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub fn of(source: &'a str) -> Self {
        let breaks = source.match_indices('\n').map(|(at, _)| at + 1);
        Self { source, starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// Returns the position of a byte. A byte within a character has the position of the character, one after
    /// the source that of its end.
    pub fn position(&self, offset: usize) -> Position {
        let line = self.line(offset);
        let before = self.source.get(self.start(line)..self.floor(offset)).unwrap_or_default();
        Position { line: line + 1, column: before.chars().count() + 1 }
    }

    /// Returns the index of the line of a byte.
    pub fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Returns the byte range of the lines a span touches, without the last line break.
    pub fn around(&self, span: Span) -> std::ops::Range<usize> {
        let start = self.start(self.line(span.range().start));
        let last = self.line(span.range().end.max(span.range().start));
        let end = self.starts.get(last + 1).map_or(self.source.len(), |next| next - 1);
        let line = self.source.get(start..end).unwrap_or_default();
        start..start + line.strip_suffix('\r').unwrap_or(line).len()
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or_default()
    }

    /// Returns the start of the character that contains a byte.
    pub fn floor(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.source.len());
        while !self.source.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let lines = Lines::of("ab\n\u{e9}\u{1f600}c\r\n");
        let at = |offset| {
            let Position { line, column } = lines.position(offset);
            (line, column)
        };
        assert_eq!([at(0), at(2), at(3), at(5), at(9)], [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3)]);
        assert_eq!(at(6), (2, 2), "within a character");
        assert_eq!([at(12), at(100)], [(3, 1), (3, 1)]);
        assert_eq!(Lines::of("").position(0), Position { line: 1, column: 1 });
    }
}
