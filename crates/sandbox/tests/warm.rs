//! A warm child has the processor time of each question anew, however much it has used before.

use std::fs::read_to_string;
use std::time::Duration;

use rhythm_sandbox::{Launch, Pool, ProgramCall, Request};
use serde_json::json;

/// The kernel counts processor time in hundredths of a second: this is three times what one question may take.
const ENOUGH: u64 = 300;
const MOST_QUESTIONS: u32 = 900;

/// The process with this argument, and the processor time it has used.
fn used(marker: &str) -> Option<(u32, u64)> {
    let processes = std::fs::read_dir("/proc").ok()?;
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    for id in ids {
        let command = read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        if command.split('\0').nth(1) == Some(marker) {
            let stat = read_to_string(format!("/proc/{id}/stat")).ok()?;
            // What follows the name begins with field 3; user and system time are 14 and 15.
            let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
            return Some((id, fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?));
        }
    }
    None
}

#[tokio::test]
async fn a_warm_child_outlives_the_processor_time_of_one_question() {
    let marker = format!("warm-{}", std::process::id());
    let program = env!("CARGO_BIN_EXE_rhythm-sandbox-child").into();
    let pool = Pool::new(Launch { program, arguments: vec![marker.clone().into()] }, 1);
    let pool = pool.with_grace(Duration::from_secs(60));
    let code = "def evaluate(output, context):\n    n = 0\n    for i in range(50000):\n        n += i % 7\n    return n\n";
    let request = Request::Program(ProgramCall {
        code: code.to_owned(),
        output: json!({}),
        context: json!({}),
        timeout_ms: 700,
        max_memory_mb: 20,
    });
    let mut first = None;
    for question in 1..=MOST_QUESTIONS {
        let answer = pool.evaluate(&request).await;
        assert_eq!(answer, Ok(json!(149_997)), "question {question}");
        let (child, time) = used(&marker).expect("the child is warm");
        assert_eq!(*first.get_or_insert(child), child, "it is still the first one");
        if time > ENOUGH {
            return;
        }
    }
    panic!("{MOST_QUESTIONS} questions took less than {ENOUGH} hundredths of a second: make them larger");
}
