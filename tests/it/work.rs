//! `mycode work`: the branches of a batch are looked at, tested, merged and discarded; its sessions open by id.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::support::answer::{answer, silence};
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

fn run(place: &Workplace, server: &FakeServer, args: &[&str]) -> Output {
    let url = server.base_url();
    place.command(&[args, &["--base-url", &url, "--model", "gpt-5-mini"]].concat()).output().unwrap()
}

/// A batch of three: two write the same file, one changes nothing.
fn batch() -> (Workplace, FakeServer) {
    let place = Workplace::new();
    place.file("a.txt", "one\n").file("Makefile", "test:\n\t@grep -q alpha a.txt\n");
    let place = place.repository();
    let task = |id: &str| json!({"id": id, "prompt": format!("{id} task")}).to_string();
    place.file("tasks.jsonl", [task("alpha"), task("beta"), task("idle")].join("\n"));
    let server = FakeServer::start(vec![]);
    server.on_body("\"role\":\"tool\"", answer().text("Wrote it.").usage(1_000, 0, 10));
    for task in ["alpha", "beta"] {
        let args = json!({"command": format!("echo {task} > a.txt")});
        server
            .on_body(&format!("\"content\":\"{task} task"), answer().call("Bash", args).usage(1_000, 0, 10));
    }
    server.on_body("\"content\":\"idle task", answer().text("Nothing to do.").usage(1_000, 0, 10));
    let out = run(&place, &server, &["exec", "--each", "tasks.jsonl"]);
    assert!(out.status.success(), "{}{}", stdout(&out), stderr(&out));
    (place, server)
}

fn listed(place: &Workplace) -> Vec<Value> {
    let out = place.command(&["work", "list", "--json"]).output().unwrap();
    stdout(&out).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn from_the_batch_to_the_merge() {
    let (place, server) = batch();
    let rows = listed(&place);
    assert_eq!(rows.len(), 2, "a branch without a change vanishes: {rows:?}");
    assert_eq!((&rows[0]["task"], &rows[0]["exit_code"]), (&json!("alpha task"), &json!(0)));
    assert_eq!(rows[0]["files"], json!(["a.txt"]));
    let text = stdout(&place.command(&["work"]).output().unwrap());
    assert!(text.contains("/alpha  done  1 file  $0.00  alpha task\n"), "{text}");
    let diff = stdout(&place.command(&["work", "diff", "alpha"]).output().unwrap());
    assert!(diff.contains("-one\n+alpha"), "{diff}");
    for (name, code) in [("alpha", 0), ("beta", 1)] {
        let out = run(&place, &server, &["work", "test", name]);
        assert_eq!(out.status.code(), Some(code), "{}{}", stdout(&out), stderr(&out));
        assert!(stdout(&out).contains("`make test`"), "{}", stdout(&out));
    }
    let out = run(&place, &server, &["work", "merge", "alpha"]);
    assert_eq!((out.status.code(), place.text("a.txt").as_str()), (Some(0), "alpha\n"), "{}", stderr(&out));

    // The other conflicts now: the fixer works in the branch's own folder.
    let mend = json!({"command": "echo 'alpha and beta' > a.txt"});
    server.on_body("changes conflict", answer().call("Bash", mend).usage(1_000, 0, 10));
    let out = run(&place, &server, &["work", "merge", "beta"]);
    assert_eq!(out.status.code(), Some(0), "{}{}", stdout(&out), stderr(&out));
    assert_eq!(place.text("a.txt"), "alpha and beta\n");
    assert!(listed(&place).is_empty());
    assert_eq!(place.git(&["branch", "--format=%(refname:short)"]), "main\n");
}

#[test]
fn what_stays_in_conflict_never_reaches_the_project() {
    let (place, server) = batch();
    run(&place, &server, &["work", "merge", "alpha"]);
    server.on_body("changes conflict", answer().text("I can't.").usage(1_000, 0, 10));
    let out = run(&place, &server, &["work", "merge", "beta"]);
    assert_eq!((out.status.code(), place.text("a.txt").as_str()), (Some(1), "alpha\n"), "{}", stderr(&out));
    assert_eq!(place.git(&["status", "--porcelain", "-uno"]), "");
    let out = place.command(&["work", "discard", "beta"]).output().unwrap();
    assert!(out.status.success() && listed(&place).is_empty(), "{}", stderr(&out));
    let out = place.command(&["work", "diff", "beta"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
}

#[test]
fn sessions_of_a_batch_open_by_id_and_count() {
    let (place, server) = batch();
    let id = listed(&place)[0]["session"].as_str().unwrap().to_owned();
    for command in ["export", "context", "replay"] {
        let out = place.command(&[command, &id]).output().unwrap();
        assert!(out.status.success(), "{command}: {}", stderr(&out));
    }
    let out = place.command(&["report", "--since", "1d", "--json"]).output().unwrap();
    let found: Value = serde_json::from_str(&stdout(&out)).unwrap();
    assert_eq!(found["sessions"].as_array().unwrap().len(), 3, "{found}");
    server.on_body("and then", answer().text("Went on.").usage(1_000, 0, 10));
    let out = run(&place, &server, &["exec", "--resume", &id, "and then"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(stderr(&out).contains("continues here in a copy"), "{}", stderr(&out));
    assert!(server.requests().last().unwrap().raw.contains("alpha task"));
}

/// A checkout with a committed file that was changed since, and a new one.
fn dirty() -> Workplace {
    let place = Workplace::new();
    place.file("a.txt", "one\ntwo\nthree\nfour\nfive\n");
    let place = place.repository();
    place.file("a.txt", "ONE\ntwo\nthree\nfour\nfive\n").file("new.txt", "new\n");
    place
}

fn in_worktree(place: &Workplace, command: &str) -> (String, String) {
    let call = answer().call("Bash", json!({"command": command})).call("Glob", json!({"pattern": "*.txt"}));
    let server = FakeServer::start(vec![call.into(), answer().text("Did it.").into()]);
    let out = run(place, &server, &["exec", "--worktree", "do it"]);
    assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(0), "Did it.\n"), "{}", stderr(&out));
    // The worktree lies in a folder that git ignores, but its own files are searched.
    assert!(!server.requests()[1].raw.contains("no file matches"), "{}", server.requests()[1].raw);
    let row = listed(place).pop();
    let name = row.map_or(String::new(), |row| row["session"].as_str().unwrap().to_owned());
    (name, stderr(&out))
}

#[test]
fn a_task_in_a_worktree_of_the_present_state() {
    let place = dirty();
    let (name, said) = in_worktree(&place, "cat new.txt && sed -i s/five/FIVE/ a.txt");
    assert!(said.contains(&format!("`mycode work merge {name}` merges them")), "{said}");
    let row = &listed(&place)[0];
    assert_eq!((&row["task"], &row["exit_code"]), (&json!("do it"), &json!(0)));
    assert_eq!(row["files"], json!(["a.txt"]), "what was changed before is not its change");
    let diff = stdout(&place.command(&["work", "diff", &name]).output().unwrap());
    assert!(diff.contains("+FIVE") && !diff.contains("-one"), "{diff}");
    assert_eq!(place.text("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n");
    assert!(place.command(&["export", &name]).output().unwrap().status.success());

    // The user's own change to that file isn't committed: git doesn't merge over it.
    let out = place.command(&["work", "merge", &name]).output().unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", stdout(&out));
    place.git(&["commit", "-qam", "mine"]);
    let out = place.command(&["work", "merge", &name]).output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert_eq!(place.text("a.txt"), "ONE\ntwo\nthree\nfour\nFIVE\n");
    let log = place.git(&["log", "--format=%s", "--name-only"]);
    assert!(!log.contains("not committed") && !log.contains("new.txt"), "{log}");
    assert!(listed(&place).is_empty());
    assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn what_a_killed_task_left_is_seen_and_merged() {
    let place = dirty();
    let change = json!({"command": "echo six >> a.txt; echo x > fresh.txt"});
    let server = FakeServer::start(vec![answer().call("Bash", change).into(), silence()]);
    let args = ["exec", "--worktree", "--base-url", &server.base_url(), "--model", "m", "do it"];
    let mut child = place.command(&args).stderr(Stdio::null()).spawn().unwrap();
    server.wait_for_requests(2);
    let branch = listed(&place)[0]["branch"].as_str().unwrap().to_owned();
    let out = place.command(&["work", "discard", &branch]).output().unwrap();
    assert!(stderr(&out).contains("is still running"), "{}", stderr(&out));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(listed(&place)[0]["files"], json!(["a.txt", "fresh.txt"]));
    let diff = stdout(&place.command(&["work", "diff", &branch]).output().unwrap());
    assert!(diff.contains("+six") && diff.contains("fresh.txt") && !diff.contains("+ONE"), "{diff}");
    place.git(&["commit", "-qam", "mine"]);
    let out = place.command(&["work", "merge", &branch]).output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(place.text("a.txt").ends_with("five\nsix\n") && place.text("fresh.txt") == "x\n");
}

#[test]
fn work_upon_changes_that_are_not_committed_waits_for_them() {
    let place = dirty();
    let (name, _) = in_worktree(&place, "sed -i s/ONE/ONE!/ a.txt");
    let out = place.command(&["work", "merge", &name]).output().unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", stdout(&out));
    assert!(stderr(&out).contains("uncommitted changes of yours, such as in a.txt"), "{}", stderr(&out));
    place.git(&["commit", "-qam", "mine"]);
    let out = place.command(&["work", "merge", &name]).output().unwrap();
    assert_eq!(
        (out.status.code(), place.text("a.txt").lines().next()),
        (Some(0), Some("ONE!")),
        "{}",
        stderr(&out)
    );
}

#[test]
fn a_worktree_task_that_was_cut_off_goes_on_there() {
    let place = dirty();
    let (none, said) = in_worktree(&place, "true");
    assert!(none.is_empty() && said.contains("nothing was changed"), "{said}");
    assert_eq!(place.git(&["branch", "--format=%(refname:short)"]), "main\n");

    let call = answer().call("Write", json!({"path": "b.txt", "content": "b"}));
    let server = FakeServer::start(vec![call.into(), answer().text("Done.").into()]);
    let out = run(&place, &server, &["exec", "--worktree", "--max-steps", "1", "write b"]);
    assert_eq!(out.status.code(), Some(5), "{}", stderr(&out));
    let name = listed(&place)[0]["session"].as_str().unwrap().to_owned();
    assert_eq!(listed(&place)[0]["exit_code"], 5);
    let out = run(&place, &server, &["exec", "--worktree", "--resume", &name, "go on"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    assert!(server.requests()[1].raw.contains("write b"), "the same session");
    let rows = listed(&place);
    assert_eq!((rows.len(), &rows[0]["files"], &rows[0]["exit_code"]), (1, &json!(["b.txt"]), &json!(0)));
    assert!(!place.project().join("b.txt").exists());
}

#[test]
fn a_worktree_needs_a_first_commit_but_nobodys_name() {
    let place = Workplace::new();
    place.git(&["init", "-q"]);
    let out = run(&place, &FakeServer::start(vec![]), &["exec", "--worktree", "do it"]);
    assert!(stderr(&out).contains("the repository has no commit yet"), "{}", stderr(&out));
    let first = ["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "first"];
    place.git(&first);
    // As for a user whom the system has no name for.
    place.git(&["config", "user.useConfigOnly", "true"]);
    in_worktree(&place, "echo new > new.txt");
    let names = place.git(&["log", "--all", "--format=%ae"]);
    assert!(names.contains("mycode@localhost") && names.lines().count() == 2, "{names}");
}
