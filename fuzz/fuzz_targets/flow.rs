#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| rhythm_fuzz::check(input));
