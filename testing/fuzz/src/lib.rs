//! Properties that hold for every text. The front end answers and contradicts neither itself nor the second
//! grammar; an accepted program does the same in every way of delivering its messages. A violation is a
//! panic. `fuzz/` feeds this with mutated texts for hours; the tests here use a corpus and a few thousand
//! mutations of it.

mod front_end;
mod interpreter;
pub mod mutate;
#[path = "../../../crates/flow/tests/language/stage.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "written for the language tests, which show what it reports"
)]
mod stage;

pub use front_end::front_end;
pub use interpreter::interpreter;

/// Splits an input into a program and, after a line `// answers`, the bytes that decide the answers from
/// outside.
pub fn parts(input: &[u8]) -> (String, &[u8]) {
    const MARK: &[u8] = b"// answers\n";
    let place = input.windows(MARK.len()).position(|window| window == MARK);
    let (program, answers) = match place {
        Some(place) => (&input[..place], &input[place + MARK.len()..]),
        None => (input, &[][..]),
    };
    (String::from_utf8_lossy(program).into_owned(), answers)
}

/// Checks all properties of one input.
pub fn check(input: &[u8]) {
    let (source, answers) = parts(input);
    front_end(&source);
    interpreter(&source, answers);
}
