//! Suggests the most similar name.

/// Returns the candidate most similar to a word, if one is similar enough: about a third of the letters may
/// differ, or the end may be missing. The first of equals wins, so the result depends only on the arguments.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let letters: Vec<char> = word.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let allowed = (letters.len() / 3).max(1);
    let mut best: Option<((usize, bool), &str)> = None;
    for candidate in candidates {
        let other: Vec<char> = candidate.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
        let cut_short = letters.len() >= SHORTEST && other.starts_with(&letters);
        let distance = if cut_short { 1 } else { distance(&letters, &other) };
        // Every word is similar to one of one or two letters, so at least one letter must match.
        let alike = distance <= allowed && distance < letters.len().max(other.len());
        // Among candidates that differ only in case, prefer the one whose first letter has the same case.
        let ranked = (distance, !begins_alike(word, candidate));
        if alike && best.is_none_or(|(least, _)| ranked < least) {
            best = Some((ranked, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn begins_alike(word: &str, other: &str) -> bool {
    word.chars().next() == other.chars().next()
}

/// Shortest prefix, in letters, that counts as an abbreviation of a name.
const SHORTEST: usize = 3;
/// Longest part of a name that is compared, because the time grows with the square of the length.
const LONGEST: usize = 64;

/// Returns the number of letters to insert, delete, change, or swap with their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    let width = to.len() + 1;
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..width).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let changed = above[column] + usize::from(letter != other);
            let mut least = changed.min(above[column + 1] + 1).min(line[column] + 1);
            let exchanged = row > 0 && column > 0 && from[row - 1] == *other && to[column - 1] == *letter;
            if exchanged {
                least = least.min(before[column - 1] + 1);
            }
            line.push(least);
        }
        before = std::mem::replace(&mut above, line);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_candidate_is_found() {
        let keys = ["name", "queue", "timeout", "retries", "schedule"];
        for (word, expected) in [
            ("nmae", Some("name")),
            ("Name", Some("name")),
            ("que", Some("queue")),
            ("time_out", Some("timeout")),
            ("retry", None),
            ("retrys", Some("retries")),
            ("shedule", Some("schedule")),
            ("owner", None),
            ("", None),
        ] {
            assert_eq!(closest(word, keys), expected, "{word}");
        }
        assert_eq!(closest("input", ["Inputs", "inputs"]), Some("inputs"));
        assert_eq!(closest("Input", ["inputs", "Inputs"]), Some("Inputs"));
        assert_eq!(closest("x", ["y", "z"]), None);
        assert_eq!(closest("ab", ["ba"]), Some("ba"));
    }
}
