//! Values from the command line: JSON (also from files and standard input), durations, pairs.

use std::io::Read;

use rhythm_core::{Millis, Payload, RetryPolicy, duration};
use rhythm_engine::labels::started_by;
use rhythm_engine::world::WantedLabel;

use crate::errors::{CliError, CliResult};

/// Length of the longest line that is shown with an error in it.
const SHOWN_LINE: usize = 100;

/// Reads the value of an option that takes `JSON`, `@FILE` or `-`. A missing option gives null.
pub fn payload(option: &str, given: Option<&str>) -> CliResult<Payload> {
    let Some(given) = given else { return Ok(Payload::null()) };
    let (what, text) = if given == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        read.map_err(|error| bad_file("standard input", &error))?;
        ("standard input".to_owned(), text_of("standard input", bytes)?)
    } else if let Some(path) = given.strip_prefix('@') {
        (path.to_owned(), read_text(path)?)
    } else {
        (option.to_owned(), given.to_owned())
    };
    parse_json(&what, text.trim())
}

/// Reads a required argument of the same form as a parsed value.
pub fn json(argument: &str, given: &str) -> CliResult<serde_json::Value> {
    let payload = payload(argument, Some(given))?;
    let text = payload.text().unwrap_or("null");
    serde_json::from_str(text).map_err(|error| bad_json(argument, text, &error))
}

pub fn read_text(path: &str) -> CliResult<String> {
    text_of(path, read_bytes(path)?)
}

/// Reads a file without changes.
pub fn read_bytes(path: &str) -> CliResult<Vec<u8>> {
    std::fs::read(path).map_err(|error| bad_file(path, &error))
}

fn bad_file(path: &str, error: &std::io::Error) -> CliError {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    };
    CliError::BadFile { path: path.to_owned(), reason }
}

/// Returns the text of a file without its byte order mark. Fails if it is not UTF-8.
fn text_of(path: &str, mut bytes: Vec<u8>) -> CliResult<String> {
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(.."\u{feff}".len());
    }
    String::from_utf8(bytes).map_err(|error| CliError::BadFile {
        path: path.to_owned(),
        reason: format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to() + 1),
    })
}

fn parse_json(what: &str, text: &str) -> CliResult<Payload> {
    Payload::parse(text.to_owned()).map_err(|error| bad_json(what, text, &error))
}

fn bad_json(what: &str, text: &str, error: &serde_json::Error) -> CliError {
    if text.is_empty() {
        let (what, reason) = (what.to_owned(), "it is empty".to_owned());
        return CliError::BadJson { what, reason, place: None };
    }
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    // The parser's column counts bytes and is one past the error; the caret counts characters.
    let before = line.get(..error.column().saturating_sub(1)).map(|part| part.chars().count());
    let place = before.filter(|_| line.len() <= SHOWN_LINE).map(|column| (line.to_owned(), column));
    CliError::BadJson { what: what.to_owned(), reason: error.to_string(), place }
}

/// Reads a duration such as `10s` or `1h30m`.
pub fn duration(option: &str, text: &str) -> CliResult<Millis> {
    duration::parse(text)
        .map_err(|error| CliError::BadDuration { what: option.to_owned(), reason: error.to_string() })
}

/// Reads a duration, or a bare number of seconds.
pub fn lenient_duration(option: &str, text: &str) -> CliResult<Millis> {
    match text.parse::<u64>() {
        Ok(seconds) => Ok(Millis::from_secs(seconds)),
        Err(_) => duration(option, text),
    }
}

pub fn optional_duration(option: &str, text: Option<&str>) -> CliResult<Option<Millis>> {
    text.map(|text| duration(option, text)).transpose()
}

/// Reads a number of attempts, or a retry policy as JSON.
pub fn retries(text: &str) -> CliResult<RetryPolicy> {
    let wrong = |reason: String| CliError::BadValue(format!("--retries {text}: {reason}"));
    let policy: RetryPolicy = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    policy.check().map_err(|error| wrong(error.to_string()))?;
    Ok(policy)
}

/// Reads the value of `--priority`.
pub fn priority(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| "a priority is a whole number such as 5 or -1, higher goes first".to_owned())
}

/// Reads the value of `--label`.
pub fn label(text: &str) -> Result<String, String> {
    match rhythm_core::label::fits(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("a label has 1 to {} characters", rhythm_core::label::MAX_LABEL)),
    }
}

/// Reads `KEY=VALUE`.
pub fn pair(option: &str, text: &str) -> CliResult<(String, String)> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(CliError::BadValue(format!("{option} {text:?}: write KEY=VALUE"))),
    }
}

/// A tag, or a move of one (`main@v3`); a label of a run is refused.
pub fn tag(text: &str) -> CliResult<String> {
    if text.contains('=') {
        return Err(CliError::BadValue(format!(
            "--tag {text:?}: a tag is a name for a version of a workflow; a label of the run is --label {text}"
        )));
    }
    Ok(text.to_owned())
}

/// The labels that --tag and --label want of runs.
pub fn wanted_labels(started: Option<&str>, labels: &[String]) -> CliResult<Vec<WantedLabel>> {
    let mut wanted = match started {
        Some(named) => started_by(&tag(named)?),
        None => Vec::new(),
    };
    for label in labels {
        wanted.push(match label.contains('=') {
            true => pair("--label", label).map(|(key, value)| WantedLabel::equal(&key, &value))?,
            false => WantedLabel::present(label),
        });
    }
    Ok(wanted)
}

/// Reads `NAME` or `NAME:LIMIT`.
pub fn queue(text: &str) -> CliResult<(String, usize)> {
    let wrong = |reason: &str| {
        CliError::BadValue(format!("queue {text:?}: {reason}; write NAME or NAME:LIMIT, such as mail:5"))
    };
    let (name, limit) = match text.rsplit_once(':') {
        None => (text, usize::MAX),
        Some((name, limit)) => match limit.parse() {
            Ok(0) => return Err(wrong("a limit of 0 would take no task")),
            Ok(limit) => (name, limit),
            Err(_) => return Err(wrong("the limit is not a number")),
        },
    };
    if name.is_empty() || name.len() > 200 {
        return Err(wrong("a name has 1 to 200 characters"));
    }
    Ok((name.to_owned(), limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_json_is_pointed_at() {
        let Err(CliError::BadJson { reason, place, .. }) = parse_json("--input", "{\"ä\": nope}") else {
            panic!("accepted")
        };
        assert_eq!(reason, "expected ident at line 1 column 9");
        assert_eq!(place, Some(("{\"ä\": nope}".into(), 7)));
        assert!(matches!(parse_json("--input", ""), Err(CliError::BadJson { place: None, .. })));
    }

    #[test]
    fn queues_may_carry_a_limit() {
        assert_eq!(queue("mail").unwrap(), ("mail".into(), usize::MAX));
        assert_eq!(queue("mail:5").unwrap(), ("mail".into(), 5));
        for wrong in ["", ":5", "mail:", "mail:0", "mail:five", "mail:-1"] {
            assert!(queue(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn retries_are_a_number_or_a_policy() {
        assert_eq!(retries("5").unwrap().max_attempts, 5);
        assert_eq!(retries(r#"{"initial_delay": "10ms"}"#).unwrap().initial_delay, Millis(10));
        for wrong in ["0", "-1", "many", r#"{"max_atempts": 2}"#] {
            assert!(retries(wrong).is_err(), "{wrong}");
        }
    }
}
