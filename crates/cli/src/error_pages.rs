//! The pages of `docs/errors`, formatted for a terminal.

use rhythm_syntax::did_you_mean::closest;
use rhythm_syntax::render::PAGES as PAGES_ONLINE;

include!(concat!(env!("OUT_DIR"), "/error_pages.rs"));

pub struct Page {
    pub code: &'static str,
    pub text: &'static str,
}

/// Returns the page of a code, in upper or lower case.
pub fn find(code: &str) -> Option<Page> {
    let same = |(name, _): &&(&'static str, &'static str)| name.eq_ignore_ascii_case(code);
    PAGES.iter().find(same).map(|(code, text)| Page { code, text })
}

/// Whether a word has the form of our error codes, such as `FLOW007`. No generated run id has it, but the end of an id
/// may look like it: `cadcc014`.
pub fn looks_like_a_code(word: &str) -> bool {
    if word.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f')) {
        return false;
    }
    let letters = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = word.len() - letters.len();
    digits == 3 && letters.len() >= 3 && letters.bytes().all(|letter| letter.is_ascii_alphabetic())
}

/// Returns the known code closest to this one.
pub fn nearest(code: &str) -> Option<&'static str> {
    closest(code, PAGES.iter().map(|(name, _)| *name))
}

pub fn link(code: &str) -> Option<String> {
    find(code).map(|page| format!("{PAGES_ONLINE}/{}.md", page.code))
}

impl Page {
    pub fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches('#').trim()
    }

    /// Returns the page without Markdown marks. `bold` formats headings.
    pub fn shown(&self, bold: impl Fn(&str) -> String) -> String {
        let mut shown = String::new();
        let mut fence: Option<&str> = None;
        for line in self.text.lines() {
            let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
            match fence {
                Some(open) if line == open => fence = None,
                Some(_) => shown.push_str(&format!("    {line}\n")),
                None if ticks.len() >= 3 => {
                    fence = Some(ticks);
                    let kind = line.split(' ').find(|word| matches!(*word, "wrong" | "right"));
                    if let Some(kind) = kind {
                        shown.push_str(&format!("  {kind}:\n"));
                    }
                }
                None if line.starts_with('#') => {
                    shown.push_str(&format!("{}\n", bold(line.trim_start_matches('#').trim())));
                }
                None => shown.push_str(&format!("{}\n", without_links(line))),
            }
        }
        shown
    }
}

/// Replaces `[words](place)` by its words.
fn without_links(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('[') {
        match behind.split_once("](").and_then(|(words, place)| Some((words, place.split_once(')')?.1))) {
            Some((words, behind)) if !words.contains('[') => {
                plain.push_str(before);
                plain.push_str(words);
                rest = behind;
            }
            _ => {
                plain.push_str(before);
                plain.push('[');
                rest = behind;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shown_without_the_marks_of_its_format() {
        let page = find("flow110").unwrap();
        assert_eq!((page.code, page.title()), ("FLOW110", "FLOW110: there is no such option"));
        let shown = page.shown(|heading| format!("<{heading}>"));
        assert!(shown.starts_with("<FLOW110: there is no such option>\n\n"), "{shown}");
        assert!(shown.contains("throws WRONG_ARG_TYPE whatever"), "{shown}");
        assert!(shown.contains("  wrong:\n    await Task.run("), "{shown}");
        assert!(!shown.contains("```") && !shown.contains(".md"), "{shown}");
    }

    #[test]
    fn every_page_can_be_shown() {
        assert!(PAGES.len() > 100);
        for (code, text) in PAGES {
            let shown = Page { code, text }.shown(str::to_owned);
            assert!(
                shown.starts_with(code) && !shown.contains("](") && !shown.contains("```flow"),
                "{shown}"
            );
        }
    }

    #[test]
    fn codes_are_told_from_runs_and_the_nearest_is_named() {
        for (word, is_code) in [
            ("FLOW".to_owned() + "999", true),
            ("cli001".into(), true),
            ("order-7".into(), false),
            ("a1b2c3".into(), false),
            ("cadcc014".into(), false),
        ] {
            assert_eq!(looks_like_a_code(&word), is_code, "{word}");
        }
        assert_eq!(nearest("flow07"), Some("FLOW007"));
        assert!(link("FLOW007").unwrap().starts_with("https://"));
        assert_eq!(link("NOTHING"), None);
    }
}
