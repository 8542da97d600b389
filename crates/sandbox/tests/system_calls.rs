//! A child that serves requests calls the kernel only for memory, time and its two pipes, as `strace` shows.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

/// System calls for memory, locks, limits, the clock, and the end of a process.
const ALLOWED: &[&str] = &[
    "brk",
    "clock_gettime",
    "exit",
    "exit_group",
    "futex",
    "getrandom",
    "madvise",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "prlimit64",
    "read",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rseq",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "sigaltstack",
    "write",
];

const PROGRAMS: &[&str] = &[
    "def evaluate(output, context):\n    return len([x * x for x in range(100000)]) > output['n']\n",
    "load('/etc/passwd', 'root')\n",
    "def evaluate(output, context):\n    return open('/etc/passwd')\n",
    "def evaluate(output, context):\n    return __import__('os').system('id')\n",
    "import os\ndef evaluate(output, context):\n    return os.environ\n",
    "def evaluate(output, context):\n    return {}.__class__.__bases__\n",
    "def evaluate(output, context):\n    print(output)\n    return fail('over')\n",
];

/// The last filter panics, so its child takes no further requests.
const FILTERS: &[&str] = &[
    ".n + 1",
    "env",
    "$ENV",
    "input",
    "inputs",
    "input_filename",
    "now",
    "[limit(3; repeat(1))]",
    "debug",
    "stderr",
    "include \"x\"; .",
    "halt",
    "\"x\" | test(\"(a+)+$\")",
    "$__loc__",
    "import \"/etc/passwd\" as $p; $p",
];

#[test]
fn a_child_asks_the_kernel_for_nothing_but_memory_and_time() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls");
    let mut child = Command::new("strace")
        .args(["-f", "-o", log.to_str().unwrap(), env!("CARGO_BIN_EXE_rhythm-sandbox-child")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("strace is installed by scripts/test.sh");
    let mut questions = child.stdin.take().unwrap();
    let programs =
        PROGRAMS.iter().map(|code| json!({"language": "program", "code": code, "output": {"n": 1}}));
    let filters = FILTERS.iter().map(|filter| json!({"language": "jq", "filter": filter, "input": {"n": 1}}));
    for question in programs.chain(filters) {
        writeln!(questions, "{question}").unwrap();
    }
    drop(questions);
    let answers = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(answers.lines().count(), 1 + PROGRAMS.len() + FILTERS.len(), "{answers}");

    let calls = std::fs::read_to_string(log).unwrap();
    let answering = calls.lines().skip_while(|line| !line.contains("\"ready\\n\"")).collect::<Vec<_>>();
    assert!(answering.len() > 20, "{calls}");
    let forbidden: Vec<&&str> = answering.iter().filter(|line| !is_allowed(line)).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
}

/// Whether a line of strace is allowed. A line is `<thread> <call>(...) = <answer>`, or reports the end of a
/// call or thread.
fn is_allowed(line: &str) -> bool {
    let text = line.split_once(' ').map_or(line, |(_, rest)| rest.trim_start());
    if text.starts_with("+++") || text.starts_with("<...") {
        return true;
    }
    let name = text.split('(').next().unwrap_or_default();
    // The standard library tries to open `/proc/self/cgroup` to count processors, and the file limit refuses
    // it.
    ALLOWED.contains(&name) || text.contains("/proc/self/cgroup") && text.contains("EMFILE")
}
