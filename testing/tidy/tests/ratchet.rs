//! No area has more hard turns of phrase than it had.

use std::path::Path;

use rhythm_tidy::ratchet::{measure, problems, read};

#[test]
fn no_area_reads_harder_than_before() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let problems = problems(&read(&root).unwrap(), &measure(&root).unwrap());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
