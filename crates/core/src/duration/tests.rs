//! Tests which texts are durations, and that the two text forms agree.

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

#[test]
fn every_unit_and_combination_is_read() {
    let rows = [
        ("0ms", 0),
        ("0s", 0),
        ("500ms", 500),
        ("10s", 10_000),
        ("007s", 7000),
        ("90m", 5_400_000),
        ("1h30m", 5_400_000),
        ("3d", 259_200_000),
        ("2w", 1_209_600_000),
        ("1w2d3h4m5s6ms", 788_645_006),
        ("1.5s", 1500),
        ("1.50s", 1500),
        ("1.0ms", 1),
        ("0.001s", 1),
        ("0.25h", 900_000),
        ("0.0009765625w", 590_625),
        ("18446744073709551615ms", u64::MAX),
    ];
    for (text, millis) in rows {
        assert_eq!(parse(text), Ok(Millis(millis)), "{text}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    use DurationError::*;
    let rows = [
        ("", Empty),
        (" 10s", Meant("10s".into())),
        ("1h 30m", Meant("1h30m".into())),
        ("1 hour", Meant("1h".into())),
        ("5 Minutes", Meant("5m".into())),
        ("2 days, 90 min", Meant("2d1h30m".into())),
        ("1hour", Meant("1h".into())),
        ("90 ", Space("90 ".into())),
        ("half an hour", Space("half an hour".into())),
        ("10s\n", Meant("10s".into())),
        ("-10s", Sign("-10s".into())),
        ("+10s", Sign("+10s".into())),
        ("10", NoUnit("10".into())),
        ("1h30", NoUnit("30".into())),
        ("s", NoNumber("s".into())),
        (".5s", NoNumber(".5s".into())),
        ("1.s", NoNumber(".s".into())),
        ("1.2.3s", NoNumber(".2.3s".into())),
        ("10sec", Meant("10s".into())),
        ("10S", UnknownUnit("S".into())),
        ("10µs", UnknownUnit("µs".into())),
        ("1e3s", UnknownUnit("e".into())),
        ("\u{0663}s", NoNumber("\u{0663}s".into())),
        ("1m1m", Repeated("m")),
        ("30m1h", Order("h", "m")),
        ("1.5h30m", Decimal("1.5h30m".into())),
        ("1h1.5m", Decimal("1h1.5m".into())),
        ("0.5ms", NotWhole("0.5ms".into())),
        ("1.0001s", NotWhole("1.0001s".into())),
        ("0.00000000001w", NotWhole("0.00000000001w".into())),
        ("18446744073709551616ms", TooLong("18446744073709551616ms".into())),
        ("99999999999999w", TooLong("99999999999999w".into())),
        ("30500568904w7d", TooLong("30500568904w7d".into())),
        ("30500568904.95w", TooLong("30500568904.95w".into())),
    ];
    for (text, error) in rows {
        assert_eq!(parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn a_message_says_what_to_write_instead() {
    assert_eq!(
        parse("10").unwrap_err().to_string(),
        "\"10\" has no unit: append one of ms, s, m, h, d, w, such as \"10s\""
    );
    assert_eq!(
        parse("30m1h").unwrap_err().to_string(),
        "\"h\" must come before \"m\": write larger units first, such as \"1h30m\""
    );
}

#[test]
fn the_canonical_form_is_short() {
    let rows = [
        (0, "0ms"),
        (1, "1ms"),
        (1500, "1s500ms"),
        (5_400_000, "1h30m"),
        (86_400_000, "1d"),
        (864_000_000, "1w3d"),
    ];
    for (millis, text) in rows {
        assert_eq!(Millis(millis).to_string(), text);
    }
    assert_eq!(format!("{:>6}", Millis(1000)), "    1s");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Holder {
    #[serde(with = "lenient")]
    wait: Millis,
}

#[test]
fn a_number_in_json_is_seconds_and_a_text_is_a_duration() {
    let rows =
        [("2", 2000), ("0", 0), ("0.5", 500), ("1.001", 1001), ("0.0004", 0), ("\"1h30m\"", 5_400_000)];
    for (json, millis) in rows {
        let read: Holder = serde_json::from_str(&format!("{{\"wait\":{json}}}")).unwrap();
        assert_eq!(read, Holder { wait: Millis(millis) }, "{json}");
    }
    assert_eq!(serde_json::to_string(&Holder { wait: Millis(5_400_000) }).unwrap(), r#"{"wait":"1h30m"}"#);
}

#[test]
fn json_that_is_no_duration_is_refused_with_a_reason() {
    for json in ["-1", "-0.5", "1e300", "18446744073709551615", "true", "null", "[]", "\"10\""] {
        let error = serde_json::from_str::<Holder>(&format!("{{\"wait\":{json}}}")).unwrap_err().to_string();
        assert!(error.contains("such as"), "{json}: {error}");
    }
}

proptest! {
    #[test]
    fn the_canonical_form_parses_back(millis: u64) {
        prop_assert_eq!(parse(&Millis(millis).to_string()), Ok(Millis(millis)));
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in "[0-9.wdhms+\\- ]{0,24}|\\PC{0,12}") {
        if let Ok(length) = parse(&text) {
            prop_assert_eq!(parse(&length.to_string()), Ok(length));
        }
    }

    #[test]
    fn json_survives_a_round_trip(millis: u64) {
        let text = serde_json::to_string(&Holder { wait: Millis(millis) }).unwrap();
        prop_assert_eq!(serde_json::from_str::<Holder>(&text).unwrap(), Holder { wait: Millis(millis) });
    }

    #[test]
    fn a_sum_of_units_is_their_sum_or_too_long(counts in prop::collection::vec(prop::option::of(0..u64::MAX), 6)) {
        // Numbers of every size, so that some sums do not fit.
        let parts = UNITS.iter().zip(&counts).filter_map(|((unit, size), count)| {
            let count = (*count)?;
            let count = count >> (count % 64);
            Some((format!("{count}{unit}"), u128::from(count) * u128::from(*size)))
        });
        let (texts, sizes): (Vec<String>, Vec<u128>) = parts.unzip();
        prop_assume!(!texts.is_empty());
        let text = texts.concat();
        match u64::try_from(sizes.iter().sum::<u128>()) {
            Ok(sum) => prop_assert_eq!(parse(&text), Ok(Millis(sum))),
            Err(_) => prop_assert_eq!(parse(&text), Err(DurationError::TooLong(text))),
        }
    }

    #[test]
    fn a_decimal_is_exact_or_refused(whole in 0..1_000_u64, part in 0..1_000_000_u64, unit in 0..UNITS.len()) {
        let (name, size) = UNITS[unit];
        let text = format!("{whole}.{part:06}{name}");
        let millionths = (u128::from(whole) * 1_000_000 + u128::from(part)) * u128::from(size);
        if millionths.is_multiple_of(1_000_000) {
            prop_assert_eq!(parse(&text), Ok(Millis((millionths / 1_000_000) as u64)));
        } else {
            prop_assert_eq!(parse(&text), Err(DurationError::NotWhole(text)));
        }
    }
}
