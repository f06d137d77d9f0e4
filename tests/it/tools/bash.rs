//! Bash: words, folder, exit codes, and commands that would hang, flood or outlive a careless caller.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::model::envelope::Status;
use serde_json::json;

use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;

#[tokio::test]
async fn output_and_exit_code() {
    let bench = Bench::new();
    let done = bench.bash("echo out; echo err >&2; echo again").await;
    assert_eq!((done.status, done.wire().as_ref()), (Status::Success, "out\nerr\nagain\n"));
    let failed = bench.bash("echo x; exit 3").await;
    assert_eq!((failed.status, failed.wire().as_ref()), (Status::Partial, "x\n[exit code 3]"));
    assert_eq!(failed.data.to_map()["exit_code"], 3);
    assert_eq!(bench.bash("true").await.wire(), "no output");
    assert_eq!(bench.bash("false").await.wire(), "exit code 1; no output");
    assert_eq!(bench.bash("set -e; echo a; false; echo b").await.wire(), "a\n[exit code 1]");
    assert_eq!(bench.bash("exec echo replaced").await.wire(), "replaced\n");
    assert_eq!(bench.bash("kill -9 $$").await.wire(), "killed by signal 9; no output");
    assert_eq!(bench.bash("cat; echo $?; read x; echo $?").await.wire(), "0\n1\n");
    assert_eq!(bench.bash("cat <<'E'\n$x `y`\nE\n").await.wire(), "$x `y`\n");
    assert_error(&bench.bash("echo 'open").await, "INVALID_PARAM", "a quote is not closed");
    let missing = bench.bash("no_such_program_here").await;
    assert!(
        missing.data.to_map()["exit_code"] == 127 && missing.wire().contains("not found"),
        "{}",
        missing.wire()
    );
    assert_error(&bench.bash("  ").await, "INVALID_PARAM", "empty");
    let long = bench.bash(&format!(": {}", "x".repeat(200_000))).await;
    assert_error(&long, "INVALID_PARAM", "too long");
}

#[tokio::test]
async fn working_directory() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("sub dir/deep")).unwrap();
    let moved = bench.bash("cd 'sub dir'").await;
    assert_eq!(
        (moved.wire().as_ref(), &moved.data.to_map()["cwd"]),
        ("the current folder is now sub dir; no output", &json!("sub dir"))
    );
    assert_eq!(bench.bash("pwd").await.body.trim_end(), bench.path("sub dir").to_str().unwrap());
    assert!(
        bench
            .bash("cd deep; exit 4")
            .await
            .wire()
            .contains("exit code 4; the current folder is now sub dir/deep")
    );
    assert!(bench.bash("(cd ..); pwd").await.body.ends_with("deep\n"));
    let once = bench.call("Bash", json!({"command": "cd /; pwd", "directory": "sub dir"})).await;
    assert_eq!((once.body.as_str(), &once.data.to_map()["cwd"]), ("/\n", &json!("sub dir/deep")));
    let wrong = bench.call("Bash", json!({"command": "pwd", "directory": "sub"})).await;
    assert_error(&wrong, "NOT_FOUND", "does not exist");
    fs::remove_dir_all(bench.path("sub dir")).unwrap();
    assert_error(&bench.bash("pwd").await, "NOT_FOUND", "Nothing ran");
    assert_eq!(bench.bash("pwd").await.body.trim_end(), bench.root.to_str().unwrap());
    assert_ok(&bench.bash("mkdir gone; cd gone; rmdir ../gone").await);
    fs::remove_dir_all(&bench.root).unwrap();
    assert_error(&bench.bash("pwd").await, "NOT_FOUND", "workspace folder");
    fs::create_dir(&bench.root).unwrap();
}

#[tokio::test]
async fn quiet_environment() {
    let bench = Bench::new();
    let env = bench.bash("env").await;
    for line in ["PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "TERM=dumb"] {
        assert!(env.body.lines().any(|have| have == line), "{line}");
    }
    assert!(!env.body.contains("__mycode") && !env.body.contains("MYCODE_COMMAND"), "{}", env.body);
    assert_eq!(bench.bash("pgrep -f no-such-server || echo none").await.body, "none\n");
    assert_eq!(bench.bash("echo ${MYCODE_HOME-unset} $#").await.body, "unset 0\n");
    assert!(bench.bash("echo hi >/dev/tty").await.data.to_map()["exit_code"] != 0);
}

#[tokio::test]
async fn a_command_at_its_limit_goes_on_as_a_job_that_ends_whole() {
    let bench = Bench::new();
    let command =
        "trap '' TERM; echo started; (trap '' TERM; sleep 4711) & setsid sleep 4711 & sleep 4711; sleep 4711";
    let done = bench.call("Bash", json!({"command": command, "timeout_ms": 150})).await;
    assert!(done.text.starts_with("Still running after 0.15 s, now as job 1."), "{}", done.text);
    assert!(done.body.contains("started") && done.data.to_map()["timed_out"] == true);
    assert!(running("sleep 4711") > 0);
    let stopped = bench.call("Job", json!({"id": 1, "stop": true})).await;
    assert!(stopped.text.starts_with("stopped"), "{}", stopped.text);
    while running("sleep 4711") > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Living processes with this command line.
fn running(command: &str) -> usize {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
    lines
        .flatten()
        .filter(|line| String::from_utf8_lossy(line).trim_end_matches('\0').replace('\0', " ") == command)
        .count()
}

#[tokio::test]
async fn interrupt_keeps_output() {
    let bench = Bench::new();
    let cancel = bench.cx.cancel.clone();
    let mark = bench.cx.root.join("begun");
    let (done, ()) =
        tokio::join!(bench.bash("trap '' TERM; echo begun; touch begun; sleep 300; sleep 300"), async {
            while !mark.exists() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            cancel.cancel();
        });
    assert_error(&done, "INTERRUPTED", "begun");
}

#[tokio::test]
async fn grandchild_holding_the_pipe() {
    let bench = Bench::new();
    let done = bench.bash("sleep 4712 & echo $!").await;
    assert!(done.wire().contains("1 process still running in the background"), "{}", done.wire());
    assert_eq!(running("sleep 4712"), 1);
    // It ends with the session.
    bench.cx.shell.leftovers.kill();
    while running("sleep 4712") > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn output_flood() {
    let bench = Bench::new();
    let endless = bench.call("Bash", json!({"command": "yes", "timeout_ms": 120})).await;
    assert!(
        endless.body.starts_with("y\ny\n") && endless.wire().len() <= 51 * 1024,
        "{}",
        endless.wire().len()
    );
    bench.call("Job", json!({"id": 1, "stop": true})).await;
    let path = endless.data.full_output_path().unwrap();
    assert!(fs::metadata(path).unwrap().len() > 256 * 1024);

    let lines = bench.bash("seq 1 5000").await;
    assert!(lines.body.starts_with("1\n2\n") && lines.body.ends_with("4999\n5000\n"));
    assert_eq!((lines.status, &lines.data.to_map()["output_lines"]), (Status::Partial, &json!(5000)));
    assert!(lines.body.lines().count() <= 2000 && lines.body.contains("[\u{2026} 3003 lines"));
    let path = lines.data.full_output_path().unwrap();
    assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 5000);

    let line = bench.bash("printf START; head -c 200000 /dev/zero | tr '\\0' x; printf END").await;
    assert!(
        line.body.starts_with("STARTxxx") && line.body.ends_with("xxxEND") && line.body.len() <= 50 * 1024
    );
    let two = bench.bash("printf START; head -c 2000000 /dev/zero | tr '\\0' x; printf END").await;
    assert!(
        two.body.starts_with("STARTxxx")
            && two.body.ends_with("xxxEND")
            && two.body.contains("1.9 MiB left out")
    );
    let path = two.data.full_output_path().unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), 2_000_008);

    let binary = bench.bash("head -c 3000 /dev/zero; printf '\\377\\376 tail'").await;
    assert_eq!(binary.body, "\u{fffd} tail");
    let latin = bench.bash("printf 'caf\\351\\n'").await;
    assert_eq!(latin.body, "caf\u{fffd}\n");
}

#[tokio::test]
async fn progress_lines() {
    let mut bench = Bench::new();
    let shown: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&shown);
    bench.cx.progress = Arc::new(move |tail| sink.lock().unwrap().push(tail));
    bench.bash("printf '1\\n2\\n3\\n4\\n'; sleep 0.2").await;
    assert_eq!(shown.lock().unwrap().last().unwrap(), "2\n3\n4");
}
