//! Starts a run for each line of a file.

use std::io::{BufRead, BufReader, IsTerminal, Write};

use rhythm::StartRun;
use rhythm_core::{Payload, RunId};
use rhythm_engine::client::fresh_id;
use rhythm_engine::error::EngineError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::errors::{CliError, CliResult};
use crate::output::{clean, count};
use crate::session::Session;

/// Largest number of runs in one transaction.
const BATCH: usize = 500;
/// Number of refused lines that are listed.
const NAMED: usize = 20;

/// One line, and the run to start for it.
pub struct Line {
    number: usize,
    start: StartRun,
}

#[derive(Serialize)]
struct Row {
    line: usize,
    run: RunId,
}

/// Source of the idempotency keys of lines.
pub struct Keys<'a> {
    /// Prefix, followed by the number of the line.
    pub prefix: Option<&'a str>,
    /// Field of the line that holds the key.
    pub field: Option<&'a str>,
}

/// Lines that cannot be started, with the reason.
#[derive(Default)]
pub struct Refused {
    lines: usize,
    named: Vec<String>,
}

impl Refused {
    fn add(&mut self, line: usize, reason: &str) {
        self.lines += 1;
        if self.named.len() < NAMED {
            self.named.push(clean(&format!("line {line}: {reason}")));
        }
    }

    /// Lists the refused lines and fails with what was done in spite of them. Succeeds if there are none.
    fn check(self, session: &Session, done: &str) -> CliResult {
        if self.lines == 0 {
            return Ok(());
        }
        for named in &self.named {
            session.out.complain(named);
        }
        if self.lines > NAMED {
            session.out.complain(&format!("and {} more", self.lines - NAMED));
        }
        let lines = count(u64::try_from(self.lines).unwrap_or(u64::MAX), "line");
        Err(CliError::Refused(format!("{lines} cannot be started; {done}")))
    }
}

/// Starts a run for each line. Starts nothing unless every line is JSON that fits the workflow's input.
pub async fn start_each(session: &Session, from: &str, model: &StartRun, keys: &Keys<'_>) -> CliResult {
    let (lines, mut refused) = read(from, model, keys)?;
    if refused.lines == 0 {
        for batch in lines.chunks(BATCH) {
            let starts: Vec<StartRun> = batch.iter().map(|line| line.start.clone()).collect();
            let answers = session.client.check_starts(&starts).await?;
            for (line, answer) in batch.iter().zip(answers) {
                if let Some(error) = answer {
                    refused.add(line.number, &error.to_string());
                }
            }
        }
    }
    refused.check(session, "nothing was started")?;
    let mut refused = Refused::default();
    let mut rows = Vec::new();
    let bar = Bar { shown: !session.out.is_quiet() && std::io::stderr().is_terminal(), all: lines.len() };
    for batch in lines.chunks(BATCH) {
        let started = start(session, batch, &mut refused).await?;
        if !session.out.is_json() {
            session.out.raw(&started.iter().map(|row| format!("{}\n", row.run)).collect::<String>())?;
        }
        rows.extend(started);
        bar.show(rows.len());
    }
    bar.clear();
    if session.out.is_json() {
        session.out.json(&json!({ "rows": rows, "next": null }))?;
    } else {
        session.out.note(format!("started {}", count(rows.len() as u64, "run")));
    }
    refused.check(session, "the other lines were started")
}

/// Starts a batch of runs. If a key was used with another input before, starts each line on its own. Every
/// line has its id, so no run is started twice.
async fn start(session: &Session, batch: &[Line], refused: &mut Refused) -> CliResult<Vec<Row>> {
    let starts: Vec<StartRun> = batch.iter().map(|line| line.start.clone()).collect();
    let row = |(line, run): (&Line, RunId)| Row { line: line.number, run };
    match session.client.start_runs(starts).await {
        Ok(runs) => return Ok(batch.iter().zip(runs).map(row).collect()),
        Err(EngineError::KeyConflict(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let mut rows = Vec::new();
    for line in batch {
        match session.client.start_run(line.start.clone()).await {
            Ok(run) => rows.push(row((line, run))),
            Err(error @ EngineError::KeyConflict(_)) => refused.add(line.number, &error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(rows)
}

fn read(from: &str, model: &StartRun, keys: &Keys<'_>) -> CliResult<(Vec<Line>, Refused)> {
    let name = from.strip_prefix('@').unwrap_or(from);
    let unreadable = |error: std::io::Error| CliError::BadFile {
        path: if from == "-" { "standard input".to_owned() } else { name.to_owned() },
        reason: match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        },
    };
    let reader: Box<dyn BufRead> = match from {
        "-" => Box::new(std::io::stdin().lock()),
        _ => Box::new(BufReader::new(std::fs::File::open(name).map_err(unreadable)?)),
    };
    let (mut lines, mut refused) = (Vec::new(), Refused::default());
    for (place, text) in reader.lines().enumerate() {
        let text = text.map_err(unreadable)?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            continue;
        }
        let number = place + 1;
        let Ok(input) = Payload::parse(text.to_owned()) else {
            let error = serde_json::from_str::<Value>(text).err().map(|error| error.to_string());
            let reason = error.unwrap_or_else(|| "it cannot be read".to_owned());
            refused.add(
                number,
                &format!("not valid JSON: {}", reason.replace(" at line 1 column", " at column")),
            );
            continue;
        };
        match key(text, number, keys) {
            Ok(key) => {
                let id = key.is_none().then(|| RunId::new(fresh_id()));
                lines.push(Line { number, start: StartRun { input, key, id, ..model.clone() } });
            }
            Err(reason) => refused.add(number, &reason),
        }
    }
    Ok((lines, refused))
}

/// Returns the idempotency key of a line, if the options ask for one.
fn key(text: &str, number: usize, keys: &Keys<'_>) -> Result<Option<String>, String> {
    if let Some(prefix) = keys.prefix {
        return Ok(Some(format!("{prefix}:{number}")));
    }
    let Some(field) = keys.field else { return Ok(None) };
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    match value.get(field) {
        Some(Value::String(key)) if !key.is_empty() => Ok(Some(key.clone())),
        Some(Value::Number(key)) => Ok(Some(key.to_string())),
        Some(_) => Err(format!("field {field} is no text and no number, so it is no key")),
        None => Err(format!("there is no field {field} to take the key from")),
    }
}

/// Progress bar on a terminal.
struct Bar {
    shown: bool,
    all: usize,
}

impl Bar {
    fn show(&self, done: usize) {
        if self.shown {
            let _ = std::io::stderr().write_all(format!("\r  started {done} of {}", self.all).as_bytes());
        }
    }

    fn clear(&self) {
        if self.shown {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
