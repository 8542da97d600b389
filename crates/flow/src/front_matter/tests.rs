use rhythm_core::retry::Backoff;
use rhythm_syntax::render::{Style, render};
use serde_json::json;

use super::*;
use crate::parser::parse;

fn reading(yaml: &str) -> Reading {
    let source = format!("```\n{yaml}\n```\na");
    read(&parse(&source).file.front_matter.unwrap())
}

#[track_caller]
fn settings(yaml: &str) -> Settings {
    let reading = reading(yaml);
    assert_eq!(reading.diagnostics, []);
    reading.settings
}

fn codes_of(yaml: &str) -> Vec<&'static str> {
    reading(yaml).diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn everything_can_be_set() {
    let settings = settings(
        "# about orders\nname: orders\ndescription: |\n  Ships orders.\n  And more.\nqueue: 'main'\ntimeout: 1h30m\n\
         retries:\n  max_attempts: 5\n  backoff: linear\n  no_retry_on: [BAD_CARD]\nschedule: \"0 9 * * MON-FRI\"\n\
         input:\n  type: object\n  required: [orderId]\n  properties: { orderId: { type: string, minLength: 1 } }\n\
         failures: values",
    );
    assert_eq!(settings.name.as_deref(), Some("orders"));
    assert_eq!(settings.description.as_deref(), Some("Ships orders.\nAnd more.\n"));
    assert_eq!(settings.queue.as_deref(), Some("main"));
    assert_eq!(settings.timeout, Some(Millis::from_secs(5_400)));
    let retries = settings.retries.unwrap();
    assert_eq!((retries.max_attempts, retries.backoff), (5, Backoff::Linear));
    assert_eq!(retries.no_retry_on, ["BAD_CARD"]);
    assert_eq!(retries.initial_delay, RetryPolicy::default().initial_delay);
    assert_eq!(settings.schedule.unwrap().text(), "0 9 * * MON-FRI");
    let schema = json!({
        "type": "object",
        "required": ["orderId"],
        "properties": { "orderId": { "type": "string", "minLength": 1 } },
    });
    assert_eq!(settings.input, Some(schema));
    assert_eq!(settings.failures, Failures::Values);
}

#[test]
fn nothing_need_be_set() {
    for yaml in ["", "# only a comment", "~", "---", "{}"] {
        assert_eq!(settings(yaml), Settings::default(), "{yaml}");
    }
    assert_eq!(settings("retries: 5").retries.unwrap().max_attempts, 5);
    assert_eq!(settings("timeout: 90").timeout, Some(Millis::from_secs(90)));
    assert_eq!(settings("timeout: 0.5").timeout, Some(Millis(500)));
    assert_eq!(settings("failures: throw").failures, Failures::Throw);
    assert_eq!(settings("input: true").input, Some(json!(true)));
}

#[test]
fn scalars_mean_what_yaml_says() {
    let input = |yaml: &str| settings(&format!("input: {{ a: {yaml} }}")).input.unwrap()["a"].clone();
    for (yaml, expected) in [
        ("1", json!(1)),
        ("-7", json!(-7)),
        ("+7", json!(7)),
        ("1.5", json!(1.5)),
        ("1e3", json!(1000.0)),
        (".5", json!(0.5)),
        ("18446744073709551615", json!(u64::MAX)),
        ("true", json!(true)),
        ("null", json!(null)),
        ("~", json!(null)),
        ("\"1\"", json!("1")),
        ("'true'", json!("true")),
        ("yes", json!("yes")),
        ("1h", json!("1h")),
        ("1.2.3", json!("1.2.3")),
        ("e5", json!("e5")),
        (".", json!(".")),
    ] {
        assert_eq!(input(yaml), expected, "{yaml}");
    }
}

#[test]
fn what_is_wrong_is_reported_and_the_rest_is_read() {
    let reading = reading("name: 5\nqueue: main\ntimeout: soon");
    assert_eq!(reading.diagnostics.len(), 2);
    assert_eq!(reading.settings.queue.as_deref(), Some("main"));
    for (yaml, code) in [
        ("name:", "FLOW018"),
        ("name: [a]", "FLOW018"),
        ("name: \"\"", "FLOW018"),
        ("timeout: -1", "FLOW018"),
        ("timeout: 1 h", "FLOW018"),
        ("timeout: {}", "FLOW018"),
        ("retries: many", "FLOW018"),
        ("retries: -1", "FLOW018"),
        ("retries: 0", "FLOW018"),
        ("retries: 1.5", "FLOW018"),
        ("retries: { backoff: sometimes }", "FLOW018"),
        ("retries: { multiplier: 0.5 }", "FLOW018"),
        ("retries: { max_attempt: 5 }", "FLOW100"),
        ("schedule: tomorrow", "FLOW018"),
        ("schedule: 5", "FLOW018"),
        ("input: [a]", "FLOW018"),
        ("failures: sometimes", "FLOW018"),
        ("- a", "FLOW018"),
        ("orders", "FLOW018"),
        ("nmae: orders", "FLOW100"),
        ("owner: me", "FLOW100"),
        ("name: orders\nname: others", "FLOW017"),
        ("name: [a", "FLOW017"),
        ("name: \"a", "FLOW017"),
        ("name: a: b", "FLOW017"),
        ("a: &x 1\nb: *x", "FLOW017"),
        ("a: *x", "FLOW017"),
        ("name: !!str 5", "FLOW017"),
        ("? [a, b]\n: c", "FLOW017"),
        ("a: 1\n---\nb: 2", "FLOW017"),
        ("input: { a: 1e999 }", "FLOW017"),
    ] {
        assert_eq!(codes_of(yaml).first(), Some(&code), "{yaml}");
    }
}

#[test]
fn diagnostics_point_into_the_file() {
    let source = "// é\n```yaml\nname: é\nqeue: main\ntimeout: 10 s\nretries:\n  max_attempts: 0\n  bakoff: linear\n\
                  schedule: \"99 * * * *\"\nfailures: maybe\n```\na";
    let reading = read(&parse(source).file.front_matter.unwrap());
    insta::assert_snapshot!(render("orders.flow", source, &reading.diagnostics, Style::Plain));
    let source = "```\nname: [orders\n```\na";
    let reading = read(&parse(source).file.front_matter.unwrap());
    insta::assert_snapshot!(render("orders.flow", source, &reading.diagnostics, Style::Plain));
}

#[test]
fn hostile_front_matter_neither_grows_nor_hangs() {
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]";
    assert_eq!(codes_of(bomb), ["FLOW017"]);
    for nested in ["[", "{a: ", "- ", "? ", "a:\n "] {
        assert!(!codes_of(&nested.repeat(20_000)).is_empty(), "{nested}");
    }
    assert_eq!(codes_of(&"a".repeat(FRONT_MATTER_LIMIT + 1)), ["FLOW017"]);
    let keys: String = (0..5_000).map(|index| format!("k{index}: 1\n")).collect();
    assert_eq!(codes_of(&keys).len(), DIAGNOSTIC_LIMIT);
}
