//! Programs nobody would write, made of a seed: whatever they do, they do the same three times, and their history
//! folds to the same snapshot. A seed that fails fails always.

use serde_json::json;

use crate::stage::{Answer, Ending, Script, Way, play};

#[test]
fn random_programs_do_the_same_whichever_way_they_run() {
    let mut endings = [0; 4];
    for seed in 0..250 {
        let mut dice = Dice(seed * 2 + 1);
        let source = dice.program();
        let script = dice.script();
        let straight =
            play(&source, &script, Way::Straight).unwrap_or_else(|e| panic!("{seed}: {e}\n{source}"));
        for way in [Way::Reloaded, Way::Twice] {
            let other = play(&source, &script, way).unwrap_or_else(|e| panic!("{seed}: {e}\n{source}"));
            assert!(other.same(&straight), "seed {seed} {way:?}\n{source}\n{other:#?}\n{straight:#?}");
        }
        let place = match straight.ending {
            Ending::Completed(_) => 0,
            Ending::Failed { code, message, .. } => {
                // Programs are cut off by limits, never by our own mistakes.
                assert!(!message.contains("lost its place"), "seed {seed}: {code} {message}\n{source}");
                1
            }
            Ending::Cancelled => 2,
            Ending::Waiting => 3,
        };
        endings[place] += 1;
    }
    // Else the dice are loaded and nothing was tested.
    assert!(endings.iter().all(|count| *count >= 5), "{endings:?}");
}

/// A small generator of its own, so that a seed means the same for ever.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }

    fn script(&mut self) -> Script {
        let mut script =
            Script { inputs: json!({"n": 3, "list": [1, 2], "big": {"blob": "x"}}), ..Script::default() };
        for name in ["task a", "task b", "task c", "child kid"] {
            let answers = (0..3).map(|_| {
                let after = self.roll(4) as f64;
                match self.roll(4) {
                    0 => (Answer::Err(json!({"message": "bad", "code": "BAD"})), after),
                    1 => (Answer::Ok(json!({"n": after, "$x": [1]})), after),
                    2 => (Answer::Ok(json!({"blob": "large"})), after),
                    _ => (Answer::Ok(json!(after)), after),
                }
            });
            script.answers.insert(name.into(), answers.collect());
        }
        if self.roll(4) == 0 {
            script.answers.insert("task c".into(), vec![(Answer::Never, 0.0)]);
        }
        script.large.insert("large".into(), json!({"n": 7, "list": ["x", "y"]}));
        for number in 0..self.roll(5) {
            let at = self.roll(6) as f64;
            script.signals.push((self.pick(&["s", "t"]).into(), json!(number), at));
        }
        if self.roll(5) == 0 {
            script.cancels.push(self.roll(6) as f64);
        }
        script
    }

    fn program(&mut self) -> String {
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
