//! What is counted in one piece of prose.

use std::ops::AddAssign;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// Words that stand for a noun somebody should have named, or for a number.
const DIALECT: &str = r"(?i)\b(?:whoever|whosoever|whomever|whatever it (?:is|was)|nobody|anybody|somebody|everybody|those who|that which|in vain|anew|dear(?:ly)?|(?:is|are|was|were|be) told|(?:is|are) said|so many|so much|as it stands|lest|likewise|thereby|meanwhile|besides itself|of its own accord|by itself alone|goes its way|comes? to (?:its|their) end|has (?:it|them) done|is (?:his|hers|theirs|ours|yours) to \w+|wants? (?:looking|doing))\b";

/// Sentences that begin with a relative clause instead of a subject: "What is due waits."
const OPENING: &str = r"(?:^|[.!:;]\s+)(?:What|Who|Whose|Those who|How|Where|That) [a-z][^.?!]{0,160}[.;,]";

static DIALECT_RE: LazyLock<Regex> = LazyLock::new(|| Regex::new(DIALECT).expect("the pattern is fixed"));
static OPENING_RE: LazyLock<Regex> = LazyLock::new(|| Regex::new(OPENING).expect("the pattern is fixed"));

/// Comment lines longer than rustfmt allows code to be are hard to read beside code.
const LINE_LIMIT: usize = 125;

/// How often each thing occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Words of the old dialect and openings without a subject.
    pub phrases: usize,
    /// Comment lines past the limit of columns.
    pub long_lines: usize,
    /// Promises of what does not exist.
    pub to_come: usize,
    /// All words, for the rate.
    pub words: usize,
}

impl Counts {
    /// Counts one file's prose: each line is a comment line or a paragraph line, an empty one ends the passage.
    pub fn of(lines: &[String], is_page: bool) -> Self {
        let text = lines.join(" ");
        let phrases = DIALECT_RE.find_iter(&text).count() + OPENING_RE.find_iter(&text).count();
        let too_long = |line: &&String| !is_page && line.chars().count() > LINE_LIMIT;
        Self {
            phrases,
            long_lines: lines.iter().filter(too_long).count(),
            to_come: text.matches("to come").count(),
            words: text.split_whitespace().count(),
        }
    }

    /// Phrases per thousand words.
    pub fn rate(&self) -> f64 {
        1000.0 * self.phrases as f64 / self.words.max(1) as f64
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.phrases += other.phrases;
        self.long_lines += other.long_lines;
        self.to_come += other.to_come;
        self.words += other.words;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        Counts::of(&text.lines().map(str::to_owned).collect::<Vec<_>>(), false)
    }

    #[test]
    fn hard_turns_of_phrase_are_counted() {
        assert_eq!(counts("Nobody is told whoever lost it.").phrases, 3);
        assert_eq!(counts("Expires leases. What is due waits, then.").phrases, 1);
        assert_eq!(counts("Returns the leases that expired.").phrases, 0);
    }

    #[test]
    fn long_lines_and_promises_are_counted() {
        let long = "word ".repeat(30);
        assert_eq!((counts(&long).long_lines, counts(&long).to_come), (1, 0));
        assert_eq!(counts("Code workflows are to come.").to_come, 1);
    }
}
