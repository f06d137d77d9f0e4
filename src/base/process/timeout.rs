//! A time limit for helper programs: a repository may be damaged, or on a disk that doesn't respond.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::system::os::{self, Signal};

/// Drop it before waiting for a child that may continue, because the child's number may be reused afterwards.
pub struct Timeout {
    done: Arc<(Mutex<bool>, Condvar)>,
}

impl Timeout {
    /// The child must have been started with [`os::in_own_group`].
    pub fn new(child: &Child, patience: Duration) -> Self {
        let done = Arc::new((Mutex::new(false), Condvar::new()));
        let (watched, pid) = (Arc::clone(&done), child.id().cast_signed());
        std::thread::spawn(move || {
            let (done, changed) = &*watched;
            let mut done = done.lock();
            changed.wait_while_for(&mut done, |done| !*done, patience);
            if !*done {
                os::send_to_group(pid, Signal::KILL);
            }
        });
        Self { done }
    }

    /// Waits for the child's end; after a timeout, a signal has ended it.
    pub fn end(self, mut child: Child) -> Option<ExitStatus> {
        // A program may close its output and stay. The timeout must last until its end, but not until its number is reused.
        os::wait_for_end(&child);
        drop(self);
        child.wait().ok()
    }
}

impl Drop for Timeout {
    fn drop(&mut self) {
        let (done, changed) = &*self.done;
        *done.lock() = true;
        changed.notify_all();
    }
}

/// The program's output for `input`; `None` if it fails or takes longer than `patience`.
pub fn ask(command: &mut Command, input: &[u8], patience: Duration) -> Option<Vec<u8>> {
    os::in_own_group(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut child = command.spawn().ok()?;
    let timeout = Timeout::new(&child, patience);
    let (mut asked, mut answers) = (child.stdin.take()?, child.stdout.take()?);
    let mut out = Vec::new();
    std::thread::scope(|scope| {
        // Write and read concurrently, because either pipe could fill up.
        scope.spawn(move || asked.write_all(input));
        let _ = answers.read_to_end(&mut out);
    });
    timeout.end(child).filter(ExitStatus::success).map(|_| out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_failures_and_timeouts() {
        let long = Duration::from_secs(60);
        let input = vec![b'x'; 300_000];
        assert_eq!(ask(&mut Command::new("cat"), &input, long), Some(input));
        assert_eq!(ask(&mut Command::new("false"), b"", long), None);
        assert_eq!(ask(&mut Command::new("/no/such/program"), b"", long), None);
        // With a grandchild that holds the pipe.
        let mut stuck = Command::new("sh");
        stuck.args(["-c", "sleep 600 & sleep 600"]);
        assert_eq!(ask(&mut stuck, b"", Duration::from_millis(20)), None);
    }
}
