//! Maximum cost of a query, computed from its text before it runs, because the library has no work limit.
//! Each value of the input is visited once per segment. It is visited more often when several selectors, or
//! `..` after `..`, find it again, and inside a filter once for each tested value.

use super::super::bounds::{Limit, Size};
use super::super::text::outside_quotes;

/// Maximum visits in one evaluation. Each visit may store a pointer.
const MAX_VISITS: u64 = 1_000_000;
/// Maximum nesting of filters and parentheses, because the parser tries both readings of each parenthesis.
const MAX_NESTING: usize = 8;
/// Maximum number of parts of all queries in one text.
const MAX_SEGMENTS: usize = 64;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    segments: Vec<Segment>,
}

#[derive(Debug, PartialEq, Eq)]
struct Segment {
    descends: bool,
    selectors: u64,
    /// A single name or index, which finds at most one value for each value it starts from.
    plain: bool,
    filters: Vec<Inner>,
}

/// A query inside a filter.
#[derive(Debug, PartialEq, Eq)]
struct Inner {
    /// It starts from `$`, not from the tested value.
    absolute: bool,
    shape: Shape,
}

impl Shape {
    /// Reads the shape of a query. A text that is not a query gives some shape or an error; the parser that
    /// runs afterwards reports it.
    pub fn of(query: &str) -> Result<Self, String> {
        let text: Vec<u8> = skeleton(query);
        if !text.starts_with(b"$") {
            return Err("a query begins with $".to_owned());
        }
        for name in ["match(", "search("] {
            if text.windows(name.len()).any(|part| part == name.as_bytes()) {
                return Err("queries have no match() and search(): use a condition of type cel".to_owned());
            }
        }
        let mut reader = Reader { text: &text, at: 1, segments: 0 };
        reader.shape(0)
    }

    /// Returns whether the query finds at most one value.
    pub fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| segment.plain && !segment.descends && segment.selectors == 1)
    }

    /// Refuses a query that could take too long on an input of this size.
    pub fn check(&self, size: Size) -> Result<(), Limit> {
        if self.visits(size.values, size) > MAX_VISITS { Err(Limit::Work) } else { Ok(()) }
    }

    /// Returns the maximum number of visits. `values` is the number of values below all starting points
    /// together.
    fn visits(&self, values: u64, size: Size) -> u64 {
        let depth = size.depth as u64;
        // `again` is how often one value can occur in the list; `nested` says whether values in the list can
        // contain one another.
        let (mut again, mut nested) = (1_u64, false);
        let (mut visits, mut single) = (0_u64, true);
        for segment in &self.segments {
            again = again.saturating_mul(segment.selectors);
            if segment.descends && nested {
                again = again.saturating_mul(depth);
            }
            single &= segment.plain && !segment.descends;
            nested |= segment.descends;
            let visited = if single { again } else { again.saturating_mul(values) };
            visits = visits.saturating_add(visited);
            for inner in &segment.filters {
                let cost = if inner.absolute {
                    // A comparison may read the whole input.
                    let once = inner.shape.visits(size.values, size).saturating_add(size.values);
                    visited.saturating_mul(once)
                } else {
                    let below = visited.saturating_mul(if nested { depth } else { 1 });
                    inner.shape.visits(below, size).saturating_add(below)
                };
                visits = visits.saturating_add(cost);
            }
        }
        visits
    }
}

/// Returns the text without blanks and with each quoted name replaced by one `'`.
fn skeleton(query: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(query.len());
    let mut next = 0;
    for (place, byte) in outside_quotes(query) {
        if place != next {
            bytes.push(b'\'');
        }
        next = place + 1;
        if !byte.is_ascii_whitespace() {
            bytes.push(byte);
        }
    }
    if next != query.len() {
        bytes.push(b'\'');
    }
    bytes
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    segments: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn shape(&mut self, nesting: usize) -> Result<Shape, String> {
        let mut shape = Shape::default();
        loop {
            let mut segment = Segment { descends: false, selectors: 1, plain: true, filters: Vec::new() };
            match (self.peek(0), self.peek(1)) {
                (Some(b'.'), Some(b'.')) => {
                    segment.descends = true;
                    self.at += 2;
                }
                (Some(b'.'), _) => self.at += 1,
                (Some(b'['), _) => {}
                _ => return Ok(shape),
            }
            self.segments += 1;
            if self.segments > MAX_SEGMENTS {
                return Err(format!("a query has at most {MAX_SEGMENTS} parts"));
            }
            if self.peek(0) == Some(b'[') {
                self.at += 1;
                self.bracket(&mut segment, nesting)?;
            } else {
                segment.plain = self.peek(0) != Some(b'*');
                self.at += 1;
                while self
                    .peek(0)
                    .is_some_and(|byte| byte == b'_' || !byte.is_ascii() || byte.is_ascii_alphanumeric())
                {
                    self.at += 1;
                }
            }
            shape.segments.push(segment);
        }
    }

    /// Reads from after the opening bracket to after the closing one.
    fn bracket(&mut self, segment: &mut Segment, nesting: usize) -> Result<(), String> {
        let mut parentheses = 0_usize;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b']' => return Ok(()),
                b',' if parentheses == 0 => segment.selectors += 1,
                b'*' | b':' | b'?' => segment.plain = false,
                b'(' => parentheses += 1,
                b')' => parentheses = parentheses.saturating_sub(1),
                b'$' | b'@' => {
                    let shape = self.inner(nesting)?;
                    segment.filters.push(Inner { absolute: byte == b'$', shape });
                }
                _ => {}
            }
            if parentheses + nesting > MAX_NESTING {
                return Err(format!("filters and parentheses of a query nest at most {MAX_NESTING} deep"));
            }
        }
        Ok(())
    }

    fn inner(&mut self, nesting: usize) -> Result<Shape, String> {
        if nesting >= MAX_NESTING {
            return Err(format!("filters and parentheses of a query nest at most {MAX_NESTING} deep"));
        }
        self.shape(nesting + 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(query: &str, values: u64, depth: usize) -> bool {
        let mut size = Size::of(&json!(1)).unwrap();
        (size.values, size.depth) = (values, depth);
        Shape::of(query).unwrap().check(size).is_ok()
    }

    #[test]
    fn a_path_of_names_and_indexes_is_singular() {
        for query in ["$", "$.a.b", "$['a b'][0]", "$.a['x,y'][-1]", "$.größe"] {
            assert!(Shape::of(query).unwrap().is_singular(), "{query}");
        }
        for query in ["$.*", "$..a", "$[0,1]", "$[1:2]", "$.a[?@.b]", "$.a[*]"] {
            assert!(!Shape::of(query).unwrap().is_singular(), "{query}");
        }
    }

    #[test]
    fn plain_queries_pass_on_the_largest_input() {
        for query in ["$.a", "$[*].amount", "$.a[?(@.tier == 'x')]", "$[?@.a == 1 && @.b == 2]"] {
            assert!(passes(query, 130_000, 4), "{query}");
        }
        assert!(passes("$..a", 400_000, 100));
    }

    #[test]
    fn what_multiplies_is_refused_on_large_inputs_only() {
        for query in ["$..*..*", "$[?$..a]", "$[?@..[?@..[?@..a]]]", "$[*,*,*,*,*,*,*,*]", "$[?$ == $]"] {
            assert!(!passes(query, 200_000, 60), "{query}");
            assert!(passes(query, 100, 3), "{query}");
        }
    }

    #[test]
    fn too_many_parts_and_too_deep_nesting_are_refused() {
        assert!(Shape::of(&format!("${}", ".a".repeat(65))).is_err());
        assert!(Shape::of(&format!("$[?{}@.a{}]", "(".repeat(9), ")".repeat(9))).is_err());
        assert!(Shape::of(&format!("${}", "[?@".repeat(9))).is_err());
        assert!(Shape::of("$[?match(@.a, 'x')]").is_err());
        assert!(Shape::of("$[?@.a == 'match(']").is_ok());
    }
}
