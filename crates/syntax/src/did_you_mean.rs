//! Did you mean?

/// The candidate most like a word, if one is like enough: about a third of its letters may be wrong, or its end
/// missing. The first of several wins, so the answer depends on nothing but the arguments.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let letters: Vec<char> = word.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let allowed = (letters.len() / 3).max(1);
    let mut best: Option<((usize, bool), &str)> = None;
    for candidate in candidates {
        let other: Vec<char> = candidate.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
        let cut_short = letters.len() >= SHORTEST && other.starts_with(&letters);
        let distance = if cut_short { 1 } else { distance(&letters, &other) };
        // A word of one or two letters is like everything.
        let alike = distance <= allowed && distance < letters.len().max(other.len());
        // Of two that differ in their capitals, the one that begins like the word.
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

/// The beginning of a name counts as that name if it has this many letters.
const SHORTEST: usize = 3;
/// Nobody mistypes longer names, and comparing them costs the square of their length.
const LONGEST: usize = 64;

/// How many letters have to be added, left out, changed, or exchanged with their neighbour.
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
