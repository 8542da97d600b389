use std::collections::BTreeSet;

use super::*;

fn reload(numbers: &Numbers) -> Numbers {
    serde_json::from_str(&serde_json::to_string(numbers).unwrap()).unwrap()
}

#[test]
fn a_set_is_what_was_put_in_and_not_taken_out() {
    let (mut numbers, mut known, mut dice) = (Numbers::default(), BTreeSet::new(), 7_u64);
    for round in 0..6_000_u64 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (dice >> 33) % 400 + 5;
        if (dice >> 20) % 3 == 0 {
            assert_eq!(numbers.remove(number), known.remove(&number));
        } else {
            numbers.insert(number);
            known.insert(number);
        }
        assert_eq!(numbers.len(), known.len() as u64);
        if round % 37 == 0 {
            assert!(numbers.iter().eq(known.iter().copied()));
            assert!((0..420).all(|number| numbers.contains(number) == known.contains(&number)));
            let (least, most) = (number, number + 3);
            assert_eq!(numbers.meets(least, most), known.range(least..=most).next().is_some());
            assert_eq!(reload(&numbers), numbers);
        }
    }
}

#[test]
fn twenty_thousand_numbers_take_a_few_kilobytes_however_they_lie() {
    let all: Numbers = (1..=20_000).collect();
    assert_eq!(serde_json::to_string(&all).unwrap(), r#""1-20000""#);
    let every_third: Numbers = (1..=20_000).map(|number| 3 * number).collect();
    let text = serde_json::to_string(&every_third).unwrap();
    assert!(text.len() < 10_100, "{}", text.len());
    assert_eq!(reload(&every_third), every_third);
}

#[test]
fn sequences_are_runs_in_their_order() {
    let numbers = [5, 1, 2, 3, 3, 3, 10, 20, 30, 7];
    let runs = runs(numbers);
    assert_eq!(serde_json::to_string(&runs).unwrap(), "[5,[1,3],3,[3,2,7],[20,2,10],7]");
    assert_eq!(spread::<serde_json::Error>(&runs).unwrap(), numbers);
    let again: Vec<Run> = serde_json::from_str(&serde_json::to_string(&runs).unwrap()).unwrap();
    assert_eq!(again, runs);
}

#[test]
fn damaged_numbers_are_refused() {
    for text in ["5-4", "a", "1.1", "3.2", "1-9999999999", "1:\u{20ac}", "18446744073709551615"] {
        assert!(serde_json::from_str::<Numbers>(&format!("\"{text}\"")).is_err(), "{text}");
    }
    assert!(serde_json::from_str::<Run>("[1,2,3,4]").is_err());
    let many = Run { first: 1, count: MOST + 1, step: 1 };
    assert!(spread::<serde_json::Error>(&[many]).is_err());
}
