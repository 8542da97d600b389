//! Tests of the meaning of expressions, also against the library's own evaluator.

use std::collections::BTreeMap;

use rhythm_core::time::Timestamp;
use serde_json::{Value, json};

use super::super::scope::{Metadata, Past};
use super::super::{Answers, Condition};
use super::*;

fn output() -> Value {
    json!({
        "n": 5, "f": 2.5, "s": "hello", "t": true, "z": null, "big": 9_007_199_254_740_993_i64,
        "list": [1, 2, 3], "names": ["ann", "bob"], "o": {"k": 1, "a-b": 2},
        "items": [{"p": 10, "tags": ["x"]}, {"p": 20, "tags": []}]
    })
}

fn evaluate(expression: &str) -> Verdict {
    let (output, past, inputs) = (output(), json!({"revenue": 7}), json!({"limit": 3}));
    let metadata = Metadata { completed_at: Timestamp(0), duration_ms: 12, attempt: 1 };
    let context =
        BTreeMap::from([("a", Past { output: &past, metadata }), ("b-c", Past { output: &past, metadata })]);
    let condition = Condition::compile(&json!({"type": "cel", "expression": expression}))
        .unwrap_or_else(|error| panic!("{expression}: {error}"));
    condition.evaluate(&Scope { output: &output, context, inputs: &inputs }, &Answers::new())
}

fn refused(expression: &str) -> ConditionError {
    match Condition::compile(&json!({"type": "cel", "expression": expression})) {
        Ok(_) => panic!("{expression} compiles"),
        Err(error) => error,
    }
}

#[test]
fn a_syntax_error_says_where_and_what() {
    for (expression, place) in [
        ("output.n >", "line 1, column 11: "),
        ("output.n = 5", "line 1, column 10: "),
        ("$.n + $.f = 5", "line 1, column 11: "),
        ("output.n > 1 &&\n$.n ]", "line 2, column 5: "),
    ] {
        let error = refused(expression);
        assert_eq!(error.kind, ErrorKind::Syntax, "{expression}");
        assert!(error.message.starts_with(place), "{expression}: {}", error.message);
        assert!(!error.message.contains("recovery"), "{expression}: {}", error.message);
    }
}

/// Expressions on which both evaluators must agree.
const SHARED: &[&str] = &[
    "output.n == 5",
    "output.n != 5",
    "output.n > 4",
    "output.n >= 5",
    "output.n < 5.5",
    "output.n <= 4.5",
    "output.f == 2.5",
    "output.f > 2",
    "output.s == 'hello'",
    "output.s < 'help'",
    "output.t",
    "!output.t",
    "output.t == true",
    "output.z == null",
    "output.n == null",
    "output.s == 5",
    "output.missing == 1",
    "output.n > 'x'",
    "output.z > 1",
    "output.n + 1 == 6",
    "output.n - 7 == -2",
    "output.n * 2 == 10",
    "output.n % 3 == 2",
    "output.n / 2 == 2",
    "5 / output.list[1] == 2",
    "(output.n + 2) / 2 == 3",
    "output.n / size(output.list) == 1",
    "output.n / 0 == 0",
    "output.f / 2.0 == 1.25",
    "7 / 2 == 3",
    "7.0 / 2.0 == 3.5",
    "-7 / 2 == -3",
    "-7 % 3 == -1",
    "1 / 0 == 1",
    "1 % 0 == 1",
    "1.0 / 0.0 > 1.0",
    "9223372036854775807 + 1 > 0",
    "-9223372036854775807 - 2 < 0",
    "1 + 1.0 == 2.0",
    "'a' + 'b' == 'ab'",
    "[1] + [2] == [1, 2]",
    "'a' + 1 == 'a1'",
    "output.t && output.n == 5",
    "output.missing == 1 || true",
    "true || output.missing == 1",
    "output.missing == 1 && false",
    "output.missing == 1 || false",
    "output.t ? true : false",
    "output.n ? true : false",
    "1 in output.list",
    "9 in output.list",
    "2.0 in output.list",
    "'k' in output.o",
    "'q' in output.o",
    "'a' in 'abc'",
    "output.list[0] == 1",
    "output.list[3] == 1",
    "output.list[-1] == 3",
    "output.o['a-b'] == 2",
    "output.o.k == 1",
    "output.s[0] == 'h'",
    "has(output.n)",
    "has(output.missing)",
    "has(output.o.k) && !has(output.o.q)",
    "has(output.missing.deeper)",
    "size(output.list) == 3",
    "output.list.size() == 3",
    "size('hé') == 2",
    "size(output.o) == 2",
    "size(5) == 1",
    "output.s.contains('ell')",
    "output.s.startsWith('he')",
    "output.s.endsWith('lo')",
    "output.n.startsWith('5')",
    "output.list.all(x, x > 0)",
    "output.list.all(x, x > 1)",
    "output.list.exists(x, x == 2)",
    "output.list.exists(x, x == 9)",
    "output.list.exists_one(x, x > 2)",
    "output.list.exists_one(x, x > 1)",
    "output.list.map(x, x * 2) == [2, 4, 6]",
    "output.list.filter(x, x > 1) == [2, 3]",
    "output.list.map(x, x > 1, x + 1) == [3, 4]",
    "output.items.all(i, i.p >= 10)",
    "output.items.exists(i, i.tags.exists(t, t == 'x'))",
    "output.items.map(i, i.p) == [10, 20]",
    "[].all(x, x)",
    "[].exists(x, x)",
    "output.list.all(x, x.missing)",
    "output.list.exists(x, x == 1 || x.missing)",
    "output.n.all(x, true)",
    "output.list.map(x, x.missing) == []",
    "{'a': 1}.a == 1",
    "{'a': 1} == {'a': 1.0}",
    "{'a': 1, 'a': 2} == {}",
    "{1: 'x'}[1] == 'x'",
    "{'a': 1}.b == 1",
    "{'a': 1, 'b': 2}.all(k, k < 'c')",
    "output.o == {'k': 1, 'a-b': 2}",
    "int('12') == 12",
    "int(2.9) == 2",
    "int(-2.9) == -2",
    "int('x') == 1",
    "double('1.5') == 1.5",
    "double(output.n) == 5.0",
    "string(output.n) == '5'",
    "string(true) == 'true'",
    "string(1.5) == '1.5'",
    "bool('true')",
    "bool('maybe')",
    "dyn(1) == 1.0",
    "1 == 1u",
    "[1, 'a', null] == [1, 'a', null]",
    "[[1], [2]] == [[1], [3]]",
    "null == null",
    "true > false",
    "'b' > 'a'",
    "-output.n == -5",
    "!(output.n == 5)",
    "!output.n",
    "-output.s == 'x'",
    "output.big == 9007199254740993",
    "output.list == [1.0, 2, 3]",
    "r'\\d' == '\\\\d'",
    "'''a''' == \"a\"",
    "1 < 2 && 2 < 3 || false",
    "output",
    "output.list",
    "5",
    "'x'",
];

/// JSON whose whole numbers become ints of the library. Its own conversion makes positive ones unsigned.
struct Signed<'a>(&'a Value);

impl serde::Serialize for Signed<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) if number.is_i64() => {
                serializer.serialize_i64(number.as_i64().unwrap_or_default())
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Signed)),
            Value::Object(entries) => {
                serializer.collect_map(entries.iter().map(|(name, value)| (name, Signed(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

/// Evaluates with the library's evaluator and the same data.
fn by_library(expression: &str) -> Verdict {
    let program = ::cel::Program::compile(expression).unwrap();
    let mut context = ::cel::Context::default();
    context.add_variable("output", ::cel::to_value(Signed(&output())).unwrap()).unwrap();
    match program.execute(&context) {
        Ok(::cel::Value::Bool(met)) => Verdict::of(met),
        Ok(_) => Verdict::NotEvaluable("no boolean".into()),
        Err(error) => Verdict::NotEvaluable(error.to_string()),
    }
}

#[test]
fn the_library_comes_to_the_same_verdicts() {
    let mut differences = Vec::new();
    for expression in SHARED {
        let (ours, theirs) = (evaluate(expression), by_library(expression));
        let same = match (&ours, &theirs) {
            (Verdict::NotEvaluable(_), Verdict::NotEvaluable(_)) => true,
            (ours, theirs) => ours == theirs,
        };
        if !same {
            differences.push(format!("{expression}: {ours:?} here, {theirs:?} there"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn numbers_of_data_mix_with_others_and_divide_among_themselves_without_loss() {
    for expression in [
        "output.n / 2 == 2 && output.n / 2.0 == 2.5 && output.f / 2 == 1.25",
        "-output.n / 2 == -2",
        "output.big / 2 == 4503599627370496",
        "output.n / output.list[1] == 2.5 && (output.n - 1) / output.list[1] == 2",
        "output.n + 0.5 == 5.5",
        "10 / output.n == 2",
        "output.f * 2 == 5",
        "output.n % 2 == 1",
        "output.list[output.n - 4] == 2",
        "double(output.n) / 2.0 == 2.5",
    ] {
        assert_eq!(evaluate(expression), Verdict::Met, "{expression}");
    }
}

#[test]
fn times_can_be_reckoned_with() {
    for expression in [
        "timestamp(ctx.a.metadata.completed_at) == timestamp(0)",
        "timestamp(ctx.a.metadata.completed_at) + duration('90s') < timestamp('1970-01-01T00:01:30.001Z')",
        "timestamp('2026-01-31T12:00:00Z') - timestamp(ctx.a.metadata.completed_at) > duration('24h')",
        "(timestamp('2026-01-31T12:00:00Z') - timestamp('2026-01-31T10:30:00Z')).getMinutes() == 90",
        "duration('90s').getMinutes() == 1 && duration('1.5s').getMilliseconds() == 1500",
        "timestamp('2026-01-31T12:00:00Z') - duration('12h') == timestamp('2026-01-31T00:00:00Z')",
        "duration('1h') - duration('90m') == duration('-30m')",
        "int(timestamp('1970-01-02T00:00:00Z')) == 86400",
        "string(timestamp('1970-01-02T01:00:00+01:00')) == '1970-01-02T00:00:00Z'",
        "string(duration('1h30m')) == '5400s'",
        "[duration('2s'), duration('1s')].exists(d, d == duration('1000ms'))",
        "timestamp('0001-01-01T00:00:00Z') < timestamp('9999-12-30T00:00:00Z')",
        "timestamp('2026-01-31T12:00:00Z') < timestamp('2026-01-31T12:00:00.001Z')",
        "timestamp('2026-01-31T12:00:00Z') == timestamp('2026-01-31T13:00:00+01:00')",
        "timestamp('2026-01-31T12:00:00Z') - timestamp('2026-01-31T11:30:00Z') == duration('30m')",
        "timestamp('2026-01-31T12:00:00Z') + duration('24h') > timestamp('2026-02-01T11:59:59Z')",
        "duration('1h30m') == duration('90m')",
        "duration('1h') < duration('3601s')",
        "duration('1h') + duration('1m') == duration('61m')",
        "timestamp('2026-01-31T12:00:00Z').getFullYear() == 2026",
        "timestamp('2026-01-31T12:00:00Z').getMonth() == 0",
        "timestamp('2026-01-31T12:00:00Z').getDate() == 31",
        "timestamp('2026-01-31T12:00:00Z').getDayOfMonth() == 30",
        "timestamp('2026-01-31T12:00:00Z').getDayOfYear() == 30",
        "timestamp('2026-01-31T12:00:00Z').getDayOfWeek() == 6",
        "timestamp('2026-01-31T12:34:56.789Z').getHours() == 12",
        "timestamp('2026-01-31T12:34:56.789Z').getMinutes() == 34",
        "timestamp('2026-01-31T12:34:56.789Z').getSeconds() == 56",
        "timestamp('2026-01-31T12:34:56.789Z').getMilliseconds() == 789",
    ] {
        assert_eq!(evaluate(expression), Verdict::Met, "{expression}");
    }
    for expression in [
        "timestamp(output.n / 2.0) == timestamp(0)",
        "timestamp('2026-01-31') == timestamp(0)",
        "timestamp('yesterday') == timestamp(0)",
        "duration('soon') == duration('1s')",
        "timestamp('0001-01-01T00:00:00Z') - duration('1s') < timestamp(0)",
        "timestamp('9999-12-31T23:59:59Z') + duration('1s') > timestamp(0)",
        "timestamp(9223372036854775807) > timestamp(0)",
        "duration('100000000h') > duration('1s')",
        "timestamp(0) + timestamp(0) == timestamp(0)",
        "timestamp(0) + 1 == timestamp(1)",
        "duration('1s') * 2 == duration('2s')",
        "duration('1s') < timestamp(0)",
        "duration('1s').getFullYear() == 0",
        "output.s.getHours() == 0",
    ] {
        assert!(matches!(evaluate(expression), Verdict::NotEvaluable(_)), "{expression}");
    }
}

#[test]
fn values_have_types() {
    for expression in [
        "type(output.n) == int && type(output.f) == double && type(5.0) == double",
        "type(output.s) == string && type(output.t) == bool && type(output.z) == null_type",
        "type(output.list) == list && type([1]) == list && type(output) == map && type({}) == map && type(ctx) == map",
        "type(timestamp(0)) == google.protobuf.Timestamp && type(duration('1s')) == google.protobuf.Duration",
        "type(type(1)) == type && type(int) == type",
        "type(output.n) != string && type(output.n) in [int, double]",
        "output.list.all(int, int > 0)",
    ] {
        assert_eq!(evaluate(expression), Verdict::Met, "{expression}");
    }
}

#[test]
fn a_dollar_is_the_output_except_in_quotes() {
    assert_eq!(evaluate("$.n == 5 && $['n'] == 5 && '$.n' != 'output.n'"), Verdict::Met);
    assert_eq!(evaluate("r'\\' + '$' == r'\\$' && $ == output"), Verdict::Met);
}

#[test]
fn nodes_metadata_and_inputs_can_be_seen() {
    for expression in [
        "ctx.a.output.revenue == 7",
        "ctx['b-c'].output.revenue == 7",
        "has(ctx.a) && !has(ctx.never)",
        "ctx.a.metadata.duration_ms == 12 && ctx.a.metadata.attempt == 1",
        "ctx.a.metadata.completed_at == '1970-01-01T00:00:00.000Z'",
        "inputs.limit == 3",
        "'a' in ctx",
        "ctx.all(node, ctx[node].output.revenue > 1)",
        "ctx.exists(node, node == 'b-c')",
    ] {
        assert_eq!(evaluate(expression), Verdict::Met, "{expression}");
    }
    assert!(matches!(evaluate("ctx.never.output.x == 1"), Verdict::NotEvaluable(_)));
}

#[test]
fn texts_can_be_matched_and_changed() {
    for expression in [
        "output.s.matches('^h.*o$')",
        "matches(output.s, 'l{2}')",
        "'Ab'.lowerAscii() == 'ab'",
        "'Ab'.upperAscii() == 'AB'",
        "' a '.trim() == 'a'",
    ] {
        assert_eq!(evaluate(expression), Verdict::Met, "{expression}");
    }
    assert!(refused("output.s.matches(output.s)").message.contains("literal"));
    assert_eq!(refused("output.s.matches('(')").kind, ErrorKind::Unsupported);
}

#[test]
fn what_conditions_do_not_have_is_refused_by_name() {
    for (expression, part) in [
        ("now() > 1", "now"),
        ("timestamp(0).getHours('Europe/Vienna') == 1", "takes 1"),
        ("type(output) == uint", "uint"),
        ("getattr(output, 'x')", "getattr"),
        ("output.__class__()", "__class__"),
        ("b'abc' == b'abc'", "bytes"),
        ("google.protobuf.Duration{seconds: 1}", "messages"),
        ("foo == 1", "foo"),
        ("output.s.replace('a', 'b') == 'x'", "replace"),
        ("'%s'.format([output]) == ''", "format"),
        ("size(1, 2) == 1", "takes 1"),
        ("base64.encode('x') == ''", "encode"),
    ] {
        let error = refused(expression);
        assert!(error.message.contains(part), "{expression}: {error}");
    }
}

#[test]
fn what_is_too_long_too_deep_or_nests_macros_is_refused() {
    assert_eq!(refused(&format!("'{}' == ''", "x".repeat(4096))).kind, ErrorKind::TooLarge);
    assert_eq!(refused(&format!("{}1{} == 1", "(".repeat(65), ")".repeat(65))).kind, ErrorKind::TooLarge);
    assert_eq!(refused(&format!("1{} == 1", " + 1".repeat(64))).kind, ErrorKind::TooLarge);
    assert_eq!(refused(&format!("{}true", "true ? true : ".repeat(65))).kind, ErrorKind::TooLarge);
    assert_eq!(refused(&format!("{}true", "!".repeat(70))).kind, ErrorKind::TooLarge);
    assert_eq!(refused(&format!("{}1 == 1", "- ".repeat(65))).kind, ErrorKind::TooLarge);
    assert_eq!(evaluate(&format!("{}true // {}", "!".repeat(64), "-".repeat(70))), Verdict::Met);
    let nested = "output.list.all(a, output.list.all(b, output.list.all(c, true)))";
    assert_eq!(refused(nested).kind, ErrorKind::TooLarge);
    assert_eq!(evaluate("output.list.all(a, output.list.all(b, a * b > 0))"), Verdict::Met);
    let long: Vec<String> = (0..300).map(|n| format!("$.n!={n}")).collect();
    assert_eq!(evaluate(&long.join("&&")), Verdict::NotMet);
}
