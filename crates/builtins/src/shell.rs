//! `shell.exec` runs a program: `{"command": "ls", "args": ["-l"]}`. It starts the program without a shell,
//! so no argument is interpreted. Only workers started with `--allow-shell` have it.

mod group;

use std::process::Stdio;

use rhythm::{TaskContext, TaskError};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::stopping::asked_to_stop;
use group::Group;

/// Number of bytes kept of each stream. The rest is read and dropped, so that the program does not block on a
/// full pipe.
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
    /// Whether the program wrote more than was kept.
    truncated: bool,
}

pub async fn exec(context: TaskContext, input: Input) -> Result<Outcome, TaskError> {
    let mut child = spawn(&input)?;
    // Dropping this future kills the rest of the group.
    let group = Group::of(&child);
    // The streams are read while the program cleans up too: a shell that writes into a closed pipe would die
    // of SIGPIPE.
    let (stdout, stderr) = (tokio::spawn(keep(child.stdout.take())), tokio::spawn(keep(child.stderr.take())));
    let work = async {
        let (stdout, stderr) = (stdout.await?, stderr.await?);
        // Wait last: the kernel cannot reuse the process id before that, and `group` still needs it.
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
    // With its own process group the program does not get the Ctrl-C of the worker's terminal. The worker
    // does, and lets its tasks finish.
    command.kill_on_drop(true).process_group(0);
    command
        .spawn()
        .map_err(|error| TaskError::new(format!("{} cannot be run: {error}", input.command)).no_retry())
}

/// Reads a stream to its end. Returns its beginning, and whether there was more.
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
