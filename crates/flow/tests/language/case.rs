//! One test case of a page: a heading, a sentence with the reason, a program, and its dialogue, one entry a
//! line:
//!
//! ```text
//! inputs {"n": 1}                          input of the run
//! task charge ok {"id": 1} after 2         result of a task, one line per start; the last line repeats
//! task ship err {"message": "no stock", "type": "OutOfStock"}
//! child kid ok 5                           result of a child
//! signal approve {"by": "ann"} at 5        a signal, and when it arrives
//! cancel at 10
//! call charge {"amount": 3}                every start of a task with its input, in order
//! cancelled charge                         a task the program cancels
//! sent run-9 hello {"n": 1}                 every signal to another run
//! log text                                 a line of `log(..)`
//! output 3  |  error CODE text  |  status waiting
//! waiting signal approve                   something the run waits for at the end, one line each
//! elapsed 5
//! snapshot < 1000                          upper bound of the largest snapshot, in bytes
//! ```

use serde_json::Value;

use crate::stage::{Answer, Ending, Report, Script, Way, play};

#[derive(Debug, Default)]
pub struct Case {
    pub title: String,
    pub line: usize,
    source: String,
    script: Script,
    expected: Expected,
}

#[derive(Debug, Default)]
struct Expected {
    output: Option<Value>,
    error: Option<(String, String)>,
    status: Option<String>,
    calls: Vec<(String, Value)>,
    checks_calls: bool,
    sent: Vec<String>,
    cancelled: Vec<String>,
    logs: Vec<String>,
    waiting: Vec<String>,
    elapsed: Option<f64>,
    snapshot_below: Option<usize>,
}

impl Case {
    pub fn parse_page(text: &str) -> Vec<Self> {
        let mut cases: Vec<Case> = Vec::new();
        // The fence of the open block, and its language.
        let mut block: Option<(&str, &str)> = None;
        for (place, line) in text.lines().enumerate() {
            match block {
                Some((fence, _)) if line == fence => block = None,
                Some((_, "flow")) => {
                    let case = cases.last_mut().expect("a heading comes first");
                    case.source.push_str(line);
                    case.source.push('\n');
                }
                Some(_) => {
                    let case = cases.last_mut().expect("a heading comes first");
                    case.dialogue(line).unwrap_or_else(|e| panic!("line {}: {e}: {line}", place + 1));
                }
                None => {
                    let kind = line.trim_start_matches('`');
                    if kind.len() + 3 <= line.len() {
                        block = Some((&line[..line.len() - kind.len()], kind));
                    }
                    if let Some(title) = line.strip_prefix("## ") {
                        cases.push(Case { title: title.to_owned(), line: place + 1, ..Case::default() });
                    }
                }
            }
        }
        cases
    }

    fn dialogue(&mut self, line: &str) -> Result<(), String> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let expected = &mut self.expected;
        match verb {
            "" | "#" => {}
            "inputs" => self.script.inputs = json(rest)?,
            "task" | "child" => {
                let (name, answer) = rest.split_once(' ').ok_or("no answer")?;
                let (answer, after) = timed(answer, " after ");
                let answer = match answer.split_once(' ').unwrap_or((answer, "")) {
                    ("ok", value) => Answer::Ok(json(value)?),
                    ("err", value) => Answer::Err(json(value)?),
                    ("never", _) => Answer::Never,
                    (other, _) => return Err(format!("unknown answer {other}")),
                };
                let key = format!("{verb} {name}");
                self.script.answers.entry(key).or_default().push((answer, after.unwrap_or(0.0)));
            }
            "signal" => {
                let (rest, at) = timed(rest, " at ");
                let (name, payload) = rest.split_once(' ').unwrap_or((rest, "null"));
                self.script.signals.push((name.to_owned(), json(payload)?, at.unwrap_or(0.0)));
            }
            "cancel" => self.script.cancels.push(timed(&format!(" {rest}"), " at ").1.ok_or("no time")?),
            "blob" => {
                let (name, value) = rest.split_once(' ').ok_or("no value")?;
                self.script.large.insert(name.to_owned(), json(value)?);
            }
            "call" => {
                expected.checks_calls = true;
                if let Some((name, input)) = rest.split_once(' ') {
                    expected.calls.push((name.to_owned(), json(input)?));
                }
            }
            "sent" => {
                let (to, rest) = rest.split_once(' ').ok_or("no name")?;
                let (name, payload) = rest.split_once(' ').ok_or("no payload")?;
                expected.sent.push(format!("{to} {name} {}", show(&json(payload)?)));
            }
            "cancelled" => expected.cancelled.push(rest.to_owned()),
            "log" => expected.logs.push(rest.to_owned()),
            "output" => expected.output = Some(json(rest)?),
            "error" => {
                let (code, text) = rest.split_once(' ').unwrap_or((rest, ""));
                expected.error = Some((code.to_owned(), text.to_owned()));
            }
            "status" => expected.status = Some(rest.to_owned()),
            "waiting" => expected.waiting.push(rest.to_owned()),
            "elapsed" => expected.elapsed = rest.parse().ok(),
            "snapshot" => expected.snapshot_below = rest.trim_start_matches("< ").parse().ok(),
            other => return Err(format!("unknown word {other}")),
        }
        Ok(())
    }

    /// Returns the differences from the page, for all three ways to run the program.
    pub fn check(&self) -> Vec<String> {
        let straight = match play(&self.source, &self.script, Way::Straight) {
            Ok(report) => report,
            Err(problem) => return vec![problem],
        };
        let mut problems = self.expected.compare(&straight);
        for way in [Way::Reloaded, Way::Twice] {
            match play(&self.source, &self.script, way) {
                Ok(report) if report.same(&straight) => {}
                Ok(report) => problems.push(format!("{way:?} differs: {report:?} instead of {straight:?}")),
                Err(problem) => problems.push(format!("{way:?}: {problem}")),
            }
        }
        problems
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error} in {text}"))
}

fn timed<'t>(text: &'t str, word: &str) -> (&'t str, Option<f64>) {
    match text.rsplit_once(word).map(|(before, time)| (before, time.parse())) {
        Some((before, Ok(time))) => (before, Some(time)),
        _ => (text, None),
    }
}

impl Expected {
    fn compare(&self, found: &Report) -> Vec<String> {
        let mut problems = Vec::new();
        let mut differ = |what: &str, expected: String, found: String| {
            if expected != found {
                problems.push(format!("{what}: expected {expected}, found {found}"));
            }
        };
        let ending = match &found.ending {
            Ending::Completed(output) => format!("output {}", show(output)),
            Ending::Failed { code, kind, message } => match &self.error {
                // Matches the code or the type, and a part of the message.
                Some((wanted, part)) if (wanted == code || wanted == kind) && message.contains(part) => {
                    format!("error {wanted} {part}")
                }
                _ => format!("error {code} {message} ({kind})"),
            },
            Ending::Cancelled => "status cancelled".to_owned(),
            Ending::Waiting => "status waiting".to_owned(),
        };
        let expected = match (&self.output, &self.error, &self.status) {
            (Some(output), _, _) => format!("output {}", show(output)),
            (_, Some((code, part)), _) => format!("error {code} {part}"),
            (_, _, Some(status)) => format!("status {status}"),
            _ => "a line that says how it ends".to_owned(),
        };
        differ("end", expected, ending);
        if self.checks_calls {
            let shown = |calls: &[(String, Value)]| {
                let calls = calls.iter().map(|(name, input)| format!("{name} {}", show(input)));
                calls.collect::<Vec<_>>().join("; ")
            };
            differ("calls", shown(&self.calls), shown(&found.calls));
        }
        if !self.sent.is_empty() {
            let sent = found.sent.iter().map(|(to, payload)| format!("{to} {}", show(payload)));
            differ("sent", self.sent.join("; "), sent.collect::<Vec<_>>().join("; "));
        }
        if !self.cancelled.is_empty() {
            differ("cancelled", self.cancelled.join(", "), found.cancelled.join(", "));
        }
        if !self.logs.is_empty() {
            differ("logs", self.logs.join("; "), found.logs.join("; "));
        }
        if !self.waiting.is_empty() {
            differ("waiting", self.waiting.join("; "), found.waiting.join("; "));
        }
        if let Some(elapsed) = self.elapsed {
            differ("elapsed", elapsed.to_string(), found.elapsed.to_string());
        }
        if let Some(most) = self.snapshot_below
            && found.largest_snapshot >= most
        {
            problems.push(format!("a snapshot has {} bytes", found.largest_snapshot));
        }
        problems
    }
}

/// Shows a value in one form: whole numbers as integers; `serde_json` sorts the keys.
fn show(value: &Value) -> String {
    fn plain(value: &Value) -> Value {
        match value {
            Value::Number(number) => match number.as_f64() {
                Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => Value::from(float as i64),
                _ => value.clone(),
            },
            Value::Array(items) => items.iter().map(plain).collect(),
            Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
            other => other.clone(),
        }
    }
    plain(value).to_string()
}
