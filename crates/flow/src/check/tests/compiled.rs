//! The checker and the compiler agree: a program that passes the checker compiles.

use proptest::prelude::*;

use super::hostile::{mutated, soup};
use crate::arbitrary::{Flavour, program};
use crate::check::{Examined, examine};
use crate::code::Defaults;
use crate::compile::compile;

fn compiles_if_passed(source: &str) -> bool {
    let Examined { file, checked, .. } = examine(source, false);
    if !checked.compiles() {
        return false;
    }
    if let Err(error) = compile(&file, source, Defaults::default()) {
        panic!("passed, but not compiled: {error}\n{source}");
    }
    true
}

#[test]
fn every_case_that_passes_is_compiled() {
    let lines = include_str!("cases.txt").lines().filter_map(|line| line.split_once('|'));
    let compiled = lines.filter(|(_, source)| compiles_if_passed(&source.trim().replace('¶', "\n")));
    assert!(compiled.count() > 250);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_soup_that_passes_is_compiled(source in soup()) {
        compiles_if_passed(&source);
    }

    #[test]
    fn programs_made_to_be_sound_pass(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        // A thrown value cannot wait; a returned one can.
        let source = program(&bytes, Flavour::Sound).text().replace("throw", "return");
        prop_assert!(compiles_if_passed(&source), "{:?}\n{source}", super::errors_of(&source));
    }

    #[test]
    fn any_mutated_program_that_passes_is_compiled(source in mutated()) {
        compiles_if_passed(&source);
    }
}
