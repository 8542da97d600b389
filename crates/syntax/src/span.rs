//! Ranges of a source text.

/// A range of bytes of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        // A source is at most one mebibyte long, so its offsets fit.
        Self { start: start as u32, end: end as u32 }
    }

    /// Returns the span from the start of this one to the end of another.
    pub fn to(self, end: Self) -> Self {
        Self { start: self.start, end: end.end }
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub fn text(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or_default()
    }
}
