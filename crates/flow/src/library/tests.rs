//! Every function with a typical use and with what it refuses.

use super::*;
use crate::json::{Handles, read, write_plain};
use crate::limits::WriteStats;
use crate::runtime_error::{Stop, codes};
use crate::value::Value;

/// Calls `name` (a method if there is a receiver) with JSON arguments; returns JSON or the thrown code.
fn call(receiver: &str, name: &str, arguments: &str) -> String {
    let receiver = read(if receiver.is_empty() { "null" } else { receiver }).unwrap();
    let function = match &receiver {
        Value::List(_) => list_method(name),
        Value::Text(_) => text_method(name),
        _ => function(name),
    };
    let Value::List(arguments) = read(&format!("[{arguments}]")).unwrap() else { unreachable!() };
    let mut meter = WriteStats::default();
    let function = function.unwrap_or_else(|| panic!("no {name}"));
    let mut call = Call { function, receiver, arguments: arguments.items().to_vec(), meter: &mut meter };
    match call.run() {
        Ok(value) => {
            let mut out = Vec::new();
            write_plain(&value, Handles::Absent, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        }
        Err(Stop::Thrown(error)) => error.code.to_string(),
        Err(stop) => format!("{stop:?}"),
    }
}

fn check(cases: &[(&str, &str, &str, &str)]) {
    for (receiver, name, arguments, expected) in cases {
        assert_eq!(call(receiver, name, arguments), *expected, "{receiver}.{name}({arguments})");
    }
}

#[test]
fn math_rounds_and_compares_numbers() {
    check(&[
        ("", "Math.floor", "-1.5", "-2"),
        ("", "Math.ceil", "1.2", "2"),
        ("", "Math.abs", "-3", "3"),
        ("", "Math.round", "2.5", "3"),
        ("", "Math.round", "-2.5", "-2"),
        ("", "Math.min", "3, 1.5, 2", "1.5"),
        ("", "Math.max", "3, 1, 2", "3"),
        ("", "Math.max", "", codes::WRONG_ARG_COUNT),
        ("", "Math.floor", "1, 2", codes::WRONG_ARG_COUNT),
        ("", "Math.floor", "\"1\"", codes::WRONG_ARG_TYPE),
        ("", "Math.max", "1, null", codes::WRONG_ARG_TYPE),
    ]);
}

#[test]
fn operators_are_functions_too() {
    check(&[
        ("", "add", "1, 2", "3"),
        ("", "add", "\"a\", 1", "\"a1\""),
        ("", "sub", "1, 2", "-1"),
        ("", "mul", "3, 2", "6"),
        ("", "div", "7, 2", "3.5"),
        ("", "div", "7, 0", codes::NUMBER_ERROR),
        ("", "eq", "[1], [1]", "true"),
        ("", "ne", "1, 2", "true"),
        ("", "lt", "1, 2", "true"),
        ("", "lte", "2, 2", "true"),
        ("", "gt", "1, 2", "false"),
        ("", "gte", "1, 2", "false"),
        ("", "not", "0", "true"),
        ("", "and", "0, 5", "0"),
        ("", "and", "1, 5", "5"),
        ("", "or", "0, 5", "5"),
        ("", "or", "1, 5", "1"),
        ("", "add", "1", codes::WRONG_ARG_COUNT),
        ("", "lt", "1, \"2\"", codes::TYPE_ERROR),
    ]);
}

#[test]
fn lists() {
    check(&[
        ("[1,2]", "concat", "[3], [4]", "[1,2,3,4]"),
        ("[1]", "concat", "2, {}", "[1,2,{}]"),
        ("[1,[2]]", "includes", "[2]", "true"),
        ("[1]", "includes", "\"1\"", "false"),
        ("[1,2,1]", "indexOf", "1", "0"),
        ("[1]", "indexOf", "5", "-1"),
        ("[1,2,3,4]", "slice", "1, 3", "[2,3]"),
        ("[1,2,3,4]", "slice", "-2", "[3,4]"),
        ("[1,2,3,4]", "slice", "3, 1", "[]"),
        ("[1,2]", "slice", "", "[1,2]"),
        ("[1,2]", "slice", "\"a\"", codes::WRONG_ARG_TYPE),
        ("[1,\"b\",null,true]", "join", "\"-\"", "\"1-b--true\""),
        ("[1,2]", "join", "", "\"1,2\""),
        ("[1,2]", "join", "3", codes::WRONG_ARG_TYPE),
        ("[1,2,3]", "reverse", "", "[3,2,1]"),
        ("[1,2]", "first", "", "1"),
        ("[1,2]", "last", "", "2"),
        ("[]", "first", "", "null"),
        ("[]", "last", "", "null"),
        ("[1,2.5]", "sum", "", "3.5"),
        ("[]", "sum", "", "0"),
        ("[1,\"a\"]", "sum", "", codes::TYPE_ERROR),
        ("[1e308,1e308]", "sum", "", codes::NUMBER_ERROR),
        (
            "[{\"a\":2,\"i\":0},{\"a\":1,\"i\":1},{\"a\":2,\"i\":2}]",
            "sortBy",
            "\"a\"",
            "[{\"a\":1,\"i\":1},{\"a\":2,\"i\":0},{\"a\":2,\"i\":2}]",
        ),
        ("[{\"a\":\"y\"},{\"a\":\"x\"}]", "sortBy", "\"a\"", "[{\"a\":\"x\"},{\"a\":\"y\"}]"),
        ("[{\"a\":\"y\"},{\"a\":1}]", "sortBy", "\"a\"", codes::TYPE_ERROR),
        ("[{\"a\":null}]", "sortBy", "\"a\"", codes::TYPE_ERROR),
        ("[{}]", "sortBy", "\"a\"", codes::PROPERTY_NOT_FOUND),
        ("[1]", "sortBy", "\"a\"", codes::TYPE_ERROR),
        ("[]", "sortBy", "\"a\"", "[]"),
        ("[{\"a\":1},{\"a\":[]}]", "pluck", "\"a\"", "[1,[]]"),
        ("[{\"a\":1},{}]", "pluck", "\"a\"", codes::PROPERTY_NOT_FOUND),
        ("[1,[2,[3]],[]]", "flat", "", "[1,2,[3]]"),
        ("[1,[2,[3]],[]]", "flat", "9", "[1,2,3]"),
        ("[[1]]", "flat", "-1", codes::WRONG_ARG_TYPE),
        (
            "[1,\"1\",1.0,{\"a\":1,\"b\":2},{\"b\":2,\"a\":1},[],[]]",
            "unique",
            "",
            "[1,\"1\",{\"a\":1,\"b\":2},[]]",
        ),
    ]);
}

#[test]
fn strings_count_characters() {
    check(&[
        ("\"héllo\"", "includes", "\"él\"", "true"),
        ("\"hello\"", "startsWith", "\"he\"", "true"),
        ("\"hello\"", "endsWith", "\"he\"", "false"),
        ("\"a,b,\"", "split", "\",\"", "[\"a\",\"b\",\"\"]"),
        ("\"äb\"", "split", "\"\"", "[\"ä\",\"b\"]"),
        ("\"a\"", "split", "", codes::WRONG_ARG_COUNT),
        ("\" a \"", "trim", "", "\"a\""),
        ("\"straße\"", "upper", "", "\"STRASSE\""),
        ("\"ÀB\"", "lower", "", "\"àb\""),
        ("\"a-a\"", "replace", "\"a\", \"b\"", "\"b-a\""),
        ("\"abc\"", "replace", "\"\", \"x\"", "\"xabc\""),
        ("\"日本語\"", "slice", "1", "\"本語\""),
        ("\"日本語\"", "slice", "-2, -1", "\"本\""),
        ("\"abc\"", "slice", "5", "\"\""),
        ("\"abc\"", "includes", "5", codes::WRONG_ARG_TYPE),
        ("\"abc\"", "replace", "\"a\", 1", codes::WRONG_ARG_TYPE),
    ]);
}

#[test]
fn objects_and_json() {
    check(&[
        ("", "Object.keys", "{\"b\":1,\"a\":2}", "[\"b\",\"a\"]"),
        ("", "Object.values", "{\"b\":1,\"a\":2}", "[1,2]"),
        ("", "Object.entries", "{\"b\":1,\"a\":2}", "[[\"b\",1],[\"a\",2]]"),
        ("", "Object.merge", "{\"a\":1,\"b\":1}, {\"b\":2}, {\"c\":3}", "{\"a\":1,\"b\":2,\"c\":3}"),
        ("", "Object.has", "{\"a\":null}, \"a\"", "true"),
        ("", "Object.has", "{\"a\":null}, \"b\"", "false"),
        ("", "Object.keys", "[1]", codes::WRONG_ARG_TYPE),
        ("", "Object.has", "{}", codes::WRONG_ARG_COUNT),
        ("", "JSON.parse", "\"{\\\"a\\\": [1.0]}\"", "{\"a\":[1]}"),
        ("", "JSON.parse", "\"{oops\"", codes::WRONG_ARG_TYPE),
        ("", "JSON.parse", "\"1e999\"", codes::NUMBER_ERROR),
        ("", "JSON.parse", "5", codes::WRONG_ARG_TYPE),
        ("", "JSON.stringify", "{\"a\":[1,\"x\"]}", "\"{\\\"a\\\":[1,\\\"x\\\"]}\""),
    ]);
}

#[test]
fn nothing_long_runs_for_free() {
    let long = format!("[{}0]", "0,".repeat(400_000));
    let mut rounds = 0;
    let mut meter = WriteStats::default();
    let Value::List(list) = read(&long).unwrap() else { unreachable!() };
    let stop = loop {
        meter.step().unwrap();
        let function = list_method("indexOf").unwrap();
        let receiver = Value::List(list.clone());
        let mut call = Call { function, receiver, arguments: vec![Value::text("x")], meter: &mut meter };
        match call.run() {
            Ok(_) => rounds += 1,
            Err(stop) => break stop,
        }
    };
    assert!(matches!(stop, Stop::Limit(crate::limits::Limit::Work)), "{stop:?}");
    assert!(rounds < 200, "{rounds}");
}

#[test]
fn the_table_has_no_name_twice() {
    for table in [FUNCTIONS, LIST_METHODS, TEXT_METHODS] {
        let mut names: Vec<_> = table.iter().map(|function| function.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.len());
    }
    for function in FUNCTIONS {
        if let Some((group, _)) = function.name.split_once('.') {
            assert!(GROUPS.contains(&group), "{group}");
        }
    }
    assert!(WAITING.iter().all(|name| function(name).is_some()));
}
