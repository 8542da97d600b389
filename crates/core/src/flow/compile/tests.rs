//! What steps a program becomes.

use super::*;
use crate::flow::parse;

fn compiled(source: &str) -> Code {
    let parsed = parse(source);
    assert!(!parsed.has_errors(), "{:#?}", parsed.diagnostics);
    compile(&parsed.file, source, Defaults::default()).unwrap()
}
