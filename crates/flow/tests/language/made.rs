//! Builds random programs and the answers they get, from a seed. Depends on nothing of this crate: tests of
//! other crates include this file by its path.

use std::collections::BTreeMap;

/// Result of one start of a task.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A number.
    Number(f64),
    /// An object with a key that looks like a tag of stored values.
    Object(f64),
    /// A value so large that it is stored as a blob.
    Large,
    Failure,
    Never,
}

/// Answers from outside. Signals and cancellations have times in seconds after the start; replies have delays
/// in seconds.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// By task; `kid` is a child. The last reply repeats.
    pub replies: BTreeMap<&'static str, Vec<(Reply, f64)>>,
    /// Name, payload and time.
    pub signals: Vec<(String, usize, f64)>,
    pub cancel: Option<f64>,
}

/// A deterministic random number generator, so that a seed always means the same program.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }

    pub fn schedule(&mut self) -> Schedule {
        let mut schedule = Schedule::default();
        for name in ["a", "b", "c", "kid"] {
            let replies = (0..3).map(|_| {
                let after = self.roll(4) as f64;
                match self.roll(4) {
                    0 => (Reply::Failure, after),
                    1 => (Reply::Object(after), after),
                    2 => (Reply::Large, after),
                    _ => (Reply::Number(after), after),
                }
            });
            schedule.replies.insert(name, replies.collect());
        }
        if self.roll(4) == 0 {
            schedule.replies.insert("c", vec![(Reply::Never, 0.0)]);
        }
        for number in 0..self.roll(5) {
            let at = self.roll(6) as f64;
            schedule.signals.push((self.pick(&["s", "t"]).into(), number, at));
        }
        if self.roll(5) == 0 {
            schedule.cancel = Some(self.roll(6) as f64);
        }
        schedule
    }

    pub fn program(&mut self) -> String {
        let mut text =
            String::from("let x = 1\nlet y = [1, 2]\nlet z = { n: 0 }\nlet h = Task.run(\"a\", {})\n");
        self.statements(&mut text, 0);
        text.push_str("return [x, y, z]\n");
        text
    }

    fn statements(&mut self, text: &mut String, depth: usize) {
        for _ in 0..2 + self.roll(4) {
            self.statement(text, depth);
        }
    }

    fn block(&mut self, text: &mut String, head: &str, depth: usize) {
        text.push_str(&format!("{head} {{\n"));
        self.statements(text, depth + 1);
        text.push_str("}\n");
    }

    fn statement(&mut self, text: &mut String, depth: usize) {
        let choice = if depth < 3 { self.roll(20) } else { self.roll(13) };
        let line = match choice {
            0 => format!("{} = {}", self.pick(&["x", "y", "z", "made"]), self.value(2)),
            1 => format!("let {} = {}", self.pick(&["x", "y", "w"]), self.value(2)),
            2 => format!("let {} = await {}", self.pick(&["x", "y"]), self.handle(2)),
            3 => format!("{} = await {}", self.pick(&["x", "y", "z.n", "y[0]"]), self.handle(2)),
            4 => format!("h = {}", self.handle(2)),
            5 => format!("try {{ x = await h }} catch (e) {{ x = e{} }}", self.pick(&["", ".code"])),
            6 => format!(
                "try {{ {} = {} }} catch {{ }}",
                self.pick(&["z.m", "y[y.length]", "z.n"]),
                self.value(2)
            ),
            7 => format!("try {{ await {} }} catch (e) {{ log(e.code) }}", self.handle(3)),
            8 => format!("log({})", self.value(1)),
            9 => self
                .pick(&["task(\"b\", x)", "sleep(1)", "[x, y] = all([task(\"a\"), task(\"b\")])"])
                .to_owned(),
            10 => format!("try {{ [x] = y }} catch {{ let {{ n }} = {{ n: {} }} x = n }}", self.value(1)),
            11 => format!("{};", self.handle(2)),
            12 if self.roll(6) == 0 => self.pick(&["throw \"enough\"", "return x"]).to_owned(),
            12 => "x = 1".to_owned(),
            13 => {
                let condition = self.value(1);
                return self.block(text, &format!("if ({condition})"), depth);
            }
            14 => return self.block(text, "for (let i of [1, 2])", depth),
            15 => return self.block(text, "for (k in { a: 1, b: 2 })", depth),
            16 => return self.block(text, "for (const key in z)", depth),
            17 => return self.block(text, "", depth),
            18 => {
                self.block(text, "try", depth);
                return self.block(text, "catch (error)", depth);
            }
            _ => {
                let counter = format!("n{}", text.len());
                text.push_str(&format!(
                    "let {counter} = 0\nwhile ({counter} < 2) {{\n{counter} = {counter} + 1\n"
                ));
                self.statements(text, depth + 1);
                "}".to_owned()
            }
        };
        text.push_str(&line);
        text.push('\n');
    }

    fn value(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&[
                    "x",
                    "y",
                    "z",
                    "1",
                    "0",
                    "2.5",
                    "\"s\"",
                    "null",
                    "true",
                    "inputs.n",
                    "Time.now()",
                    "h",
                ])
                .to_owned();
        }
        let (a, b) = (self.value(depth - 1), self.value(depth - 1));
        match self.roll(14) {
            0 => format!("[{a}, {b}]"),
            1 => format!("{{ a: {a}, \"$b\": {b} }}"),
            2 => format!("({a} ?? {b})"),
            3 => format!("({a} == {b})"),
            4 => format!("({a} ? {b} : 1)"),
            5 => format!("({a} || {b})"),
            6 => "x?.n".to_owned(),
            7 => "z?.n?.list?.first()".to_owned(),
            8 => format!("[{a}].concat([{b}]).length"),
            9 => format!("[{a}, {b}].unique()"),
            10 => format!("({a} + {b})"),
            11 => format!("JSON.stringify({a})"),
            12 => format!("Object.keys({{ k: {a} }})"),
            _ => a,
        }
    }

    fn handle(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&[
                    "h",
                    "Task.run(\"a\", { n: 1 })",
                    "Task.run(\"b\", {}, { settle: true })",
                    "Task.run(\"c\", {}, { cancel: true })",
                    "Timer.delay(2)",
                    "Task.delay(500)",
                    "Signal.next(\"s\")",
                    "Signal.when(\"t\", { timeout: 3 })",
                    "Workflow.run(\"kid\", x)",
                    "Workflow.run(\"kid\", {}, { retries: 2, cancel: true })",
                    "Task.map(\"a\", [1, 2, 3], { concurrency: 2 })",
                    "Task.map(\"c\", [1, y, { n: 2 }], { concurrency: 1, cancel: true })",
                    "Workflow.map(\"kid\", [1, 2, 3], { concurrency: 2, settle: true, retries: 2 })",
                ])
                .to_owned();
        }
        let (a, b) = (self.handle(depth - 1), self.handle(depth - 1));
        match self.roll(9) {
            0 => format!("Promise.all([{a}, {b}])"),
            1 => format!("Promise.any({{ a: {a}, b: {b} }})"),
            2 => format!("Promise.race([{a}, {b}])"),
            3 => format!("Promise.race_kv({{ a: {a}, b: {b} }})"),
            4 => format!("Promise.any_kv([{a}, {b}])"),
            5 => format!("Promise.allSettled([{a}, {b}])"),
            6 => format!("Task.timeout({a}, {})", self.roll(4)),
            7 => format!("Promise.race([{a}, {b}], {{ cancel: true }})"),
            _ => a,
        }
    }
}
