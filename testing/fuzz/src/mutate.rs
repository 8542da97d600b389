//! Mutates good texts: moves lines and words, inserts words of the language, damages single bytes.

/// A small random generator of its own, so that a seed always gives the same result.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides.max(1)
    }
}

/// Words that change the meaning of a program almost anywhere.
pub const WORDS: &[&str] = &[
    "let ",
    "const ",
    "await ",
    "return ",
    "throw ",
    "if (",
    "while (",
    "for (let x of ",
    "for (k in ",
    "try { ",
    "} catch (e) { ",
    "break",
    "continue",
    "task(\"a\")",
    "Task.run(\"a\", {})",
    "Task.run(\"b\", {}, { settle: true })",
    "Timer.delay(1)",
    "sleep(1)",
    "Signal.next(\"go\")",
    "Signal.when(\"s\", { timeout: 1 })",
    "Workflow.run(\"kid\", {})",
    "Promise.all([",
    "Promise.race([",
    "Promise.any({ a: ",
    "Task.timeout(",
    "Inputs",
    "Inputs.list",
    "Context.attempt",
    "Time.now()",
    "Math.floor(",
    "JSON.parse(",
    "JSON.stringify(",
    "Object.keys(",
    ".length",
    ".first()",
    ".slice(1)",
    ".concat(",
    ".sortBy(\"n\")",
    "?.",
    "??",
    "||",
    "&&",
    "==",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "<",
    ">=",
    " ? ",
    " : ",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "\n",
    "\"",
    "'",
    "`",
    "```\n",
    "//",
    "/*",
    "*/",
    "...",
    "=>",
    "=",
    "null",
    "true",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "1e308",
    "0.1",
    "\"s\"",
    "\"$handle\"",
    "{ a: 1 }",
    "[1, 2]",
    "x",
    "e.code",
    "log(",
    "async function main() {",
    "workflow(ctx, inputs) {",
    "retries: 2",
    "cancel: true",
    "\u{e9}",
    "\u{1f600}",
    "\u{2028}",
    "\\u0041",
    "\0",
];

/// Returns a mutation of one input, which may take parts of a second one.
pub fn mutated(dice: &mut Dice, one: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = one.to_vec();
    for _ in 0..1 + dice.roll(6) {
        mutate(dice, &mut bytes, other);
    }
    bytes.truncate(20_000);
    bytes
}

fn mutate(dice: &mut Dice, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = dice.roll(bytes.len() + 1);
    match dice.roll(10) {
        0 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
        1 if at < bytes.len() => drop(bytes.remove(at)),
        2 | 3 => insert(bytes, at, WORDS[dice.roll(WORDS.len())].as_bytes()),
        4 => {
            // Replacing a whole word has more effect than replacing a byte.
            let (from, to) = word(bytes, at);
            bytes.splice(from..to, WORDS[dice.roll(WORDS.len())].bytes());
        }
        5 => {
            let (from, to) = word(bytes, at);
            bytes.drain(from..to);
        }
        6 => {
            let (from, to) = line(bytes, at);
            let copy = bytes[from..to].to_vec();
            let place = line(bytes, dice.roll(bytes.len() + 1)).0;
            insert(bytes, place, &copy);
        }
        7 => {
            let (from, to) = line(bytes, at);
            bytes.drain(from..to);
        }
        8 => {
            let (from, to) = line(other, dice.roll(other.len() + 1));
            let place = line(bytes, at).0;
            insert(bytes, place, &other[from..to]);
        }
        _ => bytes.truncate(at),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, text: &[u8]) {
    bytes.splice(at..at, text.iter().copied());
}

/// Returns the word around a position: letters and digits, or a single other byte.
fn word(bytes: &[u8], at: usize) -> (usize, usize) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let from = bytes[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |place| place + 1);
    let to = bytes[at..].iter().position(|byte| !is_word(byte)).map_or(bytes.len(), |place| at + place);
    if from == to { (from, (to + 1).min(bytes.len())) } else { (from, to) }
}

/// Returns the line around a position, with its line end.
fn line(bytes: &[u8], at: usize) -> (usize, usize) {
    let at = at.min(bytes.len());
    let from = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    let to = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |place| at + place + 1);
    (from, to)
}
