//! Where no namespaces can be made, as in most containers: what mounts prevent elsewhere is refused call by call.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::answer::answer;
use crate::support::sandbox_world::{World, walls, without_namespaces};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// Each line but the last ones acts on what isn't the command's; `$VICTIM` is a process of the user.
const ATTEMPTS: &str = r#"
import ctypes, os, resource, stat
out, victim = os.environ["OUT"], int(os.environ["VICTIM"])
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, act):
    try:
        act()
        print(name, "done")
    except (OSError, ValueError):
        print(name, "refused")
def call(function, *args):
    if function(*args) < 0:
        raise OSError(ctypes.get_errno(), "")
file = os.open(out + "/file", os.O_RDONLY)
attempt("chmod", lambda: os.chmod(out + "/file", 0o777))
attempt("fchmod", lambda: os.fchmod(file, 0o777))
attempt("chmod of an open file", lambda: os.chmod("/proc/self/fd/%d" % file, 0o777))
attempt("chmod through a link", lambda: os.chmod("way_out/file", 0o777))
attempt("times", lambda: os.utime(out + "/file", (1, 1)))
attempt("ftimes", lambda: os.utime(file, (1, 1)))
attempt("attribute", lambda: os.setxattr(out + "/file", "user.a", b"1"))
attempt("prlimit", lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE, (99, 99)))
attempt("renice", lambda: os.setpriority(os.PRIO_PROCESS, victim, 5))
attempt("renice all", lambda: os.setpriority(os.PRIO_USER, 0, 5))
attempt("taskset", lambda: os.sched_setaffinity(victim, {0}))
attempt("shared memory", lambda: call(libc.shmget, 77, 4096, 0o1666))
attempt("message queue", lambda: call(libc.msgget, 77, 0o1666))
attempt("semaphore", lambda: call(libc.semget, 77, 1, 0o1666))
attempt("terminal", lambda: os.open(os.environ["TERMINAL"], os.O_RDWR | os.O_NOCTTY))
attempt("their memory", lambda: os.open("/dev/shm/" + os.environ["SHARED"], os.O_RDWR))
attempt("environment", lambda: open("/proc/%d/environ" % victim).read())
attempt("capabilities", lambda: os.chown("own", 1234, 1234))
open("own", "w").close()
os.mkfifo("pipe")
attempt("own chmod", lambda: os.chmod("own", 0o700))
attempt("own times", lambda: os.utime("own", (1, 1)))
attempt("own priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + 1))
attempt("own limit", lambda: resource.prlimit(os.getpid(), resource.RLIMIT_CORE, (0, 0)))
attempt("own affinity", lambda: os.sched_setaffinity(os.getpid(), {0}))
attempt("pipe's mode", lambda: os.fchmod(os.pipe()[0], 0o600))
"#;

#[test]
fn what_belongs_to_others_is_refused() {
    let world = World::new();
    fs::write(world.project.join("attempts.py"), ATTEMPTS).unwrap();
    let mut victim = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
    let pty = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).unwrap();
    let terminal = pty.master.tty_name().unwrap();
    let shared = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
    let mut command = without_namespaces(&world.sandbox(&[], "python3 attempts.py"));
    command.env("VICTIM", victim.id().to_string()).env("TERMINAL", terminal);
    command.env("SHARED", shared.path().file_name().unwrap());
    let output = command.output().unwrap();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let (said, why) = (stdout(&output), stderr(&output));
    if !output.status.success() && !said.contains("chmod") {
        eprintln!("SKIPPED: {why}");
        return;
    }
    let wrong: Vec<&str> = said
        .lines()
        .filter(|line| {
            let own = line.starts_with("own") || line.starts_with("pipe");
            !line.ends_with(if own { "done" } else { "refused" })
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}\n{said}{why}");
    assert_eq!(said.lines().count(), 24, "{said}{why}");
    let meta = fs::metadata(world.outside.join("file")).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o644);
    let doctor =
        without_namespaces(&world.start(env!("CARGO_BIN_EXE_mycode"), &["doctor"])).output().unwrap();
    assert!(
        stdout(&doctor).contains("prevented by system calls only: changing modes"),
        "{}",
        stdout(&doctor)
    );
}

/// Not confined at all, a command reads what the system lets it read; our keys are not among that.
#[test]
fn our_keys_can_not_be_read_from_our_environment() {
    if !cfg!(target_os = "linux") || !walls() {
        return;
    }
    let place = Workplace::new();
    let look = "p=$PPID; while [ $p -gt 1 ]; do
            [ \"$(cat /proc/$p/comm)\" = mycode ] && { echo ours; tr '\\0' '\\n' < /proc/$p/environ | grep -c '_KEY=.'; }
            p=$(awk '/^PPid/{print $2}' /proc/$p/status); done; true";
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": look})).into(),
        answer().text("Done.").into(),
    ]);
    let url = server.base_url();
    let args = ["exec", "--base-url", &url, "--model", "m", "--permission", "full", "look"];
    let mut command = place.command(&args);
    let output = command.env("ACME_API_KEY", "a-key-of-the-user-4711").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let result = &server.requests()[1].raw;
    assert!(result.contains("ours\\n") && !result.contains("ours\\n1"), "{result}");
}

/// A build may run us too: the sandbox around it hides what the user always allows.
#[test]
fn a_run_inside_of_another_works() {
    if !walls() {
        return;
    }
    let world = World::new();
    let us = env!("CARGO_BIN_EXE_mycode");
    let doctor = world.start(us, &["doctor"]).env_remove("MYCODE_HOME").output().unwrap();
    let said = stdout(&doctor);
    let state = Path::new(said.lines().find_map(|line| line.strip_prefix("state")).unwrap().trim());
    assert!(state.starts_with(&world.home), "{said}");
    fs::create_dir_all(state).unwrap();
    fs::write(state.join("permissions.toml"), "[permissions]\nallow = [\"Bash(make)\"]\n").unwrap();
    let nested = world.sandbox(&[], &format!("{us} sandbox -- 'echo works'"));
    for mut outer in [without_namespaces(&nested), nested] {
        let output = outer.output().unwrap();
        assert_eq!(stdout(&output), "works\n", "{}", stderr(&output));
    }
}
