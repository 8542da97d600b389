//! One child process, from its start to its end.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::Launch;
use crate::answer::Answer;
use crate::child::READY;
use crate::error::{Limit, SandboxError};
use crate::request::MAX_LINE;

/// Time limit for the start of a child, long enough for a busy machine.
const START: Duration = Duration::from_secs(20);
/// Number of bytes kept of a child's standard error.
const LAST_WORDS: u64 = 4 * 1024;

#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    questions: ChildStdin,
    answers_from: BufReader<ChildStdout>,
    last_words: ChildStderr,
    pub answers: u32,
}

/// The way in which a child failed to respond.
pub(super) enum Broken {
    /// It closed its streams, so it has ended or is about to.
    Ended,
    Garbage,
}

impl Worker {
    pub async fn start(launch: &Launch) -> Result<Self, SandboxError> {
        let mut command = Command::new(&launch.program);
        command.args(&launch.arguments).env_clear().current_dir("/");
        // Without this, mimalloc (the allocator of `rhythm`) reserves 1 GiB of addresses before the child
        // limits itself.
        command.env("MIMALLOC_ARENA_RESERVE", "0");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // With its own process group the child does not get the signals of the parent's terminal.
        command.kill_on_drop(true).process_group(0);
        let mut child = command.spawn().map_err(SandboxError::crashed)?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(questions), Some(output), Some(last_words)) = streams else {
            return Err(SandboxError::crashed("it has no streams"));
        };
        let answers_from = BufReader::new(output);
        let mut worker = Self { child, questions, answers_from, last_words, answers: 0 };
        match timeout(START, worker.line()).await {
            Ok(Ok(line)) if line == READY.as_bytes() => Ok(worker),
            Ok(_) => Err(SandboxError::crashed("it did not start")),
            Err(_) => Err(SandboxError::crashed("it did not start in time")),
        }
    }

    pub async fn ask(&mut self, question: &str) -> Result<Answer, Broken> {
        let sent = async {
            self.questions.write_all(question.as_bytes()).await?;
            self.questions.write_all(b"\n").await?;
            self.questions.flush().await
        };
        sent.await.map_err(|_| Broken::Ended)?;
        let line = self.line().await?;
        self.answers += 1;
        Answer::read(&line).ok_or(Broken::Garbage)
    }

    /// Reads a line of at most `MAX_LINE` bytes and returns it without its line break.
    async fn line(&mut self) -> Result<Vec<u8>, Broken> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.answers_from).take(MAX_LINE as u64 + 1);
        bounded.read_until(b'\n', &mut line).await.map_err(|_| Broken::Ended)?;
        match line.pop() {
            Some(b'\n') => Ok(line),
            Some(_) if line.len() >= MAX_LINE => Err(Broken::Garbage),
            _ => Err(Broken::Ended),
        }
    }

    /// Returns why a child ended: its exit status and its standard error show which limit of the kernel it
    /// met.
    pub async fn bury(mut self, broken: Broken) -> SandboxError {
        if matches!(broken, Broken::Garbage) {
            return SandboxError::bad_answer("the sandbox answered with something else than an answer");
        }
        let mut words = Vec::new();
        let dying = async {
            let _ = (&mut self.last_words).take(LAST_WORDS).read_to_end(&mut words).await;
            self.child.wait().await
        };
        let status = match timeout(Duration::from_secs(2), dying).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => return SandboxError::crashed(error),
            Err(_) => return SandboxError::crashed("it closed its streams"),
        };
        let words = String::from_utf8_lossy(&words);
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        const SIGXCPU: i32 = 24;
        match signal {
            _ if words.contains("memory allocation of") => SandboxError::limit(Limit::Memory),
            _ if words.contains("overflowed its stack") => SandboxError::limit(Limit::Stack),
            Some(SIGXCPU) => SandboxError::limit(Limit::Time),
            _ => SandboxError::crashed(status),
        }
    }
}
