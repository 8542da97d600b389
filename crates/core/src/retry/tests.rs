//! Tests of the retry arithmetic: exact delays, bounds on any input, and the written form of a policy.

use proptest::prelude::*;

use super::*;

fn steady(backoff: Backoff) -> RetryPolicy {
    RetryPolicy { backoff, jitter: 0.0, ..RetryPolicy::default() }
}

fn delays(policy: &RetryPolicy, attempts: &[u32]) -> Vec<u64> {
    attempts.iter().map(|attempt| policy.delay_after("run:task", *attempt).as_u64()).collect()
}

#[test]
fn each_backoff_grows_in_its_own_way() {
    assert_eq!(delays(&steady(Backoff::Constant), &[1, 2, 9]), [1000, 1000, 1000]);
    assert_eq!(delays(&steady(Backoff::Linear), &[1, 2, 9]), [1000, 2000, 9000]);
    assert_eq!(delays(&steady(Backoff::Exponential), &[1, 2, 3, 9]), [1000, 2000, 4000, 256_000]);
}

#[test]
fn no_delay_exceeds_the_cap() {
    assert_eq!(
        delays(&steady(Backoff::Exponential), &[12, 13, 100, u32::MAX]),
        [2_048_000, 3_600_000, 3_600_000, 3_600_000]
    );
    assert_eq!(delays(&steady(Backoff::Linear), &[3601, u32::MAX]), [3_600_000, 3_600_000]);
}

#[test]
fn a_small_delay_still_grows_by_a_small_factor() {
    let policy = RetryPolicy { initial_delay: Millis(1), multiplier: 1.5, ..steady(Backoff::Exponential) };
    assert_eq!(delays(&policy, &[1, 2, 3, 4, 5, 6]), [1, 1, 2, 3, 5, 7]);
}

#[test]
fn jitter_is_the_same_on_every_machine() {
    // Fixed figures: a stored run must see the same delays after an upgrade.
    let policy = RetryPolicy::default();
    assert_eq!(delays(&policy, &[1, 2, 3, 4]), [951, 1805, 3983, 8066]);
    assert_ne!(policy.delay_after("run:2", 1), policy.delay_after("run:task", 1));
}

#[test]
fn jitter_reaches_towards_both_ends() {
    let policy = RetryPolicy::default();
    let all: Vec<u64> = (0..1000).map(|n| policy.delay_after(&format!("task-{n}"), 1).as_u64()).collect();
    assert!(all.iter().all(|delay| (900..=1100).contains(delay)));
    assert!(all.iter().any(|delay| *delay < 910) && all.iter().any(|delay| *delay > 1090));
    let mean = all.iter().sum::<u64>() / 1000;
    assert!((990..=1010).contains(&mean), "{mean}");
}

#[test]
fn the_last_attempt_is_final() {
    let policy = steady(Backoff::Exponential);
    let judge = |attempt| policy.verdict("k", attempt, "E", "T", true);
    assert_eq!(judge(1), Verdict::Retry { delay: Millis(1000) });
    assert_eq!(judge(2), Verdict::Retry { delay: Millis(2000) });
    assert_eq!(judge(3), Verdict::Exhausted);
    assert_eq!(judge(4), Verdict::Exhausted);
}

#[test]
fn a_listed_code_or_type_and_an_unretryable_failure_are_final_at_once() {
    let policy =
        RetryPolicy { no_retry_on: vec!["BAD_CARD".into(), "ValueError".into()], ..RetryPolicy::default() };
    assert_eq!(policy.verdict("k", 1, "BAD_CARD", "T", true), Verdict::Exhausted);
    assert_eq!(policy.verdict("k", 1, "E", "ValueError", true), Verdict::Exhausted);
    assert_eq!(policy.verdict("k", 1, "E", "T", false), Verdict::Exhausted);
    assert_ne!(policy.verdict("k", 1, "bad_card", "T", true), Verdict::Exhausted);
}

#[test]
fn a_policy_is_a_number_or_a_map_with_defaults() {
    let read = |json: &str| serde_json::from_str::<RetryPolicy>(json).unwrap();
    assert_eq!(read("{}"), RetryPolicy::default());
    assert_eq!(read("5"), RetryPolicy { max_attempts: 5, ..RetryPolicy::default() });
    assert_eq!(
        read(
            r#"{"backoff":"linear","initial_delay":0.5,"max_delay":"2m","multiplier":3,"no_retry_on":["X"]}"#
        ),
        RetryPolicy {
            backoff: Backoff::Linear,
            initial_delay: Millis(500),
            max_delay: Millis(120_000),
            multiplier: 3.0,
            no_retry_on: vec!["X".into()],
            ..RetryPolicy::default()
        }
    );
    assert_eq!(serde_json::from_value::<RetryPolicy>(serde_json::json!(4)).unwrap().max_attempts, 4);
    assert_eq!(
        serde_json::to_string(&RetryPolicy::default()).unwrap(),
        r#"{"max_attempts":3,"backoff":"exponential","initial_delay":"1s","max_delay":"1h","multiplier":2.0,"jitter":0.1,"no_retry_on":[]}"#
    );
}

#[test]
fn a_policy_with_a_wrong_shape_is_refused_with_a_reason() {
    let rows = [
        (r#"{"max_attemps":3}"#, "unknown field `max_attemps`"),
        (r#"{"backoff":"cubic"}"#, "unknown variant `cubic`"),
        (r#"{"initial_delay":"10"}"#, "has no unit"),
        ("-1", "a number of attempts such as 5"),
        ("4294967296", "a number of attempts such as 5"),
        ("1.5", "a number of attempts such as 5"),
        ("\"3\"", "a number of attempts such as 5"),
        ("null", "a number of attempts such as 5"),
    ];
    for (json, reason) in rows {
        let error = serde_json::from_str::<RetryPolicy>(json).unwrap_err().to_string();
        assert!(error.contains(reason), "{json}: {error}");
    }
}

#[test]
fn a_policy_that_makes_no_sense_is_named() {
    let base = RetryPolicy::default;
    assert_eq!(base().check(), Ok(()));
    assert_eq!(RetryPolicy { max_attempts: 10_000, jitter: 1.0, multiplier: 1.0, ..base() }.check(), Ok(()));
    let rows = [
        (
            RetryPolicy { max_attempts: 0, ..base() },
            "max_attempts is 0: write a number from 1 (no retry) to 10000",
        ),
        (
            RetryPolicy { max_attempts: 10_001, ..base() },
            "max_attempts is 10001: write a number from 1 (no retry) to 10000",
        ),
        (
            RetryPolicy { multiplier: 0.5, ..base() },
            "multiplier is 0.5: write a number of at least 1, such as 2.0",
        ),
        (
            RetryPolicy { multiplier: f64::INFINITY, ..base() },
            "multiplier is inf: write a number of at least 1, such as 2.0",
        ),
        (
            RetryPolicy { multiplier: f64::NAN, ..base() },
            "multiplier is NaN: write a number of at least 1, such as 2.0",
        ),
        (
            RetryPolicy { jitter: 1.5, ..base() },
            "jitter is 1.5: write a share from 0 to 1, such as 0.1 for 10 %",
        ),
        (
            RetryPolicy { jitter: f64::NAN, ..base() },
            "jitter is NaN: write a share from 0 to 1, such as 0.1 for 10 %",
        ),
        (
            RetryPolicy { initial_delay: Millis::from_secs(7200), ..base() },
            "max_delay 1h is below initial_delay 2h: raise max_delay or lower initial_delay",
        ),
    ];
    for (policy, message) in rows {
        assert_eq!(policy.check().unwrap_err().to_string(), message);
    }
}

fn any_policy() -> impl Strategy<Value = RetryPolicy> {
    let backoff = prop_oneof![Just(Backoff::Constant), Just(Backoff::Linear), Just(Backoff::Exponential)];
    let millis = || prop_oneof![any::<u64>(), 0..100_000_u64, Just(u64::MAX)];
    let factor =
        || prop_oneof![any::<f64>(), 0.0..10.0_f64, Just(f64::NAN), Just(f64::INFINITY), Just(1.000_001)];
    (any::<u32>(), backoff, millis(), millis(), factor(), factor()).prop_map(
        |(max_attempts, backoff, initial, max, multiplier, jitter)| RetryPolicy {
            max_attempts,
            backoff,
            initial_delay: Millis(initial),
            max_delay: Millis(max),
            multiplier,
            jitter,
            no_retry_on: Vec::new(),
        },
    )
}

proptest! {
    #[test]
    fn any_policy_gives_one_delay_within_its_cap(policy in any_policy(), key in "\\PC{0,8}", attempt: u32) {
        let delay = policy.delay_after(&key, attempt);
        prop_assert!(delay <= policy.max_delay);
        prop_assert_eq!(delay, policy.delay_after(&key, attempt));
    }

    #[test]
    fn jitter_stays_within_its_share(policy in any_policy(), jitter in 0.0..=1.0_f64, attempt: u32) {
        let plain = RetryPolicy { jitter: 0.0, ..policy.clone() }.delay_after("k", attempt).as_u64();
        let delay = RetryPolicy { jitter, ..policy }.delay_after("k", attempt).as_u64();
        let span = (plain as f64 * jitter).ceil() * 1.000_002 + 1.0;
        prop_assert!(delay.abs_diff(plain) as f64 <= span, "{} {} {}", plain, delay, span);
    }

    #[test]
    fn delays_never_shrink_without_jitter(policy in any_policy(), a: u32, b in 0..20_000_u32) {
        let policy = RetryPolicy { jitter: 0.0, ..policy };
        for (low, high) in [(a.min(b), a.max(b)), (b, b.saturating_add(1))] {
            prop_assert!(policy.delay_after("k", low) <= policy.delay_after("k", high));
        }
    }

    #[test]
    fn a_policy_survives_json(policy in any_policy(), multiplier in 1.0..1e9_f64, jitter in 0.0..=1.0_f64) {
        // JSON has no NaN or infinity; every other number comes back.
        let policy = RetryPolicy { multiplier, jitter, ..policy };
        let text = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(serde_json::from_str::<RetryPolicy>(&text).unwrap(), policy);
    }

    #[test]
    fn an_exponential_delay_is_the_power_it_names(
        initial in 1..10_000_u64, multiplier in 1..6_u64, attempt in 1..14_u32, max in 0..1u64 << 40,
    ) {
        let policy = RetryPolicy {
            initial_delay: Millis(initial),
            multiplier: multiplier as f64,
            max_delay: Millis(max),
            ..steady(Backoff::Exponential)
        };
        let exact = u128::from(initial) * u128::from(multiplier).pow(attempt - 1);
        prop_assert_eq!(u128::from(policy.delay_after("k", attempt).as_u64()), exact.min(u128::from(max)));
    }

    #[test]
    fn once_at_the_cap_a_delay_stays_there(policy in any_policy(), attempt in 1..20_000_u32, more: u32) {
        let policy = RetryPolicy { jitter: 0.0, ..policy };
        if policy.delay_after("k", attempt) == policy.max_delay {
            prop_assert_eq!(policy.delay_after("k", attempt.saturating_add(more)), policy.max_delay);
        }
    }

    #[test]
    fn a_task_is_tried_as_often_as_its_policy_says(max_attempts in 0..50_u32, policy in any_policy()) {
        let policy = RetryPolicy { max_attempts, ..policy };
        let again = |attempt: &u32| matches!(policy.verdict("k", *attempt, "E", "T", true), Verdict::Retry { .. });
        // The first attempt is made before the policy is consulted.
        let tries = 1 + (1..).take_while(again).count() as u32;
        prop_assert_eq!(tries, max_attempts.max(1));
    }
}
