//! Regular expressions, in an engine without backtracking. The compiled size is limited, and the cost is paid
//! before a match runs.

use regex::{Regex, RegexBuilder};

use super::bounds::{Fuel, Limit};

const MAX_PATTERN: usize = 1024;
/// Compiled sizes to try, in bytes. The first that is enough gives the cost of the pattern.
const SIZES: [usize; 6] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 19];
/// Maximum bytes of the automaton that the engine builds while it matches.
const DFA: usize = 1 << 18;
/// Compiled bytes for each unit of work per byte read. One state takes about 32 bytes.
const BYTES_A_UNIT: u64 = 256;

/// A pattern with its worst-case cost for one byte of text.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    cost: u64,
}

impl Pattern {
    pub fn compile(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_PATTERN {
            return Err(format!("a pattern is at most {MAX_PATTERN} bytes long"));
        }
        for size in SIZES {
            match RegexBuilder::new(pattern).size_limit(size).dfa_size_limit(DFA).nest_limit(32).build() {
                Ok(regex) => return Ok(Self { regex, cost: 1 + size as u64 / BYTES_A_UNIT }),
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(error) => return Err(first_words(&error.to_string())),
            }
        }
        Err("the pattern is too large once compiled".to_owned())
    }

    pub fn is_match(&self, text: &str, fuel: &mut Fuel) -> Result<bool, Limit> {
        fuel.take(self.cost.saturating_mul(text.len() as u64 + 1))?;
        Ok(self.regex.is_match(text))
    }
}

/// Returns the last line of the library's message, which names the error. The other lines draw its position.
fn first_words(message: &str) -> String {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_explodes_elsewhere_is_refused_or_quick() {
        assert!(Pattern::compile("(a{1000}){1000}").is_err());
        assert!(Pattern::compile(&"a".repeat(2000)).is_err());
        assert!(Pattern::compile("(a").unwrap_err().contains("unclosed"));
        assert!(Pattern::compile(r"(a)\1").unwrap_err().contains("backreferences"));
        let pattern = Pattern::compile("(a+)+$").unwrap();
        let text = format!("{}b", "a".repeat(1024 * 1024));
        assert_eq!(pattern.is_match(&text, &mut Fuel::default()), Ok(false));
        let costly = Pattern::compile(r"[01]*1[01]{400}").unwrap();
        assert_eq!(costly.is_match(&"01".repeat(500_000), &mut Fuel::default()), Err(Limit::Work));
    }
}
