//! Compact encodings of many command numbers: sequences as runs, sets as ranges or bits.

use std::fmt;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// Largest number of handles of a run. A snapshot with more is damaged.
const MOST: u64 = 4_000_000;

/// One letter for six bits.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A sequence of `count` numbers with the distance `step`. In JSON `[first, count]`, `[first, count, step]`,
/// or only the number when there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: u64,
    pub count: u64,
    pub step: u64,
}

impl Run {
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |place| self.first.saturating_add(place.saturating_mul(self.step)))
    }
}

/// Splits the numbers, in their order, into runs by a single greedy pass.
pub fn runs(numbers: impl IntoIterator<Item = u64>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(run) if run.count == 1 && number > run.first => {
                (run.step, run.count) = (number - run.first, 2);
            }
            Some(run) if run.count > 1 && run.first + run.count * run.step == number => run.count += 1,
            _ => runs.push(Run { first: number, count: 1, step: 1 }),
        }
    }
    runs
}

/// Returns all numbers of the runs. Fails when there are more than any run can have.
pub fn spread<E: Error>(runs: &[Run]) -> Result<Vec<u64>, E> {
    let count = runs.iter().map(|run| run.count).fold(0, u64::saturating_add);
    if count > MOST {
        return Err(E::custom("too many numbers"));
    }
    Ok(runs.iter().flat_map(|run| run.numbers()).collect())
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self { first, count: 1, .. } => first.serialize(serializer),
            Self { first, count, step: 1 } => (first, count).serialize(serializer),
            Self { first, count, step } => (first, count, step).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Run;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a run of numbers")
            }

            fn visit_u64<E: Error>(self, first: u64) -> Result<Run, E> {
                Ok(Run { first, count: 1, step: 1 })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Run, A::Error> {
                let mut next = |missing: u64| Ok(seq.next_element()?.unwrap_or(missing));
                let run = Run { first: next(0)?, count: next(1)?, step: next(1)? };
                match seq.next_element::<u64>()? {
                    None => Ok(run),
                    Some(_) => Err(A::Error::custom("a run has at most three numbers")),
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// A set of numbers as sorted half-open ranges that do not touch each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    ranges: Vec<(u64, u64)>,
    count: u64,
}

impl Numbers {
    pub fn len(&self) -> u64 {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn first(&self) -> Option<u64> {
        self.ranges.first().map(|(from, _)| *from)
    }

    pub fn last(&self) -> Option<u64> {
        self.ranges.last().map(|(_, to)| to - 1)
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().flat_map(|(from, to)| *from..*to)
    }

    pub fn contains(&self, number: u64) -> bool {
        self.place(number).is_ok()
    }

    /// Returns whether it contains any number from `least` to `most`.
    pub fn meets(&self, least: u64, most: u64) -> bool {
        let after = self.ranges.partition_point(|(_, to)| *to <= least);
        self.ranges.get(after).is_some_and(|(from, _)| *from <= most)
    }

    pub fn insert(&mut self, number: u64) {
        let Err(place) = self.place(number) else { return };
        self.count += 1;
        let joins_before = place > 0 && self.ranges[place - 1].1 == number;
        let joins_after = self.ranges.get(place).is_some_and(|(from, _)| *from == number + 1);
        match (joins_before, joins_after) {
            (true, true) => {
                self.ranges[place - 1].1 = self.ranges[place].1;
                self.ranges.remove(place);
            }
            (true, false) => self.ranges[place - 1].1 += 1,
            (false, true) => self.ranges[place].0 -= 1,
            (false, false) => self.ranges.insert(place, (number, number + 1)),
        }
    }

    /// Adds a number; fastest for one larger than all others.
    pub fn push(&mut self, number: u64) {
        if self.add(number, 1).is_none() {
            self.insert(number);
        }
    }

    /// Removes a number; returns whether it was there.
    pub fn remove(&mut self, number: u64) -> bool {
        let Ok(place) = self.place(number) else { return false };
        self.count -= 1;
        let (from, to) = self.ranges[place];
        match (from == number, to == number + 1) {
            (true, true) => drop(self.ranges.remove(place)),
            (true, false) => self.ranges[place].0 += 1,
            (false, true) => self.ranges[place].1 -= 1,
            (false, false) => {
                self.ranges[place].1 = number;
                self.ranges.insert(place + 1, (number + 1, to));
            }
        }
        true
    }

    /// Returns the range that contains the number, or the index where a range that starts with it would be
    /// inserted.
    fn place(&self, number: u64) -> Result<usize, usize> {
        let place = self.ranges.partition_point(|(_, to)| *to <= number);
        match self.ranges.get(place) {
            Some((from, _)) if *from <= number => Ok(place),
            _ => Err(place),
        }
    }

    /// Returns the shorter of two forms: ranges as `1-20.23.30-41`, or `1:` and the bits from that number on,
    /// six in a letter.
    fn text(&self) -> String {
        let (Some(first), Some(last)) = (self.first(), self.last()) else { return String::new() };
        let bits = usize::try_from((last - first) / 6).unwrap_or(usize::MAX);
        let mut text = String::new();
        for (place, (from, to)) in self.ranges.iter().enumerate() {
            text.push_str(if place > 0 { "." } else { "" });
            text.push_str(&from.to_string());
            if to - from > 1 {
                text.push('-');
                text.push_str(&(to - 1).to_string());
            }
            if text.len() > bits.saturating_add(24) {
                return self.bits(first, last);
            }
        }
        text
    }

    fn bits(&self, first: u64, last: u64) -> String {
        let mut letters = vec![0_u8; ((last - first) / 6 + 1) as usize];
        for number in self.iter() {
            let bit = number - first;
            letters[(bit / 6) as usize] |= 1 << (bit % 6);
        }
        let letters = letters.into_iter().map(|bits| char::from(LETTERS[usize::from(bits)]));
        format!("{first}:").chars().chain(letters).collect()
    }

    fn read(text: &str) -> Option<Self> {
        let mut numbers = Self::default();
        if let Some((first, bits)) = text.split_once(':') {
            let first: u64 = first.parse().ok()?;
            for (place, letter) in (0_u64..).zip(bits.bytes()) {
                let six = LETTERS.iter().position(|known| *known == letter)?;
                for bit in (0..6).filter(|bit| six >> bit & 1 == 1) {
                    numbers.add(first.checked_add(6 * place + bit)?, 1)?;
                }
            }
            return Some(numbers);
        }
        for range in text.split('.').filter(|range| !range.is_empty()) {
            let (from, last) = range.split_once('-').unwrap_or((range, range));
            let (from, last): (u64, u64) = (from.parse().ok()?, last.parse().ok()?);
            numbers.add(from, last.checked_sub(from)?.checked_add(1)?)?;
        }
        Some(numbers)
    }

    /// Adds a range after all others; `None` when it is not after them or there would be too many numbers.
    fn add(&mut self, from: u64, count: u64) -> Option<()> {
        let to = from.checked_add(count)?;
        let sum = self.count.checked_add(count).filter(|count| *count <= MOST)?;
        match self.ranges.last_mut() {
            Some((_, end)) if *end > from => return None,
            Some((_, end)) if *end == from => *end = to,
            _ => self.ranges.push((from, to)),
        }
        self.count = sum;
        Some(())
    }
}

impl FromIterator<u64> for Numbers {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|number| set.insert(number));
        set
    }
}

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::read(&text).ok_or_else(|| D::Error::custom("this is no set of numbers"))
    }
}

#[cfg(test)]
mod tests;
