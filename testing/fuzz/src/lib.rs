//! What must hold for every text, however odd: the front end answers and contradicts neither itself nor the second
//! grammar, and a program that is accepted does the same whichever way its messages reach it. Whatever does not hold
//! is a panic. `fuzz/` feeds this with mutated texts for hours, the tests here with a corpus and a few thousand of them.

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

/// Splits an input into a program and the bytes that decide what the outside answers: what follows a line `// answers`.
pub fn parts(input: &[u8]) -> (String, &[u8]) {
    const MARK: &[u8] = b"// answers\n";
    let place = input.windows(MARK.len()).position(|window| window == MARK);
    let (program, answers) = match place {
        Some(place) => (&input[..place], &input[place + MARK.len()..]),
        None => (input, &[][..]),
    };
    (String::from_utf8_lossy(program).into_owned(), answers)
}

/// Everything there is to check about one input.
pub fn check(input: &[u8]) {
    let (source, answers) = parts(input);
    front_end(&source);
    interpreter(&source, answers);
}
