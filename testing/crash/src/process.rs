//! Processes of the laboratory: starts, signals and watches them. A process that ends without being asked to
//! is a violation.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::wait::until;

/// Unexpected ends of processes, shared by all processes of one laboratory.
pub type Deaths = Arc<Mutex<Vec<String>>>;

/// A process in a process group of its own, so that a tracer and its tracee get the same signals. It is
/// killed when dropped.
pub struct Process {
    life: Life,
    pid: u32,
    name: String,
}

/// State of a process, shared by its owner and the laboratory, so that either can notice its end.
#[derive(Clone)]
pub struct Life(Arc<Mutex<Known>>);

struct Known {
    child: Child,
    name: String,
    errors: PathBuf,
    deaths: Deaths,
    /// True once its end was expected or recorded.
    over: bool,
}

impl Life {
    /// Returns whether the process has ended unexpectedly, and records that once.
    pub fn note_death(&self) -> bool {
        let mut known = self.lock();
        if known.over {
            return false;
        }
        let Ok(Some(status)) = known.child.try_wait() else { return false };
        known.over = true;
        let text = known.messages();
        let tail: Vec<&str> = text.lines().rev().take(5).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        let (name, pid) = (&known.name, known.child.id());
        let death = format!("{name} ({pid}) ended by itself: {status}; {}", tail.join(" | "));
        known.deaths.lock().unwrap_or_else(PoisonError::into_inner).push(death);
        true
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn messages(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("the process has no group"))?;
        Ok(kill_process_group(group, signal)?)
    }

    /// Returns whether the process was ended by a SIGKILL from outside, such as its point. Then its end
    /// counts as expected.
    fn was_killed(&mut self) -> bool {
        let status = self.child.try_wait().ok().flatten();
        let killed = status.is_some_and(|status| status.signal() == Some(Signal::KILL.as_raw()));
        self.over |= killed;
        killed
    }

    /// Kills the process, whether or not it has ended already.
    fn end(&mut self) -> bool {
        self.over = true;
        let killed = self.signal(Signal::KILL).is_ok();
        let _ = self.child.wait();
        killed
    }
}

impl Process {
    /// Starts a process whose standard error goes to `errors`.
    pub fn start(command: &mut Command, name: &str, errors: PathBuf, deaths: &Deaths) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&errors)?)
            .process_group(0)
            .spawn()?;
        let (pid, name) = (child.id(), name.to_owned());
        let known = Known { child, name: name.clone(), errors, deaths: deaths.clone(), over: false };
        Ok(Self { life: Life(Arc::new(Mutex::new(known))), pid, name })
    }

    pub fn life(&self) -> Life {
        self.life.clone()
    }

    pub fn id(&self) -> u32 {
        self.pid
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_running(&self) -> bool {
        let mut known = self.life.lock();
        !known.over && matches!(known.child.try_wait(), Ok(None))
    }

    /// Kills the process. Returns false when it had ended unexpectedly before, which is recorded as a
    /// violation.
    pub fn kill(&mut self) -> bool {
        !self.life.note_death() && self.life.lock().end()
    }

    /// Ends a victim that its own point may have killed already. Any other end is recorded as a violation.
    pub fn dismiss(&mut self) {
        if !self.life.lock().was_killed() {
            self.kill();
        }
    }

    /// Stops the process with SIGSTOP, like a paused virtual machine.
    pub fn freeze(&self) -> io::Result<()> {
        self.life.lock().signal(Signal::STOP)
    }

    pub fn thaw(&self) -> io::Result<()> {
        self.life.lock().signal(Signal::CONT)
    }

    /// Waits for an expected end. Returns None on timeout.
    pub async fn ends_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let ended = || self.life.lock().child.try_wait().ok().flatten();
        until(patience, || std::future::ready(ended().is_some())).await;
        let status = ended()?;
        self.life.lock().over = true;
        Some(status)
    }

    /// Returns the text the process wrote to its standard error.
    pub fn messages(&self) -> String {
        self.life.lock().messages()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.life.note_death() && !self.life.lock().over {
            self.life.lock().end();
        }
    }
}

/// Finds a program of this package, beside the running program or one folder above when that is a test.
pub fn program(name: &str) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folders = own.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        io::Error::other(format!("{name} is not beside {}: build rhythm-crash", own.display()))
    })
}

/// Makes the calling process die with its parent, even if the parent is killed.
pub fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, deaths: &Deaths, folder: &std::path::Path) -> Process {
        let mut command = Command::new("sh");
        Process::start(command.arg("-c").arg(script), "shell", folder.join("errors"), deaths).unwrap()
    }

    #[tokio::test]
    async fn an_end_nobody_asked_for_is_noted_with_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let deaths = Deaths::default();
        let mut process = shell("echo help >&2; exit 3", &deaths, folder.path());
        until(Duration::from_secs(20), || std::future::ready(!process.is_running())).await;
        assert!(!process.kill());
        drop(process);
        let noted = deaths.lock().unwrap().clone();
        assert_eq!(noted.len(), 1, "{noted:?}");
        assert!(noted[0].contains("exit status: 3") && noted[0].contains("help"), "{noted:?}");
    }

    #[tokio::test]
    async fn a_victim_may_die_of_its_point_but_not_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let deaths = Deaths::default();
        for (script, deaths_by_then) in
            [("kill -9 $$", 0), ("exec sleep 100", 0), ("exit 0", 1), ("exit 3", 2)]
        {
            let mut victim = shell(script, &deaths, folder.path());
            if !script.contains("sleep") {
                until(Duration::from_secs(20), || std::future::ready(!victim.is_running())).await;
            }
            victim.dismiss();
            drop(victim);
            assert_eq!(deaths.lock().unwrap().len(), deaths_by_then, "{script}");
        }
    }

    #[tokio::test]
    async fn a_kill_and_a_wanted_end_are_no_violations() {
        let folder = tempfile::tempdir().unwrap();
        let deaths = Deaths::default();
        assert!(shell("exec sleep 100", &deaths, folder.path()).kill());
        let mut wanted = shell("exit 7", &deaths, folder.path());
        let status = wanted.ends_within(Duration::from_secs(20)).await.unwrap();
        assert_eq!(status.code(), Some(7));
        drop(wanted);
        drop(shell("exec sleep 100", &deaths, folder.path()));
        assert_eq!(*deaths.lock().unwrap(), Vec::<String>::new());
    }
}
