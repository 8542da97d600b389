//! `shell.exec` runs a program: `{"command": "ls", "args": ["-l"]}`. There is no shell in between, so nothing
//! in an argument is interpreted. Only workers started with `--allow-shell` have it.

mod group;

use std::process::Stdio;

use rhythm::{TaskContext, TaskError};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::stopping::asked_to_stop;
use group::Group;

/// What is kept of each stream; the rest is read and dropped, so that the program does not stall.
const KEPT_BYTES: usize = 256 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    command: String,
    #[serde(default)]
    args: Vec<String>,
}

#[derive(Serialize)]
pub struct Outcome {
    exit_code: Option<i32>,
    stdout: String,
    stderr: String,
    /// Whether more was written than is kept here.
    truncated: bool,
}

pub async fn exec(context: TaskContext, input: Input) -> Result<Outcome, TaskError> {
    let mut child = spawn(&input)?;
    // What is left of it is killed when this future is dropped.
    let group = Group::of(&child);
    // Read to the end also while it cleans up: a shell that says something into a closed pipe is ended by that.
    let (stdout, stderr) = (tokio::spawn(keep(child.stdout.take())), tokio::spawn(keep(child.stderr.take())));
    let work = async {
        let (stdout, stderr) = (stdout.await?, stderr.await?);
        // Last: until somebody waits for it, its number is nobody else's.
        let status = child.wait().await;
        Ok::<_, std::io::Error>((stdout?, stderr?, status?))
    };
    let (stdout, stderr, status) = tokio::select! {
        ended = work => ended?,
        () = asked_to_stop(&context) => {
            group.stop(&mut child).await;
            return Err(TaskError::cancelled());
        }
    };
    group.leave();
    let outcome = Outcome {
        exit_code: status.code(),
        truncated: stdout.1 || stderr.1,
        stdout: stdout.0,
        stderr: stderr.0,
    };
    if status.success() {
        return Ok(outcome);
    }
    let message = match status.code() {
        Some(code) => format!("{} ended with exit code {code}", input.command),
        None => format!("{} was ended by a signal", input.command),
    };
    Err(TaskError::new(message).with_data(&outcome))
}

fn spawn(input: &Input) -> Result<Child, TaskError> {
    let mut command = Command::new(&input.command);
    command.args(&input.args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C at the worker's terminal is for the worker, which lets its tasks finish.
    command.kill_on_drop(true).process_group(0);
    command
        .spawn()
        .map_err(|error| TaskError::new(format!("{} cannot be run: {error}", input.command)).no_retry())
}

/// The beginning of a stream, and whether there was more.
async fn keep(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<(String, bool)> {
    let Some(mut stream) = stream else { return Ok((String::new(), false)) };
    let mut kept = Vec::new();
    let mut more = false;
    let mut chunk = vec![0; 8192];
    loop {
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Ok((String::from_utf8_lossy(&kept).into_owned(), more));
        }
        let room = KEPT_BYTES - kept.len();
        more |= count > room;
        kept.extend_from_slice(&chunk[..count.min(room)]);
    }
}
