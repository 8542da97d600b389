//! The language, specified by examples: every file in `cases/` is a page of headings, programs and their
//! results. Each program runs three ways: straight through; with program and snapshot written and read again
//! after every transition; with every message delivered twice. All three ways must give the same result.

mod case;
mod made;
mod random;
mod stage;

use case::Case;

macro_rules! pages {
    ($($name:ident,)*) => {
        $(#[test]
        fn $name() {
            read_aloud(stringify!($name), include_str!(concat!("cases/", stringify!($name), ".md")));
        })*
    };
}

pages! {
    values,
    statements,
    expressions,
    waiting,
    groups,
    signals,
    options,
    failures,
    library,
    limits,
    seeds,
}

fn read_aloud(page: &str, text: &str) {
    let only = option_env!("RHYTHM_CASE").unwrap_or_default();
    let cases = Case::parse_page(text);
    assert!(!cases.is_empty(), "{page} is empty");
    let mut problems = Vec::new();
    for case in cases.iter().filter(|case| case.title.contains(only)) {
        for problem in case.check() {
            problems.push(format!("{page}.md:{}: {}\n    {problem}", case.line, case.title));
        }
    }
    assert!(problems.is_empty(), "\n{}\n{} problems\n", problems.join("\n"), problems.len());
}
