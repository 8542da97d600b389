use proptest::prelude::*;
use serde_json::json;

use super::*;

const READER: Reader = Reader { subject: "text", offset: 0, depth: 8 };

fn unreadable(text: &str) -> (String, String, usize) {
    let problem = READER.json(text).unwrap_err();
    (problem.title.unwrap_or(problem.label), problem.help.unwrap_or_default(), problem.span.range().start)
}

#[test]
fn values_know_where_they_stand() {
    let text = "{\"a\": [1, {\"b\": \"x\"}]}";
    let root = READER.json(text).unwrap();
    let inner = root.follow(["a", "1", "b"]);
    assert_eq!((inner.as_str(), inner.span.text(text)), (Some("x"), "\"x\""));
    assert_eq!(
        root.follow(["a", "7", "b"]).span.text(text),
        "[1, {\"b\": \"x\"}]",
        "the nearest thing around"
    );
    assert_eq!(root.entries()[0].key_span.text(text), "\"a\"");
}

#[test]
fn a_place_in_the_text_has_a_pointer() {
    let text = "{\"a/b~c\": [1, {\"k\": \"x\"}], \"z\": {}}";
    let root = READER.json(text).unwrap();
    let at = |part: &str| root.pointer(text.find(part).unwrap());
    assert_eq!(
        ["\"x\"", "\"k\"", "{\"k", "\"a/b"].map(at),
        ["/a~1b~0c/1/k", "/a~1b~0c/1/k", "/a~1b~0c/1", "/a~1b~0c"]
    );
    assert_eq!((at("{}"), root.pointer(0), root.pointer(99)), ("/z".into(), String::new(), String::new()));
}

#[test]
fn json_is_taken_to_the_letter() {
    let text = "\t{\"k\\u00e9\\ud83d\\ude00\": [-1.5e3, 18446744073709551615, true, null, {}, []]}\r\n";
    let expected = json!({"k\u{e9}\u{1f600}": [-1500.0, u64::MAX, true, null, {}, []]});
    assert_eq!(READER.json(text).unwrap().to_json(), expected);
    for text in [
        "", "{", "[1", "{\"a\"}", "{\"a\":}", "[1 2]", "01", "-", "tru", "\"\\x\"", "\"a\nb\"", "{} {}",
        "nul",
    ] {
        assert!(READER.json(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_slip_is_told_what_it_is() {
    assert_eq!(
        unreadable("{\"a\": 1, // one\n\"b\": 2}"),
        (
            "expected a key in double quotes".into(),
            "JSON has no comments: leave it out, or write YAML".into(),
            9
        )
    );
    assert_eq!(unreadable("[1,]").1, "JSON has no comma behind the last value: leave it out");
    assert_eq!(unreadable("{'a': 1}").1, "JSON has double quotes only");
    assert_eq!(unreadable("{\"a\": 1, \"\\u0061\": 2}").0, "the key `a` is given twice");
}

#[test]
fn depth_has_an_end_in_both_languages() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(READER.json(&deep(8)).is_ok() && READER.yaml(&deep(8)).is_ok());
    let title = Some("the text is nested too deeply".to_owned());
    assert_eq!(READER.json(&deep(9)).unwrap_err().title, title);
    assert_eq!(READER.yaml(&deep(9)).unwrap_err().title, title);
}

#[test]
fn yaml_that_grows_is_refused() {
    let bomb = "a: &a [x, x]\nb: [*a, *a]";
    assert_eq!(READER.yaml(bomb).unwrap_err().title.as_deref(), Some("there are no aliases"));
    assert!(READER.yaml("a: 1\na: 2").is_err(), "keys given twice");
    assert!(READER.yaml("a: !!str 1").is_err(), "tags");
}

proptest! {
    #[test]
    fn json_is_read_as_serde_reads_it(text in "[\\[\\]{}:,\"\\\\a-c0-9.e\\- \n]{0,24}") {
        // A text that serde accepts is accepted with the same meaning, except for duplicate keys and depth.
        match (serde_json::from_str::<Value>(&text), READER.json(&text)) {
            (Ok(expected), Ok(read)) => prop_assert_eq!(read.to_json(), expected),
            (Err(_), read) => prop_assert!(read.is_err()),
            (Ok(_), Err(problem)) => prop_assert!(problem.title.is_some(), "{:?}", problem),
        }
    }
}
