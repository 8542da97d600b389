//! Makes every pass of a loop count as a step. Starlark reports only statements, so a loop whose body is
//! `pass`, or a comprehension, would count nothing: each gets a call of [`COUNT`]. Starlark has no `while`:
//! it becomes a `for` over more passes than a program has steps, which ends when the condition is false.

use super::python::tokens;

/// Call that counts one step and returns true.
pub(super) const COUNT: &str = "_one_more()";
const FOR: &str = "for _again in range(2000000000):";
/// Names that a program must not use: if it redefined them, its passes would not be counted.
const TAKEN: [&str; 2] = ["_one_more", "_again"];

/// A program whose passes are all counted and that has no `while`, with the numbers of the lines that were
/// added.
pub(super) struct Unrolled<'c> {
    tokens: Vec<&'c str>,
    place: usize,
    pub code: String,
    /// Numbers of the added lines, counted from 1.
    put_in: Vec<usize>,
    /// Open brackets, each with the part of a comprehension that was reached in it.
    open: Vec<Clause>,
}

#[derive(Clone, Copy, PartialEq)]
enum Clause {
    /// No comprehension, or after its iterable.
    Other,
    /// Between `for` and `in`.
    Target,
    /// In the iterable, after `in`.
    Over,
}

impl<'c> Unrolled<'c> {
    pub fn of(code: &'c str) -> Self {
        let (tokens, length) = (tokens(code), code.len() * 5 / 4);
        let (put_in, open) = (Vec::new(), Vec::new());
        let mut unrolled = Self { tokens, place: 0, code: String::with_capacity(length), put_in, open };
        while let Some(token) = unrolled.tokens.get(unrolled.place).copied() {
            match token {
                "for" | "while" if unrolled.open.is_empty() => unrolled.statement(token),
                _ => unrolled.token(token),
            }
        }
        unrolled
    }

    /// Returns a reserved name that the program uses.
    pub fn taken(&self) -> Option<&'c str> {
        self.tokens.iter().copied().find(|token| TAKEN.contains(token))
    }

    /// Returns the line of the original program that became this line.
    pub fn written(&self, line: usize) -> usize {
        line - self.put_in.iter().filter(|put_in| **put_in <= line).count()
    }

    /// Copies a token that begins no loop statement, and counts the passes of comprehensions. An iterable
    /// ends at the next `for` or `if`, or at the closing bracket.
    fn token(&mut self, token: &str) {
        let ends = matches!(token, "for" | "if" | ")" | "]" | "}");
        if ends && let Some(over @ Clause::Over) = self.open.last_mut() {
            *over = Clause::Other;
            self.code.push_str(&format!(" if {COUNT} "));
        }
        match (token, self.open.last_mut()) {
            ("(" | "[" | "{", _) => self.open.push(Clause::Other),
            (")" | "]" | "}", _) => drop(self.open.pop()),
            ("for", Some(clause)) => *clause = Clause::Target,
            ("in", Some(clause @ Clause::Target)) => *clause = Clause::Over,
            _ => {}
        }
        self.code.push_str(token);
        self.place += 1;
    }

    fn statement(&mut self, word: &str) {
        let indent = indent_before(&self.tokens[..self.place]);
        let rest = &self.tokens[self.place + 1..];
        let head = indent.and_then(|indent| Some((indent, head(rest, word == "for")?)));
        let Some((indent, length)) = head else { return self.token(word) };
        let first = match word {
            "while" => {
                let condition = rest[..length].concat();
                self.place += length + 2;
                self.code.push_str(FOR);
                format!("if not ({COUNT} and ({condition})): break")
            }
            _ => {
                // The iterable may contain comprehensions.
                let colon = self.place + 1 + length;
                while self.place <= colon {
                    self.token(self.tokens[self.place]);
                }
                COUNT.to_owned()
            }
        };
        let line = self.tokens[self.place..].split(|token| *token == "\n").next().unwrap_or_default();
        let line_length = line.len();
        if is_empty(&line.concat()) {
            let end = (self.place + line_length + 1).min(self.tokens.len());
            while self.place < end {
                self.token(self.tokens[self.place]);
            }
            if !self.code.ends_with('\n') {
                self.code.push('\n');
            }
            let indent = indent_of(&self.tokens[self.place..]);
            self.put(&format!("{indent}{first}\n"));
            return;
        }
        if word == "for" {
            self.code.push_str(&format!(" {first};"));
            return;
        }
        self.code.push('\n');
        self.put(&format!("{indent} {first}\n"));
        self.put(&format!("{indent} "));
        while self.tokens.get(self.place).is_some_and(|token| matches!(*token, " " | "\t")) {
            self.place += 1;
        }
    }

    fn put(&mut self, line: &str) {
        self.put_in.push(self.code.matches('\n').count() + 1);
        self.code.push_str(line);
    }
}

/// Returns the indentation of the current line if it has no other token yet.
fn indent_before(tokens: &[&str]) -> Option<String> {
    let blanks = tokens.iter().rev().take_while(|token| matches!(**token, " " | "\t")).count();
    let (before, indent) = tokens.split_at(tokens.len() - blanks);
    before.last().is_none_or(|last| *last == "\n").then(|| indent.concat())
}

/// Returns the number of tokens before the colon of a loop's head. A `while` condition, which is moved, must
/// be on one line.
fn head(tokens: &[&str], many_lines: bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            ":" if depth == 0 => return Some(place),
            "\n" if !many_lines || depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn is_empty(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Returns the indentation of the first line that is not empty.
fn indent_of(block: &[&str]) -> String {
    let mut lines = block.split(|token| *token == "\n");
    let says_something = |line: &&[&str]| !is_empty(&line.concat());
    let line = lines.find(says_something).unwrap_or_default();
    line.iter().take_while(|token| token.trim().is_empty()).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unrolled(code: &str) -> (String, Vec<usize>) {
        let unrolled = Unrolled::of(code);
        let lines = 1..=unrolled.code.lines().count();
        let written = lines.map(|line| unrolled.written(line)).collect();
        (unrolled.code, written)
    }

    #[test]
    fn a_while_becomes_one_over_a_range_and_lines_are_found_again() {
        let (code, lines) = unrolled("n = 0\nwhile n < 3:  # so many\n\n    n += 1\nx = 'while True:'\n");
        let made = format!(
            "n = 0\n{FOR}  # so many\n    if not (_one_more() and ( n < 3)): break\n\n    n += 1\nx = 'while True:'\n"
        );
        assert_eq!((code, lines), (made, vec![1, 2, 2, 3, 4, 5]));
        let (code, lines) = unrolled("def f():\n  while g(): h()\n  return 1\n");
        let made =
            format!("def f():\n  {FOR}\n   if not (_one_more() and ( g())): break\n   h()\n  return 1\n");
        assert_eq!((code, lines), (made, vec![1, 2, 2, 2, 3]));
    }

    #[test]
    fn every_pass_of_a_for_is_counted() {
        let (code, lines) =
            unrolled("for x in [1,\n 2]: # two\n\n  for y in x: pass\n  for z in y:\n\tpass\nd = 1\n");
        let made = "for x in [1,\n 2]: # two\n  _one_more()\n\n  for y in x: _one_more(); pass\n  for z in y:\n\t_one_more()\n\tpass\nd = 1\n";
        assert_eq!((code.as_str(), lines), (made, vec![1, 2, 2, 3, 4, 5, 5, 6, 7]));
    }

    #[test]
    fn every_pass_of_a_comprehension_is_counted() {
        for (code, made) in [
            ("[x for x in y]", "[x for x in y if _one_more() ]"),
            (
                "{a: b if c else d for (a, b) in e.f() if g in h for i in j}",
                "{a: b if c else d for (a, b) in e.f()  if _one_more() if g in h for i in j if _one_more() }",
            ),
            (
                "any(x for x in [y for y in (z)] if x)",
                "any(x for x in [y for y in (z) if _one_more() ]  if _one_more() if x)",
            ),
            ("for x in [y for y in z]: pass", "for x in [y for y in z if _one_more() ]: _one_more(); pass"),
            ("'[x for x in y]' # [x for x in y]", "'[x for x in y]' # [x for x in y]"),
        ] {
            assert_eq!(Unrolled::of(code).code, made);
        }
    }

    #[test]
    fn what_is_no_loop_stays_as_it_is() {
        for code in [
            "",
            "meanwhile: int = 1",
            "while",
            "while x",
            "while (1,\n 2):\n  pass",
            "x = while y: z",
            "for",
            "for x",
            "x in y",
            "(x in y)",
            "]for x in y",
            "[x if y else z]",
        ] {
            assert_eq!(Unrolled::of(code).code, code);
        }
        assert_eq!(Unrolled::of("while 1:").code, format!("{FOR}\nif not (_one_more() and ( 1)): break\n"));
    }
}
