//! The table of cases: `cases.txt`.

use rhythm_syntax::render::{Style, render};

use super::{codes_of, errors_of};

const CASES: &str = include_str!("cases.txt");

#[test]
fn every_case_of_the_table_is_judged_as_it_says() {
    let mut count = 0;
    let mut wrong = String::new();
    for line in CASES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (expected, source) = line.split_once('|').expect(line);
        let (expected, source) = (expected.trim(), source.trim().replace('¶', "\n"));
        count += 1;
        let right = match expected {
            "pass" => errors_of(&source).is_empty(),
            "ok" => codes_of(&source).is_empty(),
            codes => codes_of(&source).join(" ") == codes,
        };
        if !right {
            let diagnostics = super::examine(&source, false).checked.diagnostics;
            let said = render("case.flow", &source, &diagnostics, Style::Plain);
            wrong += &format!("expected {expected}: {source}\n{said}\n");
        }
    }
    assert!(count > 400, "only {count} cases were read");
    assert!(wrong.is_empty(), "{wrong}");
}
