//! "Did you mean": the nearest of the names there are.

/// Names longer than this are not compared.
const LONGEST: usize = 40;

/// The candidate most like a name, if one is like enough; of equals the first in the alphabet.
pub(super) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.chars().take(LONGEST + 1).collect();
    if wanted.len() > LONGEST {
        return None;
    }
    let tolerated = match wanted.len() {
        0..3 => 0,
        3..6 => 1,
        _ => 2,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let Some(distance) = distance(&wanted, candidate, tolerated) else { continue };
        if best.is_none_or(|nearest| (distance, candidate) < nearest) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// How many letters are to be changed, added, left out or swapped with a neighbour; nothing when more than
/// tolerated. Capitals count for nothing when all else is equal.
fn distance(wanted: &[char], candidate: &str, tolerated: usize) -> Option<usize> {
    let mut letters = ['\0'; LONGEST];
    let mut length = 0;
    for letter in candidate.chars() {
        *letters.get_mut(length)? = letter;
        length += 1;
    }
    let candidate = &letters[..length];
    if wanted.len().abs_diff(length) > tolerated {
        return None;
    }
    let lower = |letter: &char| letter.to_lowercase().next().unwrap_or(*letter);
    if wanted.iter().map(lower).eq(candidate.iter().map(lower)) {
        return Some(0);
    }
    // What both begin and end with needs no table.
    let same = |(one, other): &(&char, &char)| one == other;
    let start = wanted.iter().zip(candidate).take_while(same).count();
    let (wanted, candidate) = (&wanted[start..], &candidate[start..]);
    let end = wanted.iter().rev().zip(candidate.iter().rev()).take_while(same).count();
    let (wanted, candidate) = (&wanted[..wanted.len() - end], &candidate[..candidate.len() - end]);
    changes(wanted, candidate, tolerated)
}

fn changes(wanted: &[char], candidate: &[char], tolerated: usize) -> Option<usize> {
    let width = candidate.len() + 1;
    let mut before = [0; LONGEST + 1];
    let mut above: [usize; LONGEST + 1] = std::array::from_fn(|column| column);
    for (row, letter) in wanted.iter().enumerate() {
        let mut current = [row + 1; LONGEST + 1];
        for (column, other) in candidate.iter().enumerate() {
            let changed = above[column] + usize::from(letter != other);
            let mut least = changed.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped =
                row > 0 && column > 0 && *letter == candidate[column - 1] && wanted[row - 1] == *other;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            current[column + 1] = least;
        }
        if current[..width].iter().all(|least| *least > tolerated) {
            return None;
        }
        before = above;
        above = current;
    }
    Some(above[width - 1]).filter(|least| *least <= tolerated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_hand_are_understood() {
        let names = ["amount", "orderId", "items", "run", "length", "x"];
        let near = |name| nearest(name, names);
        assert_eq!(near("amuont"), Some("amount"));
        assert_eq!(near("ammount"), Some("amount"));
        assert_eq!(near("orderid"), Some("orderId"));
        assert_eq!(near("itms"), Some("items"));
        assert_eq!(near("rum"), Some("run"));
        assert_eq!(near("lenght"), Some("length"));
        assert_eq!(near("y"), None);
        assert_eq!(near("customer"), None);
        assert_eq!(nearest("ab", ["ac"]), None);
        assert_eq!(nearest("abc", ["abd", "aba"]), Some("aba"));
        assert_eq!(nearest(&"a".repeat(41), ["a"]), None);
        assert_eq!(nearest("", [""]), Some(""));
    }
}
