//! Builds random programs from bytes, for property tests. Each byte is one choice; when the bytes run out,
//! every further choice is the simplest one. So any bytes give a program, and fewer or smaller bytes give a
//! smaller one. This file depends on the grammar only, not on this crate: tests outside of the crate include
//! it by its path.

/// Kind of programs to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Any program the grammar allows, with odd spacing and comments.
    Syntax,
    /// Only programs the checker accepts: waits in allowed places, no functions, no nested tasks.
    Sound,
}

/// A program as its tokens, each with the white space before it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
struct Piece {
    gap: String,
    text: String,
}

impl Program {
    pub fn text(&self) -> String {
        self.pieces.iter().flat_map(|piece| [piece.gap.as_str(), piece.text.as_str()]).collect()
    }

    /// Returns the text with one token removed, duplicated, or replaced by another; most such programs are
    /// wrong.
    pub fn mutated(&self, bytes: &[u8]) -> String {
        let mut choices = Choices { bytes: bytes.iter() };
        let mut program = self.clone();
        let count = program.pieces.len();
        if count > 0 {
            let (at, other) = (choices.wide(count), choices.wide(count));
            match choices.pick(3) {
                0 => drop(program.pieces.remove(at)),
                1 => program.pieces.insert(at, program.pieces[at].clone()),
                _ => {
                    let text = program.pieces[at].text.clone();
                    program.pieces[at].text = std::mem::replace(&mut program.pieces[other].text, text);
                }
            }
        }
        program.text()
    }
}

/// Returns the program that these bytes choose.
pub fn program(bytes: &[u8], flavour: Flavour) -> Program {
    let mut writer = Writer {
        choices: Choices { bytes: bytes.iter() },
        flavour,
        program: Program::default(),
        loops: 0,
        declared: 0,
    };
    writer.file();
    writer.program
}

struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl Choices<'_> {
    fn pick(&mut self, count: usize) -> usize {
        self.bytes.next().map_or(0, |byte| usize::from(*byte) % count)
    }

    fn one<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.pick(texts.len())]
    }

    fn wide(&mut self, count: usize) -> usize {
        (self.pick(256) * 256 + self.pick(256)) % count
    }
}

/// White space allowed between a token and the one before it.
#[derive(Clone, Copy, PartialEq)]
enum Gap {
    Any,
    SameLine,
    /// The token begins a statement.
    Statement,
}

struct Writer<'a> {
    choices: Choices<'a>,
    flavour: Flavour,
    program: Program,
    /// Number of loops around the current statement.
    loops: u32,
    /// Number of names declared so far.
    declared: u32,
}

const DEPTH: usize = 4;

const NAMES: &[&str] =
    &["a", "b", "order", "inputs", "ctx", "_x", "x1", "\u{e9}t\u{e9}", "of", "main", "result"];
const PROPERTIES: &[&str] = &["id", "total", "status", "if", "new", "length", "in"];
const NUMBERS: &[&str] = &["1", "0", "42", "3.5", "1e3", "2.5E-2", "12345678901234567890"];
const TEXTS: &[&str] = &[
    "\"a\"",
    "'b'",
    "\"it's\"",
    "'say \"x\"'",
    "\"\"",
    "'\\'\\\"'",
    "\"\\n\\u00e9\\\\\"",
    "'\\ud83d\\ude00'",
    "\"\u{e9}\u{6f22}\"",
    "\"a rather long text that takes a good part of a line\"",
];
const OPERATORS: &[&str] =
    &["+", "==", "&&", "||", "??", "-", "*", "/", "%", "===", "!=", "!==", "<", "<=", ">", ">="];
const FUNCTIONS: &[&str] = &["add", "eq", "Math.max", "JSON.stringify", "Object.keys"];
const WAITS: &[&str] =
    &["Task.run", "task", "Timer.delay", "Signal.next", "Workflow.run", "Promise.all", "sleep"];

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.put_after(Gap::Any, text);
    }

    fn put_one(&mut self, texts: &[&str]) {
        let text = self.choices.one(texts);
        self.put(text);
    }

    fn words(&mut self, texts: &[&str]) {
        for text in texts {
            self.put(text);
        }
    }

    fn put_after(&mut self, gap: Gap, text: &str) {
        let gap = self.gap(gap, text);
        self.program.pieces.push(Piece { gap, text: text.to_owned() });
    }

    fn gap(&mut self, gap: Gap, text: &str) -> String {
        let before = self.program.pieces.last().map(|piece| piece.text.clone()).unwrap_or_default();
        if before.is_empty() {
            return self.choices.one(&["", "\n", "// first\n", "\u{feff}"]).to_owned();
        }
        let odd = self.flavour == Flavour::Syntax && self.choices.pick(4) == 3;
        let joined = if may_join(&before, text) { "" } else { " " };
        match gap {
            _ if before.ends_with('`') => "\n".to_owned(),
            Gap::SameLine if odd => self.choices.one(&[joined, " ", "\t", " /* here */ "]).to_owned(),
            Gap::Any if odd => self
                .choices
                .one(&[joined, " ", "\n", "\n\n\n  ", " /* why */ ", " // why\n", "\r\n", " /*\n*/ "])
                .to_owned(),
            Gap::SameLine | Gap::Any => joined.to_owned(),
            Gap::Statement => self.separator(&before, text),
        }
    }

    fn separator(&mut self, before: &str, text: &str) -> String {
        // No separator is needed after an opening brace or a semicolon.
        let begins = matches!(before, "{" | ";");
        let odd = self.flavour == Flavour::Syntax && self.choices.pick(3) == 2;
        let separators: &[&str] = match text.chars().next() {
            _ if begins => &["\n", " ", "\n\n\n", " // so\n", "\n/* so */\n"],
            Some('-') => &[";\n", ";", " ; "],
            Some('(' | '[') => &["\n", ";", "\n// so\n", "; /* so */ "],
            _ if before == "return" => &["\n", ";"],
            _ => &["\n", ";", "\n\n", " ", ";;\n", " // so\n", " /* so */ ", "\n\n// so\n\n\n"],
        };
        (if odd { self.choices.one(separators) } else { separators[0] }).to_owned()
    }

    fn file(&mut self) {
        if self.choices.pick(8) == 7 {
            self.put("```\nname: made\n```");
        }
        match self.choices.pick(4) {
            1 => self.words(&["workflow", "{"]),
            2 => {
                self.put("workflow");
                self.put_after(Gap::SameLine, "(");
                self.words(&["ctx", ",", "inputs", ")", "{"]);
            }
            3 => {
                self.put("async");
                self.put_after(Gap::SameLine, "function");
                self.words(&["main", "(", ")", "{"]);
            }
            _ => return self.statements(DEPTH, 1),
        }
        self.statements(DEPTH, 1);
        self.put("}");
    }

    fn statements(&mut self, depth: usize, least: usize) {
        for _ in 0..least + self.choices.pick(4) {
            self.statement(depth);
        }
    }

    fn block(&mut self, depth: usize) {
        self.put("{");
        self.statements(depth, 0);
        self.put("}");
    }

    /// A token that begins a statement.
    fn begin(&mut self, text: &str) {
        self.put_after(Gap::Statement, text);
    }

    fn statement(&mut self, depth: usize) {
        let sound = self.flavour == Flavour::Sound;
        let kinds = if depth == 0 { 9 } else { 17 };
        match self.choices.pick(kinds) {
            0 => self.waiting_statement(depth),
            1 | 2 => self.declare(depth),
            3 => self.assign(depth),
            4 => self.value_after("throw", depth),
            5 if self.loops > 0 || !sound => {
                let word = self.choices.one(&["break", "continue"]);
                self.begin(word);
            }
            6 => self.value_after("return", depth),
            7 if !sound => self.begin("return"),
            8 if !sound => self.expression_statement(depth),
            9 | 10 => self.branch(depth - 1),
            11 => {
                self.begin("while");
                self.put("(");
                self.expression(depth - 1);
                self.put(")");
                self.looping(depth - 1);
            }
            12 => self.walk(depth - 1),
            13 => {
                self.begin("try");
                self.block(depth - 1);
                self.put("catch");
                if self.choices.pick(4) < 3 {
                    self.words(&["(", "e", ")"]);
                }
                self.block(depth - 1);
            }
            14 => {
                self.begin("{");
                self.statements(depth - 1, 0);
                self.put("}");
            }
            15 if !sound => {
                self.begin("function");
                self.put("f");
                self.skipped();
            }
            _ => self.declare(depth),
        }
    }

    fn value_after(&mut self, word: &str, depth: usize) {
        self.begin(word);
        let start = self.program.pieces.len();
        self.value(depth);
        // A value on the next line would not be returned.
        if let Some(piece) = self.program.pieces.get_mut(start) {
            piece.gap = " ".to_owned();
        }
    }

    /// Writes the whole value of a statement; in a sound program only such a value may wait.
    fn value(&mut self, depth: usize) {
        match self.choices.pick(3) {
            0 => self.expression(depth),
            _ => self.waiting(depth),
        }
    }

    fn waiting(&mut self, depth: usize) {
        if self.choices.pick(3) > 0 {
            self.put("await");
        }
        self.wait_call(depth);
    }

    fn waiting_statement(&mut self, depth: usize) {
        if self.choices.pick(2) == 1 {
            self.begin("await");
            self.wait_call(depth);
        } else {
            self.begin("task");
            self.arguments(depth, &["\"work\""]);
        }
    }

    fn wait_call(&mut self, depth: usize) {
        let name = self.choices.one(WAITS);
        let parts: Vec<&str> = name.split('.').collect();
        self.words(&parts[..1]);
        for part in &parts[1..] {
            self.words(&[".", part]);
        }
        match name {
            "Promise.all" => {
                self.put_after(Gap::SameLine, "(");
                self.put("[");
                for _ in 0..self.choices.pick(3) {
                    self.words(&["Task", ".", "run"]);
                    self.arguments(0, &["\"part\""]);
                    self.put(",");
                }
                self.words(&["]", ")"]);
            }
            "Timer.delay" | "sleep" => self.arguments(0, &["1"]),
            _ => self.arguments(depth, &["\"work\""]),
        }
    }

    /// Writes the fixed arguments, then perhaps an object.
    fn arguments(&mut self, depth: usize, fixed: &[&str]) {
        self.put_after(Gap::SameLine, "(");
        self.words(fixed);
        if depth > 0 && self.choices.pick(2) == 1 {
            self.put(",");
            self.object(depth - 1);
        }
        if self.choices.pick(6) == 5 {
            self.put(",");
        }
        self.put(")");
    }

    fn fresh(&mut self) -> String {
        self.declared += 1;
        format!("n{}", self.declared)
    }

    fn declare(&mut self, depth: usize) {
        let word = self.choices.one(&["let", "const"]);
        self.begin(word);
        let pattern = self.choices.pick(4);
        match pattern {
            2 | 3 => {
                let (open, close) = if pattern == 2 { ("{", "}") } else { ("[", "]") };
                let (first, second) = (self.fresh(), self.fresh());
                self.words(&[open, &first, ",", &second]);
                if self.choices.pick(4) == 3 {
                    self.put(",");
                }
                self.put(close);
            }
            _ => {
                let name = self.fresh();
                self.put(&name);
                if word == "let" && self.choices.pick(6) == 5 {
                    return;
                }
            }
        }
        self.put("=");
        self.value(depth);
    }

    fn assign(&mut self, depth: usize) {
        let target = self.choices.pick(3);
        let name = self.choices.one(&["v0", "v1", "v2"]);
        if target == 2 {
            self.begin("[");
            self.words(&[name, ",", "v3", "]"]);
        } else {
            self.begin(name);
            for _ in 0..target * self.choices.pick(3) {
                if self.choices.pick(2) == 1 {
                    self.put_after(Gap::SameLine, "[");
                    self.expression(depth.saturating_sub(1));
                    self.put("]");
                } else {
                    self.property(".");
                }
            }
        }
        self.put("=");
        self.value(depth);
    }

    fn property(&mut self, dot: &str) {
        self.put(dot);
        let name = self.choices.one(PROPERTIES);
        self.put_after(Gap::SameLine, name);
    }

    fn branch(&mut self, depth: usize) {
        self.begin("if");
        loop {
            self.put("(");
            self.expression(depth);
            self.put(")");
            self.block(depth);
            match self.choices.pick(4) {
                1 => self.words(&["else", "if"]),
                2 => {
                    self.put("else");
                    return self.block(depth);
                }
                _ => return,
            }
        }
    }

    fn walk(&mut self, depth: usize) {
        self.begin("for");
        self.put("(");
        let binding = self.choices.pick(3);
        if binding < 2 {
            self.put(["const", "let"][binding]);
        }
        let name = self.fresh();
        self.put(&name);
        self.put_one(&["of", "in"]);
        self.expression(depth);
        self.put(")");
        self.looping(depth);
    }

    fn looping(&mut self, depth: usize) {
        self.loops += 1;
        self.block(depth);
        self.loops -= 1;
    }

    /// Writes an expression as a statement. An expression that would begin with `{`, `[` or `function`
    /// becomes an assignment, because a statement may not begin with these.
    fn expression_statement(&mut self, depth: usize) {
        let start = self.program.pieces.len();
        self.expression(depth);
        let Some(first) = self.program.pieces.get(start).map(|piece| piece.text.clone()) else { return };
        let rest = self.program.pieces.split_off(start + 1);
        self.program.pieces.pop();
        if matches!(first.as_str(), "{" | "function" | "[") {
            self.begin("v0");
            self.put("=");
            self.put(&first);
        } else {
            self.begin(&first);
        }
        self.program.pieces.extend(rest);
    }

    fn expression(&mut self, depth: usize) {
        if depth == 0 {
            return self.operand(0);
        }
        match self.choices.pick(5) {
            1 => {
                self.operand(depth - 1);
                self.put("?");
                self.expression(depth - 1);
                self.put(":");
                self.expression(depth - 1);
            }
            2 | 3 => {
                self.operand(depth - 1);
                for _ in 0..=self.choices.pick(3) {
                    self.put_one(OPERATORS);
                    self.operand(depth - 1);
                }
            }
            _ => self.operand(depth),
        }
    }

    fn operand(&mut self, depth: usize) {
        match self.choices.pick(8) {
            6 => self.put("!"),
            7 => self.put("-"),
            5 if self.flavour == Flavour::Syntax => self.put("await"),
            _ => {}
        }
        self.primary(depth);
        for _ in 0..self.choices.pick(3) {
            match self.choices.pick(4) {
                0 => self.property("."),
                1 => self.property("?."),
                2 => {
                    self.put_after(Gap::SameLine, "[");
                    self.expression(depth.saturating_sub(1));
                    self.put("]");
                }
                _ => {
                    self.words(&[".", "concat"]);
                    self.put_after(Gap::SameLine, "(");
                    self.expression(depth.saturating_sub(1));
                    self.put(")");
                }
            }
        }
    }

    fn primary(&mut self, depth: usize) {
        let kinds = if depth == 0 { 4 } else { 9 };
        match self.choices.pick(kinds) {
            1 => self.put_one(NUMBERS),
            2 => self.put_one(TEXTS),
            3 => self.put_one(&["null", "true", "false"]),
            4 => self.object(depth - 1),
            5 => {
                self.put("[");
                self.list(depth - 1);
                self.put("]");
            }
            6 => {
                self.put("(");
                self.expression(depth - 1);
                self.put(")");
            }
            7 => {
                let function = self.choices.one(FUNCTIONS);
                self.put(function);
                self.put_after(Gap::SameLine, "(");
                self.list(depth - 1);
                self.put(")");
            }
            8 if self.flavour == Flavour::Syntax => self.closure(depth - 1),
            _ => self.put_one(NAMES),
        }
    }

    fn list(&mut self, depth: usize) {
        for index in 0..self.choices.pick(4) {
            if index > 0 {
                self.put(",");
            }
            self.expression(depth);
            if self.choices.pick(8) == 7 {
                return self.put(",");
            }
        }
    }

    fn object(&mut self, depth: usize) {
        self.put("{");
        for index in 0..self.choices.pick(4) {
            if index > 0 {
                self.put(",");
            }
            match self.choices.pick(4) {
                0 => self.put_one(NAMES),
                1 => {
                    self.put("order");
                    self.property(".");
                }
                key => {
                    let names = if key == 2 { PROPERTIES } else { TEXTS };
                    self.put_one(names);
                    self.put(":");
                    self.expression(depth);
                }
            }
            if self.choices.pick(8) == 7 {
                self.put(",");
                break;
            }
        }
        self.put("}");
    }

    fn closure(&mut self, depth: usize) {
        match self.choices.pick(4) {
            0 => {
                self.words(&["x", "=>"]);
                self.expression(depth);
            }
            1 => {
                self.words(&["(", "x", ",", "y", ")", "=>", "{", "return", "x", "}"]);
            }
            2 => {
                self.put("async");
                self.put_after(Gap::SameLine, "x");
                self.put("=>");
                self.expression(depth);
            }
            _ => {
                self.put("function");
                self.skipped();
            }
        }
    }

    fn skipped(&mut self) {
        self.words(&["(", "x", ")", "{", "return", "[", "x", "]", "}"]);
    }
}

/// Returns whether two tokens remain two tokens when no white space separates them.
fn may_join(before: &str, text: &str) -> bool {
    let bracket = |text: &str| matches!(text, "(" | ")" | "[" | "]" | "{" | "}" | "," | ";");
    let dot = |text: &str| matches!(text, "." | "?.");
    let number = before.starts_with(|first: char| first.is_ascii_digit());
    bracket(before) || bracket(text) || dot(before) || (dot(text) && !number)
}
