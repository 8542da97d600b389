//! `while` for Starlark, which lacks it: a `for` over more passes than a program has steps, left when the condition is false.

use super::python::tokens;

const FOR: &str = "for _again in range(2000000000):";

/// A program without `while`, and which of its lines nobody wrote.
pub(super) struct Unrolled {
    pub code: String,
    /// Counted from 1.
    put_in: Vec<usize>,
}

impl Unrolled {
    pub fn of(code: &str) -> Self {
        let tokens = tokens(code);
        let mut unrolled = Self { code: String::with_capacity(code.len()), put_in: Vec::new() };
        let (mut place, mut at) = (0, 0);
        while let Some(token) = tokens.get(place) {
            let head = if *token == "while" { indent_before(&tokens[..place]) } else { None };
            (place, at) = (place + 1, at + token.len());
            let Some((indent, length)) = head.and_then(|indent| Some((indent, condition(&tokens[place..])?)))
            else {
                unrolled.code.push_str(token);
                continue;
            };
            let test = format!("if not ({}): break", tokens[place..place + length].concat());
            at += tokens[place..=place + length].iter().map(|token| token.len()).sum::<usize>();
            place += length + 1;
            unrolled.code.push_str(FOR);
            let line = code[at..].split('\n').next().unwrap_or_default();
            if is_empty(line) {
                let end = (at + line.len() + 1).min(code.len());
                while at < end {
                    at += tokens[place].len();
                    place += 1;
                }
                unrolled.code.push_str(&format!("{line}\n"));
                unrolled.put(&format!("{}{test}\n", indent_of(&code[at..])));
            } else {
                unrolled.code.push('\n');
                unrolled.put(&format!("{indent} {test}\n"));
                unrolled.put(&format!("{indent} "));
                while tokens.get(place).is_some_and(|token| matches!(*token, " " | "\t")) {
                    (place, at) = (place + 1, at + 1);
                }
            }
        }
        unrolled
    }

    fn put(&mut self, line: &str) {
        self.put_in.push(self.code.matches('\n').count() + 1);
        self.code.push_str(line);
    }

    /// The line of the program that was made into this one.
    pub fn written(&self, line: usize) -> usize {
        line - self.put_in.iter().filter(|put_in| **put_in <= line).count()
    }
}

/// What a line begins with, if nothing else stands on it.
fn indent_before(tokens: &[&str]) -> Option<String> {
    let blanks = tokens.iter().rev().take_while(|token| matches!(**token, " " | "\t")).count();
    let (before, indent) = tokens.split_at(tokens.len() - blanks);
    before.last().is_none_or(|last| *last == "\n").then(|| indent.concat())
}

/// How many tokens stand before the colon of a head, if it is all on one line.
fn condition(tokens: &[&str]) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            ":" if depth == 0 => return Some(place),
            "\n" => return None,
            _ => {}
        }
    }
    None
}

fn is_empty(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indent_of(block: &str) -> &str {
    let line = block.lines().find(|line| !is_empty(line)).unwrap_or_default();
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_becomes_one_over_a_range_and_lines_are_found_again() {
        let code = "n = 0\nwhile n < 3:  # so many\n\n    n += 1\nx = 'while True:'\n";
        let unrolled = Unrolled::of(code);
        let made =
            format!("n = 0\n{FOR}  # so many\n    if not ( n < 3): break\n\n    n += 1\nx = 'while True:'\n");
        assert_eq!(unrolled.code, made);
        assert_eq!((1..=6).map(|line| unrolled.written(line)).collect::<Vec<_>>(), [1, 2, 2, 3, 4, 5]);
    }

    #[test]
    fn a_loop_on_one_line_becomes_three() {
        let unrolled = Unrolled::of("def f():\n  while g(): h()\n  return 1\n");
        let made = format!("def f():\n  {FOR}\n   if not ( g()): break\n   h()\n  return 1\n");
        assert_eq!(unrolled.code, made);
        assert_eq!((1..=5).map(|line| unrolled.written(line)).collect::<Vec<_>>(), [1, 2, 2, 2, 3]);
    }

    #[test]
    fn what_is_no_loop_stays_as_it_is() {
        for code in
            ["", "meanwhile: int = 1", "while", "while x", "while (1,\n 2):\n  pass", "x = while y: z"]
        {
            assert_eq!(Unrolled::of(code).code, code);
        }
        assert_eq!(Unrolled::of("while 1:").code, format!("{FOR}\nif not ( 1): break\n"));
    }
}
