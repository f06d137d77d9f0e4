//! Background jobs: started, read, stopped; told of once; gone with the agent, also when that is killed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use guard::sandbox::launch;
use serde_json::{Value, json};

use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;
use crate::support::workplace::Workplace;

fn bench() -> Bench {
    launch::use_helper(env!("CARGO_BIN_EXE_mycode").into());
    Bench::new()
}

fn running(command: &str) -> bool {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
    lines
        .flatten()
        .any(|line| String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ") == command)
}

async fn gone(command: &str) {
    while running(command) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn job_lifecycle() {
    let bench = bench();
    let line = "echo begun; read x < go; echo went on; setsid sleep 724201 & sleep 724201";
    assert_ok(&bench.bash("mkfifo go").await);
    let begun = bench.call("Bash", json!({"command": line, "background": true})).await;
    assert_ok(&begun);
    assert_eq!((begun.body.as_str(), &begun.data.to_map()["running"]), ("begun\n", &json!(true)));
    let id = begun.data.to_map()["job"].clone();
    let nothing = bench.call("Job", json!({"id": id})).await;
    assert!(nothing.text.contains("running; no new output"), "{}", nothing.wire());
    assert_ok(&bench.bash("echo > go").await);
    loop {
        let more = bench.call("Job", json!({"id": id})).await;
        if more.body == "went on\n" {
            break;
        }
        assert_eq!(more.body, "");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let list = bench.call("Job", json!({})).await;
    assert!(list.body.starts_with("1 running: echo begun"), "{}", list.wire());
    assert!(bench.cx.shell.jobs.take_ended().is_empty());
    let stopped = bench.call("Job", json!({"id": id, "stop": true})).await;
    assert!(stopped.text.contains("stopped"), "{}", stopped.wire());
    gone("sleep 724201").await;
    let server = "trap 'until [ -e closed ]; do sleep 0.01; done; echo bye; exit 3' TERM; echo up; until false; do sleep 0.01; done";
    let begun = bench.call("Bash", json!({"command": server, "background": true})).await;
    assert_eq!(begun.body, "up\n");
    assert_ok(&bench.bash("(sleep 0.3; touch closed) &").await);
    let stopped = bench.call("Job", json!({"id": 2, "stop": true})).await;
    assert!(stopped.text.starts_with("stopped (exit code 3) after"), "{}", stopped.wire());
    assert!(stopped.body.ends_with("bye\n"), "{}", stopped.wire());
    // Whoever stopped it knows.
    assert!(bench.cx.shell.jobs.take_ended().is_empty());
    assert_error(&bench.call("Job", json!({"id": 99})).await, "NOT_FOUND", "no job 99");
}

#[tokio::test]
async fn job_end_and_output_file() {
    let bench = bench();
    let begun = bench.call("Bash", json!({"command": "seq 1 40000; exit 3", "background": true})).await;
    let id = u32::try_from(begun.data.to_map()["job"].as_u64().unwrap()).unwrap();
    bench.cx.shell.jobs.ended(id, std::time::Duration::from_secs(20)).await;
    let path = begun.data.full_output_path().unwrap();
    assert_eq!(fs::read_to_string(path).unwrap().lines().count(), 40_000);
    if begun.data.to_map()["running"] == true {
        let told = bench.cx.shell.jobs.take_ended();
        assert!(told.len() == 1 && told[0].contains("ended: exit code 3 after "), "{told:?}");
    }
    assert!(bench.cx.shell.jobs.take_ended().is_empty());
    let last = bench.call("Job", json!({"id": id})).await;
    assert!(last.text.contains("exit code 3"), "{}", last.wire());
}

/// Two overlay mounts that share their folders for writing are undefined in the kernel: each running command has its own.
#[test]
fn concurrent_commands_share_no_cache_folder() {
    // Not in `/tmp`, of which the sandbox has its own.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let home = dir.path().canonicalize().unwrap().join("home");
    let project = home.join("project");
    fs::create_dir_all(home.join(".cache")).unwrap();
    fs::create_dir_all(&project).unwrap();
    // In scripts, because the policy would ask for a path outside of the workspace.
    fs::write(project.join("first.sh"), "echo a > ~/.cache/one && echo begun; sleep 724204").unwrap();
    fs::write(project.join("second.sh"), "ls ~/.cache; echo b > ~/.cache/two && echo written").unwrap();
    fs::write(project.join("third.sh"), "ls ~/.cache").unwrap();
    let mut agent = Workplace::new()
        .command(&["tool", "-", "--permission", "auto"])
        .current_dir(&project)
        .env("HOME", &home)
        .env("MYCODE_HOME", dir.path().join("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut calls, mut answers) =
        (agent.stdin.take().unwrap(), BufReader::new(agent.stdout.take().unwrap()));
    let mut call = |tool: &str, args: Value| -> Value {
        writeln!(calls, "{}", json!({"tool": tool, "args": args})).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let job = call("Bash", json!({"command": "sh first.sh", "background": true}));
    assert_eq!(job["status"], "success", "{job}");
    if job["data"]["output"] != "begun\n" {
        eprintln!("SKIPPED: no layered caches here: {job}");
        drop(calls);
        agent.wait().unwrap();
        return;
    }
    let beside = call("Bash", json!({"command": "sh second.sh"}));
    assert_eq!(beside["data"]["output"], "written\n", "{beside}");
    call("Job", json!({"id": job["data"]["job"], "stop": true}));
    // One after the other they share what was cached.
    let after = call("Bash", json!({"command": "sh third.sh"}));
    assert_eq!(after["data"]["output"], "one\n", "{after}");
    drop(calls);
    agent.wait().unwrap();
    assert!(fs::read_dir(home.join(".cache")).unwrap().next().is_none(), "nothing reaches the real cache");
}

/// `mycode tool -` is killed as nothing can refuse: its jobs go, confined and not.
#[tokio::test]
async fn jobs_die_with_a_killed_agent() {
    for (level, seconds) in [("auto", "724202"), ("full", "724203")] {
        let place = Workplace::new();
        let mut command = place.command(&["tool", "-", "--permission", level]);
        let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let line = format!("echo begun; setsid sleep {seconds} & sleep {seconds}");
        let call = json!({"tool": "Bash", "args": {"command": line, "background": true}});
        let mut input = agent.stdin.take().unwrap();
        writeln!(input, "{call}").unwrap();
        let mut answer = String::new();
        BufReader::new(agent.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["status"], "success", "{answer}");
        let sleep = format!("sleep {seconds}");
        while !running(&sleep) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        agent.kill().unwrap();
        agent.wait().unwrap();
        gone(&sleep).await;
    }
}
