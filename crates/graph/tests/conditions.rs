//! Hostile conditions: each is refused or evaluated within limits of memory and work, and none panics. The
//! allocator of this program counts memory, so everything is one test on one thread, with a stack smaller
//! than that of any engine thread.
#![allow(unsafe_code, reason = "an allocator that counts cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rhythm_graph::condition::{Answers, Condition, Scope, Verdict};
use serde_json::{Value, json};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
/// Allocations since the start. They reveal work that holds memory only briefly.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    COUNT.fetch_add(1, Relaxed);
    PEAK.fetch_max(NOW.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MAX_BYTES: usize = 16 * 1024 * 1024;
const MAX_ALLOCATIONS: usize = 1_500_000;
const STACK: usize = 1024 * 1024;

/// One case a line: `cel TEXT`, `path TEXT`, `schema JSON`, `json CONDITION`. `¤N¤text¤` repeats a text N
/// times.
const CORPUS: &str = include_str!("conditions/hostile.txt");

fn expanded(text: &str) -> String {
    let mut whole = String::new();
    let mut parts = text.split('¤');
    whole.push_str(parts.next().unwrap_or_default());
    while let Some(first) = parts.next() {
        match first.parse::<usize>() {
            Ok(count) => {
                whole.push_str(&parts.next().unwrap_or_default().repeat(count));
                whole.push_str(parts.next().unwrap_or_default());
            }
            Err(_) => {
                whole.push('¤');
                whole.push_str(first);
            }
        }
    }
    whole
}

/// Returns `None` for a line that is not JSON, because reading the graph already refuses it.
fn condition(line: &str) -> Option<Value> {
    let (kind, text) = line.split_once(' ').expect("a kind and a text");
    let text = expanded(text);
    Some(match kind {
        "cel" => json!({"type": "cel", "expression": text}),
        "path" => json!({"type": "jsonpath", "query": text, "operator": "exists"}),
        "schema" => {
            json!({"type": "schema_validation", "schema": serde_json::from_str::<Value>(&text).ok()?})
        }
        "json" => serde_json::from_str(&text).ok()?,
        other => panic!("{other}"),
    })
}

/// Outputs that maximise the cost of a condition. Only the last is above 1 MiB.
fn outputs() -> Vec<Value> {
    let deep = (0..100)
        .fold(json!(1), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"a": inner}) });
    vec![
        json!(null),
        json!({"a": [1, 2, {"b": "x"}], "s": "hello", "list": [1, 2, 3], "n": 1}),
        json!({"list": vec![1; 100_000], "a": vec![1; 1000], "n": 1, "s": "a"}),
        json!({"s": "a".repeat(900_000), "list": vec!["a".repeat(1000); 50], "a": "b".repeat(1000)}),
        json!(vec![json!({"a": 1, "b": [1, 2]}); 20_000]),
        json!({"a": vec![deep; 50], "list": [[[[1]]]]}),
        json!({"s": "a".repeat(2_000_000), "list": [1]}),
    ]
}

fn check(line: &str, source: &Value, outputs: &[Value]) -> Result<(), String> {
    let measured = |what: &str, before: (usize, usize)| {
        let bytes = PEAK.load(Relaxed).saturating_sub(before.0);
        let allocations = COUNT.load(Relaxed) - before.1;
        if bytes > MAX_BYTES || allocations > MAX_ALLOCATIONS {
            return Err(format!("{line}: {bytes} bytes and {allocations} allocations to {what}"));
        }
        Ok(())
    };
    let begin = || {
        let now = NOW.load(Relaxed);
        PEAK.store(now, Relaxed);
        (now, COUNT.load(Relaxed))
    };
    let before = begin();
    let compiled = Condition::compile(source);
    measured("compile", before)?;
    let Ok(compiled) = compiled else { return Ok(()) };
    for output in outputs {
        let scope = Scope { output, context: Default::default(), inputs: output };
        let before = begin();
        let verdict = compiled.evaluate(&scope, &Answers::new());
        measured("evaluate", before)?;
        let told = match &verdict {
            Verdict::NotEvaluable(reason) => reason.len(),
            _ => 0,
        };
        if told > 10_000 {
            return Err(format!("{line}: a reason of {told} bytes"));
        }
    }
    Ok(())
}

#[test]
fn two_hundred_hostile_conditions_are_refused_or_stay_within_bounds() {
    let work = || {
        let outputs = outputs();
        let lines: Vec<&str> =
            CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert!(lines.len() >= 200, "{}", lines.len());
        let checked = lines.iter().filter_map(|line| Some((line, condition(line)?)));
        let problems: Vec<String> =
            checked.filter_map(|(line, source)| check(line, &source, &outputs).err()).collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    };
    std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
}
