//! Hostile programs against a pool: each gets a typed error or an honest response, the parent is unharmed,
//! and the pool answers afterwards.

use rhythm_sandbox::{JqCall, Launch, Limit, Pool, ProgramCall, Request, Sandbox, SandboxError};
use serde_json::{Value, json};

fn pool() -> Pool {
    Pool::new(Launch::new(env!("CARGO_BIN_EXE_rhythm-sandbox-child")), 2)
}

fn program(code: &str) -> Request {
    let (code, context) = (code.to_owned(), json!({}));
    Request::Program(ProgramCall {
        code,
        output: json!({"n": 1}),
        context,
        timeout_ms: 300,
        max_memory_mb: 20,
    })
}

/// Raises the time limit, so that a program meets its limit of steps or memory first, in an unoptimised build
/// too.
fn patient(request: Request) -> Request {
    const LONG: u64 = 60_000;
    match request {
        Request::Program(call) => Request::Program(ProgramCall { timeout_ms: LONG, ..call }),
        Request::Jq(call) => Request::Jq(JqCall { timeout_ms: LONG, ..call }),
    }
}

fn jq(filter: &str) -> Request {
    Request::Jq(JqCall {
        filter: filter.to_owned(),
        input: json!({"n": 1}),
        timeout_ms: 300,
        max_memory_mb: 20,
    })
}

/// One hostile program per line: `p` a body of `evaluate`, `m` a whole module, `j` a jq filter. Then the
/// expected result: `refused`; `answered`, for programs that are merely strange; or `limit`, for the limit
/// that the program meets first. A program that would end by itself must meet a limit of size, steps or
/// memory, however fast the machine is. `\n` stands for a line break, `@N@text@` for a text repeated N times.
const CORPUS: &str = include_str!("hostile.txt");

fn expanded(text: &str) -> String {
    let mut parts = text.split('@');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    while let Some(count) = parts.next() {
        match (count.parse::<usize>(), parts.next()) {
            (Ok(count), Some(repeated)) => whole.push_str(&repeated.repeat(count)),
            (_, rest) => {
                whole.push('@');
                whole.push_str(count);
                rest.into_iter().for_each(|rest| whole.push_str(&format!("@{rest}")));
                continue;
            }
        }
        whole.push_str(parts.next().unwrap_or_default());
    }
    whole.replace("\\n", "\n")
}

fn requests() -> Vec<(&'static str, &'static str, Request)> {
    let lines = CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let request = |line: &'static str| {
        let mut parts = line.splitn(3, ' ');
        let mut part = || parts.next().expect("a kind, what becomes of it, and a program");
        let (kind, becomes, text) = (part(), part(), part());
        let request = match kind {
            "p" => {
                let body = expanded(text).replace('\n', "\n    ");
                program(&format!("def evaluate(output, context):\n    {body}\n"))
            }
            "m" => program(&expanded(text)),
            "j" => jq(&expanded(text)),
            other => panic!("{other}"),
        };
        // Only endless programs should meet the time limit, however slow the machine is.
        (line, becomes, if becomes == "limit" { request } else { patient(request) })
    };
    lines.map(request).collect()
}

async fn still_answers(pool: &Pool) {
    let answer =
        pool.evaluate(&program("def evaluate(output, context):\n    return output['n'] == 1\n")).await;
    assert_eq!(answer, Ok(json!(true)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_hostile_programs_harm_nobody() {
    let pool = pool();
    let requests = requests();
    assert!(requests.len() >= 200, "{}", requests.len());
    let mut unexpected = Vec::new();
    for (line, expected, request) in &requests {
        let answer = pool.evaluate(request).await;
        let became = match &answer {
            // No response may contain text from a file.
            Ok(value) if value.to_string().contains("root:") => "a leak",
            Ok(_) => "answered",
            Err(SandboxError::LimitExceeded { .. }) => "limit",
            Err(SandboxError::BadProgram { .. } | SandboxError::BadAnswer { .. }) => "refused",
            // When the kernel refuses memory, the language itself may crash. Only the child dies then.
            Err(SandboxError::Crashed { .. }) if *expected == "limit" => "limit",
            Err(SandboxError::Crashed { .. }) => "crashed",
        };
        if became != *expected {
            unexpected.push(format!("{line}: {answer:?}"));
        }
        assert!(pool.warm() <= 2);
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    still_answers(&pool).await;
}

#[tokio::test]
async fn limits_are_told_apart() {
    let pool = pool();
    for (request, what) in [
        (
            patient(program("def evaluate(o, c):\n    for i in range(1000000000):\n        x = i\n")),
            Limit::Ticks,
        ),
        (program("def f(n):\n    return f(n)\ndef evaluate(o, c):\n    return f(1)\n"), Limit::Stack),
        (program("def evaluate(o, c):\n    return len('a' * 1000000000)\n"), Limit::Memory),
        (jq("def f: f; f"), Limit::Time),
        (jq("last(range(infinite))"), Limit::Time),
        (patient(jq("[range(infinite)] | length")), Limit::Memory),
        (patient(jq("range(infinite)")), Limit::Size),
    ] {
        let answer = pool.evaluate(&request).await;
        assert_eq!(answer, Err(SandboxError::LimitExceeded { what }), "{request:?}");
        still_answers(&pool).await;
    }
}

/// Tests of workflows send requests from one runtime per scenario, and must wait while the processor is busy.
#[test]
fn a_sandbox_for_tests_has_the_limits_of_a_run() {
    let sandbox = Sandbox::apart(Launch::new(env!("CARGO_BIN_EXE_rhythm-sandbox-child")), 2);
    let ask = |request: Request| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(sandbox.evaluate(request))
    };
    let exceeded = |what| Err(SandboxError::LimitExceeded { what });
    assert_eq!(ask(jq(".n + 1")), Ok(json!(2)));
    assert_eq!(ask(jq("def f: f; f")), exceeded(Limit::Time));
    assert_eq!(ask(patient(jq("[range(1000000000)]"))), exceeded(Limit::Memory));
    let endless = "def evaluate(o, c):\n    return max(range(1000000000))\n";
    assert_eq!(ask(patient(program(endless))), exceeded(Limit::Ticks));
    assert_eq!(ask(jq(".n + 2")), Ok(json!(3)));

    let nowhere = Sandbox::apart(Launch::new("/no/such/program"), 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let answer = runtime.block_on(nowhere.evaluate(jq(".")));
    assert!(matches!(answer, Err(SandboxError::Crashed { .. })), "{answer:?}");
}

#[tokio::test]
async fn one_child_answers_many_questions() {
    let pool = pool();
    for _ in 0..20 {
        still_answers(&pool).await;
    }
    assert_eq!(pool.warm(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_belong_to_their_questions_when_many_ask_at_once() {
    let pool = std::sync::Arc::new(pool());
    let asked = (0..40).map(|number| {
        let pool = pool.clone();
        tokio::spawn(async move {
            let code = format!("def evaluate(output, context):\n    return output['n'] + {number}\n");
            let answer = pool.evaluate(&program(&code)).await;
            assert_eq!(answer, Ok(Value::from(1 + number)));
        })
    });
    for task in asked.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert!(pool.warm() <= 2);
}

#[tokio::test]
async fn a_child_that_is_no_sandbox_is_a_typed_error() {
    for (path, arguments) in
        [("/bin/true", vec![]), ("/bin/echo", vec!["ready".into()]), ("/no/such/program", vec![])]
    {
        let pool = Pool::new(Launch { program: path.into(), arguments }, 1);
        let answer = pool.evaluate(&program("x")).await;
        assert!(matches!(answer, Err(SandboxError::Crashed { .. })), "{path}: {answer:?}");
    }
    let script = "echo ready; while read line; do echo garbage; done";
    let pool =
        Pool::new(Launch { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }, 1);
    let answer = pool.evaluate(&program("x")).await;
    assert!(matches!(answer, Err(SandboxError::BadAnswer { .. })), "{answer:?}");
    assert_eq!(pool.warm(), 0);
}

#[tokio::test]
async fn a_child_is_started_without_the_environment() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let script = "[ -z \"$CARGO_MANIFEST_DIR$HOME\" ] && echo ready; read line; echo '{\"ok\": 7}'";
    let pool =
        Pool::new(Launch { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] }, 1);
    assert_eq!(pool.evaluate(&program("x")).await, Ok(json!(7)));
}

#[tokio::test]
async fn a_question_that_is_dropped_takes_its_child_with_it() {
    let pool = pool();
    still_answers(&pool).await;
    let endless = jq("def f: f; f");
    let asked = tokio::time::timeout(std::time::Duration::from_millis(20), pool.evaluate(&endless));
    assert!(asked.await.is_err());
    assert_eq!(pool.warm(), 0);
    still_answers(&pool).await;
}
