//! Options as tasks and children receive them.

use rhythm_core::retry::{Backoff, RetryPolicy};
use rhythm_core::task::{OnExhausted, TaskOptions};
use rhythm_core::time::Millis;

use super::*;
use crate::option::{RETRIES, WORK};

fn options(source: &str) -> TaskOptions {
    task(&Rehearsal::of(source).start("null"), 0).options.clone()
}

#[test]
fn every_option_of_a_task_reaches_it() {
    let source = r#"await Task.run("t", {}, {
            retries: { max_attempts: 5, backoff: "linear", initial_delay: 2, max_delay: "1m", multiplier: 1.5, no_retry_on: ["Bad"], jitter: 0 },
            timeout: 30, deadline: "1h", queue: "slow", priority: -2, key: "k-1", delay: "5s", on_exhausted: "hold",
            heartbeat_timeout: 4, label: "Charge the card", settle: false, cancel: false
        })"#;
    for choice in WORK.iter().chain(RETRIES) {
        assert!(source.contains(&format!("{}:", choice.key)), "{} is not tried", choice.key);
    }
    let found = options(source);
    let retries = RetryPolicy {
        max_attempts: 5,
        backoff: Backoff::Linear,
        initial_delay: Millis::from_secs(2),
        max_delay: Millis::from_secs(60),
        multiplier: 1.5,
        jitter: 0.0,
        no_retry_on: vec!["Bad".into()],
    };
    let expected = TaskOptions {
        queue: "slow".into(),
        priority: -2,
        delay: Millis::from_secs(5),
        retries: Some(retries),
        timeout: Some(Millis::from_secs(30)),
        deadline: Some(Millis::from_secs(3600)),
        heartbeat_timeout: Some(Millis::from_secs(4)),
        on_exhausted: OnExhausted::Hold,
        key: Some("k-1".into()),
        label: Some("Charge the card".into()),
        item: None,
        stands_for: None,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_number_of_retries_is_a_number_of_attempts() {
    assert_eq!(options(r#"task("t", {}, { retries: 7 })"#).policy().max_attempts, 7);
    assert_eq!(options(r#"task("t")"#), TaskOptions::default());
}

#[test]
fn names_ending_in_ms_count_milliseconds_and_others_seconds() {
    let found = options(
        r#"await Task.run("t", {}, { timeout_ms: 1500, deadline_ms: 2500.4, delay_ms: "2s", retries: { initial_delay_ms: 250, max_delay_ms: 300 } })"#,
    );
    assert_eq!((found.timeout, found.delay), (Some(Millis(1500)), Millis(2000)));
    assert_eq!(found.deadline, Some(Millis(2500)));
    assert_eq!((found.policy().initial_delay, found.policy().max_delay), (Millis(250), Millis(300)));
    assert_eq!(options(r#"task("t", {}, { timeout: 1.5 })"#).timeout, Some(Millis(1500)));
}

#[test]
fn the_front_matter_gives_the_defaults_and_the_call_decides() {
    let defaults = Defaults {
        cleanup_grace: None,
        queue: Some("mail".into()),
        timeout: Some(Millis::from_secs(9)),
        retries: Some(RetryPolicy { max_attempts: 2, backoff: Backoff::Constant, ..RetryPolicy::default() }),
        settle: false,
    };
    let mut run = Rehearsal::with(
        r#"Task.run("a", {}) Task.run("b", {}, { queue: "other", timeout: 1, retries: 4 })
           Task.run("c", {}, { retries: { multiplier: 3 } }) await Timer.delay(1)"#,
        defaults,
    );
    let started = run.start("null");
    let [a, b, c] = [0, 1, 2].map(|place| task(&started, place).options.clone());
    assert_eq!((&*a.queue, a.timeout, a.policy().max_attempts), ("mail", Some(Millis::from_secs(9)), 2));
    assert_eq!((&*b.queue, b.timeout, b.policy().max_attempts), ("other", Some(Millis::from_secs(1)), 4));
    assert_eq!(b.policy().backoff, Backoff::Constant);
    assert_eq!((c.policy().max_attempts, c.policy().multiplier), (2, 3.0));
}

#[test]
fn a_child_gets_its_priority_and_the_shorter_of_timeout_and_deadline() {
    let mut run = Rehearsal::of(
        r#"Workflow.run("a", { n: 1 }, { priority: 3, timeout: 60, deadline: "5s" })
           Workflow.run("b", null) await Timer.delay(1)"#,
    );
    let started = run.start("null");
    let children: Vec<_> = started
        .commands
        .iter()
        .filter_map(|command| match command {
            Command::StartChild(child) => Some((&*child.workflow, child.priority, child.deadline)),
            _ => None,
        })
        .collect();
    assert_eq!(children, [("a", 3, Some(Millis::from_secs(5))), ("b", 0, None)]);
}

#[test]
fn shortening_the_longest_delay_shortens_the_first_one_too() {
    let found = options(r#"task("t", {}, { retries: { max_delay: "100ms" } })"#);
    assert_eq!((found.policy().initial_delay, found.policy().max_delay), (Millis(100), Millis(100)));
}
