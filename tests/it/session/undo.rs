//! Going back: what tools and commands changed in the workspace is put back exactly, what others changed is left alone,
//! and every rewind can itself be undone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use base::protocol::event::Event;
use base::protocol::op::Undo;
use base::protocol::rewind::RewindScope;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

/// Everything below a folder: kind, mode of files, content. `.git` is left out.
pub fn picture(root: &Path) -> BTreeMap<PathBuf, String> {
    walkdir::WalkDir::new(root)
        .min_depth(1)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != ".git")
        .map(|entry| {
            let entry = entry.unwrap();
            let path = entry.path();
            let what = if entry.path_is_symlink() {
                format!("-> {}", fs::read_link(path).unwrap().display())
            } else if path.is_dir() {
                format!("folder {:o}", entry.metadata().unwrap().permissions().mode() & 0o777)
            } else if !path.is_file() {
                "special".to_owned()
            } else {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                format!("{mode:o} {:?}", fs::read(path).unwrap())
            };
            (path.strip_prefix(root).unwrap().to_owned(), what)
        })
        .collect()
}

/// `exec` with the calls of a script, of which none is asked about.
fn scripted(place: &Workplace, script: &Path, args: &[&str]) -> Command {
    let script = script.to_str().unwrap();
    let flags = ["exec", "--provider", "scripted", "--permission", "full", "--script", script];
    let mut command = place.command(&[&flags, args].concat());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// One turn of the real program, whose model makes these calls.
fn turn(place: &Workplace, go_on: bool, task: &str, calls: &[Value]) -> Output {
    let script = place.home().join("script.jsonl");
    let lines: String = calls.iter().map(|call| format!("{}\n", json!({"calls": [call]}))).collect();
    fs::write(&script, format!("{lines}{}\n", json!({"text": "done"}))).unwrap();
    let args = if go_on { &["-c", task][..] } else { &[task] };
    let output =
        scripted(place, &script, args).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    output
}

fn bash(command: &str) -> Value {
    json!({"name": "Bash", "args": {"command": command}})
}

fn write(path: &str, content: &str) -> Value {
    json!({"name": "Write", "args": {"path": path, "content": content}})
}

fn rewind(place: &Workplace, args: &[&str]) -> String {
    let mut all = vec!["rewind"];
    all.extend(args);
    let output = place.command(&all).output().unwrap();
    assert_ne!(output.status.code(), Some(2), "{}", stderr(&output));
    stdout(&output)
}

/// The names of the points, newest first.
fn points(place: &Workplace) -> Vec<String> {
    rewind(place, &["--json"])
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].as_str().unwrap().to_owned())
        .collect()
}

pub fn git(root: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn undo_and_redo() {
    let place = Workplace::new();
    place
        .file("a.txt", "one\ntwo\n")
        .file("b.txt", "bee\n")
        .file("run.sh", "echo\n")
        .file("gone.txt", "bye\n");
    place.file("sub/x", "x").file("crlf.txt", "a\r\nb\n");
    symlink("a.txt", place.project().join("link")).unwrap();
    let before = picture(&place.project());
    turn(
        &place,
        false,
        "first",
        &[
            json!({"name": "Read", "args": {"path": "a.txt"}}),
            json!({"name": "Edit", "args": {"path": "a.txt", "old_string": "two", "new_string": "2\n3"}}),
            write("new/deep/file.md", "# new\n"),
        ],
    );
    let middle = picture(&place.project());
    turn(
        &place,
        true,
        "second",
        &[
            bash(
                "rm gone.txt; mv b.txt c.txt; chmod +x run.sh; echo more >> a.txt; mkdir -p d/e; echo 1 > d/e/f",
            ),
            bash("rm link; ln -s b.txt link; printf 'a\\nb\\r\\n' > crlf.txt; rm -r sub; echo file > sub"),
        ],
    );
    let after = picture(&place.project());
    place.file("mine.txt", "untouched");
    let listed = points(&place);
    assert_eq!(listed.len(), 2);
    let shown = rewind(&place, &["--to", &listed[0], "--preview"]);
    for part in
        ["recreate  gone.txt +1 -0", "delete    c.txt +0 -1", "mode      run.sh", "restore   a.txt +0 -1"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("mine.txt") && !shown.contains("skip"), "{shown}");
    let mine = |mut picture: BTreeMap<PathBuf, String>| {
        assert!(picture.remove(Path::new("mine.txt")).is_some());
        picture
    };
    assert_eq!(mine(picture(&place.project())), after, "a preview changes nothing");
    // Without --yes nothing happens either.
    assert!(rewind(&place, &["--to", &listed[0], "--files"]).contains("--yes"));
    rewind(&place, &["--to", &listed[0], "--files", "--yes"]);
    assert_eq!(mine(picture(&place.project())), middle);
    rewind(&place, &["--to", &listed[1], "--files", "--yes"]);
    assert_eq!(mine(picture(&place.project())), before);
    // Undo of the second rewind, then of the first one.
    rewind(&place, &["--to", "u2", "--yes"]);
    assert_eq!(mine(picture(&place.project())), middle);
    rewind(&place, &["--to", "u1", "--yes"]);
    assert_eq!(mine(picture(&place.project())), after);
    // And all of it once more, from the very first point.
    rewind(&place, &["--to", &listed[1], "--files", "--yes"]);
    assert_eq!(mine(picture(&place.project())), before);
}

#[test]
fn modes_links_and_empty_folders_come_back_over_several_turns() {
    let place = Workplace::new();
    place.file("run.sh", "#!/bin/sh\n").file("plain", "1\n");
    let set_up = "chmod 755 run.sh; ln -s plain link; mkdir empty; sleep 0.01";
    assert!(Command::new("sh").args(["-c", set_up]).current_dir(place.project()).status().unwrap().success());
    let before = picture(&place.project());
    turn(&place, false, "t1", &[bash("rm run.sh link; rmdir empty")]);
    let second = ["run.sh", "link", "empty"].map(|name| write(name, "other\n"));
    turn(&place, true, "t2", &second);
    let shown = rewind(&place, &["--to", &points(&place)[1], "--preview"]);
    for row in ["run.sh +1 -1 (mode 644 → 755)", "(file → link to plain)", "(file → folder)"] {
        assert!(shown.contains(row), "{row}: {shown}");
    }
    rewind(&place, &["--to", &points(&place)[1], "--files", "--yes"]);
    assert_eq!(picture(&place.project()), before);
}

#[test]
fn what_a_command_removed_comes_back_with_its_mode() {
    for under_git in [false, true] {
        let mut place = Workplace::new();
        place
            .file("run.sh", "#!/bin/sh\n")
            .file("private", "1\n")
            .file("fixed", "2\n")
            .file("d/e/inner", "3\n");
        if under_git {
            place = place.repository();
        }
        let set_up = "chmod 755 run.sh; chmod 600 private; chmod 444 fixed; chmod 640 d/e/inner; chmod 700 d; chmod 750 d/e";
        let set = Command::new("sh").args(["-c", set_up]).current_dir(place.project()).status().unwrap();
        assert!(set.success());
        let before = picture(&place.project());
        turn(&place, false, "t1", &[bash("rm -f run.sh private fixed; rm -r d")]);
        assert!(picture(&place.project()).is_empty());
        rewind(&place, &["--to", &points(&place)[0], "--files", "--yes"]);
        assert_eq!(picture(&place.project()), before, "under git: {under_git}");
    }
}

#[test]
fn conflicts_and_force() {
    let place = Workplace::new();
    place.file("a", "1\n").file("b", "1\n").file("c", "1\n");
    turn(
        &place,
        false,
        "t1",
        &[bash("echo 2 > a; echo 2 > b; echo 2 > c; echo new > made; mkdir dir; echo 1 > dir/in")],
    );
    place.file("b", "by hand\n").file("made", "by hand\n").file("dir/mine", "mine\n");
    turn(&place, true, "t2", &[bash("echo 3 > a; echo 3 >> b")]);
    let listed = points(&place);
    let shown = rewind(&place, &["--to", &listed[1], "--preview"]);
    assert!(shown.contains("skip      b: another program changed it in the meantime"), "{shown}");
    assert!(shown.contains("skip      made: another program changed it since"), "{shown}");
    let output = place.command(&["rewind", "--to", &listed[1], "--files", "--yes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(10), "not everything was done");
    assert!(stdout(&output).contains("skipped dir: the folder holds other files"), "{}", stdout(&output));
    assert_eq!(
        (place.text("a"), place.text("b"), place.text("c")),
        ("1\n".into(), "by hand\n3\n".into(), "1\n".into())
    );
    assert_eq!((place.text("made"), place.text("dir/mine")), ("by hand\n".into(), "mine\n".into()));
    assert!(!place.project().join("dir/in").exists());
    rewind(&place, &["--to", &listed[1], "--files", "--yes", "--force"]);
    assert_eq!(place.text("b"), "1\n");
    assert!(!place.project().join("made").exists());
    // What was overwritten by force comes back too.
    rewind(&place, &["--to", "u2", "--yes"]);
    assert_eq!((place.text("b"), place.text("made")), ("by hand\n3\n".into(), "by hand\n".into()));
}

#[test]
fn rewind_after_a_kill() {
    let place = Workplace::new();
    place.file("a", "before\n");
    turn(&place, false, "harmless", &[bash("true")]);
    let fifo = place.home().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = place.home().join("script.jsonl");
    let command =
        format!("echo after > a; echo x > b; echo go > '{}'; cat '{}'", fifo.display(), fifo.display());
    fs::write(&script, format!("{}\n", json!({"calls": [bash(&command)]}))).unwrap();
    let mut child = scripted(&place, &script, &["-c", "go"]).spawn().unwrap();
    assert_eq!(fs::read_to_string(&fifo).unwrap(), "go\n");
    child.kill().unwrap();
    child.wait().unwrap();
    let newest = points(&place).remove(0);
    let shown = rewind(&place, &["--to", &newest, "--preview"]);
    assert!(shown.contains("skip      a:") && shown.contains("cut off"), "{shown}");
    rewind(&place, &["--to", &newest, "--files", "--yes"]);
    assert_eq!(place.text("a"), "after\n");
    rewind(&place, &["--to", &newest, "--files", "--yes", "--force"]);
    assert_eq!(place.text("a"), "before\n");
    assert!(!place.project().join("b").exists());
}

/// The snapshot before a command asks `git`, which does not answer here until the user has interrupted it.
#[test]
fn interrupted_snapshot_runs_no_command() {
    let place = Workplace::new();
    place.file("a", "before\n");
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
    fs::File::open(place.project().join("a")).unwrap().set_modified(ago).unwrap();
    git(&place.project(), &["init", "-q"]);
    git(&place.project(), &["add", "-A"]);
    git(&place.project(), &["commit", "-q", "-m", "one"]);
    let (asked, never) = (place.home().join("asked"), place.home().join("never"));
    assert!(Command::new("mkfifo").args([&asked, &never]).status().unwrap().success());
    let bin = place.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let fake = format!(
        "#!/bin/sh\ncase \"$*\" in *cat-file*) echo asked > '{}'; exec cat '{}';; esac\nPATH=${{PATH#*:}} exec git \"$@\"\n",
        asked.display(),
        never.display()
    );
    fs::write(bin.join("git"), fake).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let script = place.home().join("script.jsonl");
    let lines = format!("{}\n{}\n", json!({"calls": [bash("touch ran")]}), json!({"text": "done"}));
    fs::write(&script, lines).unwrap();
    super::undo_journal::settle(&place.project());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut child = scripted(&place, &script, &["go"]).env("PATH", path).spawn().unwrap();
    let answer = Command::new("timeout").arg("60").arg("cat").arg(&asked).output().unwrap();
    assert_eq!(answer.stdout, b"asked\n");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(fs::OpenOptions::new().read(true).write(true).open(&never));
    assert!(!place.project().join("ran").exists());
    let mut files = walkdir::WalkDir::new(place.home()).into_iter().flatten().map(|entry| entry.into_path());
    let recorded = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.contains("touch ran"));
    assert!(!files.any(|path| path.iter().any(|part| part == "journal") && recorded(&path)));
}

#[test]
fn a_fork_undoes_what_came_before_it() {
    let place = Workplace::new();
    place.file("a.txt", "one\n");
    turn(&place, false, "change it", &[bash("echo two > a.txt")]);
    let script = place.home().join("script.jsonl");
    fs::write(&script, format!("{}\n", json!({"text": "done"}))).unwrap();
    assert!(scripted(&place, &script, &["-c", "--fork", "more"]).status().unwrap().success());
    let oldest = points(&place).pop().unwrap();
    rewind(&place, &["--to", &oldest, "--files", "--yes"]);
    assert_eq!(place.text("a.txt"), "one\n");
}

#[test]
fn conversation_rewind_and_revive() {
    let server = FakeServer::start(vec![
        answer().text("one").into(),
        answer().text("two").into(),
        answer().text("again").into(),
        answer().text("three").into(),
    ]);
    let place = Workplace::new();
    let url = server.base_url();
    assert!(place.exec(&url, &["first task"]).status.success());
    assert!(place.exec(&url, &["-c", "second task"]).status.success());
    let listed = points(&place);
    let done: Value =
        serde_json::from_str(&rewind(&place, &["--to", &listed[0], "--conversation", "--yes", "--json"]))
            .unwrap();
    assert_eq!((done["text"].as_str(), done["undo"].as_str()), (Some("second task"), Some("u1")));
    assert!(place.exec(&url, &["-c", "another task"]).status.success());
    rewind(&place, &["--to", "u1", "--yes"]);
    assert!(place.exec(&url, &["-c", "third task"]).status.success());
    let said: Vec<String> = server
        .requests()
        .iter()
        .map(|request| {
            let messages = request.body["messages"].as_array().unwrap();
            let texts = messages
                .iter()
                .filter(|message| message["role"] != "system")
                .map(|m| m["content"].to_string());
            texts.collect::<Vec<_>>().join("|")
        })
        .collect();
    assert!(!said[2].contains("second task") && said[2].contains("another task"), "{}", said[2]);
    assert!(said[3].contains("second task") && said[3].contains("two"), "{}", said[3]);
    assert!(!said[3].contains("another task") && said[3].contains("third task"), "{}", said[3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rewind_in_an_open_session() {
    let server = FakeServer::start(vec![
        answer().text("hello").into(),
        answer().call("Read", json!({"path": "a"})).into(),
        answer().call("Edit", json!({"path": "a", "old_string": "one", "new_string": "two"})).into(),
        answer().call("Bash", json!({"command": "mkdir new; echo made > new/made; rm b"})).into(),
        answer().text("done").into(),
        answer().text("fine").into(),
        answer().text("good").into(),
    ]);
    let place = Workplace::new();
    place.file("a", "one\n").file("b", "bee\n");
    let config = format!(
        "provider = \"openai\"\nmodel = \"m\"\nbase_url = \"{}\"\npermission = \"full\"\n",
        server.base_url()
    );
    let mut agent = TestAgent::start(&place, &config, false);
    agent.turn("hi").await;
    agent.turn("change a").await;
    agent.send(Undo::ListPoints);
    let points = agent.until(|event| match event {
        Event::RewindPoints(points) => Some(points.clone()),
        _ => None,
    });
    let points = points.await;
    assert_eq!((points.len(), points[0].title.as_str(), points[0].files), (2, "change a", 3));
    agent.send(Undo::PreviewRewind { point: points[0].id });
    let preview = agent.until(|event| match event {
        Event::RewindPreview(preview) => Some(preview.clone()),
        _ => None,
    });
    let preview = preview.await;
    let deeds: Vec<_> = preview.rows.iter().map(|row| (row.path.as_str(), row.action.into_str())).collect();
    assert_eq!(deeds, [("a", "restore"), ("b", "recreate"), ("new", "delete"), ("new/made", "delete")]);
    assert_eq!(place.text("a"), "two\n", "a preview changes nothing");
    let done = |event: &Event| match event {
        Event::Rewound(done) => Some(done.clone()),
        _ => None,
    };
    // Files alone: the model is told with the next message.
    agent.send(Undo::Rewind { point: points[0].id, part: RewindScope::Files, force: false });
    assert_eq!(agent.until(done).await.done, ["a", "b", "new/made"]);
    assert!(!place.project().join("new").exists());
    assert_eq!((place.text("a"), place.text("b")), ("one\n".to_owned(), "bee\n".to_owned()));
    agent.turn("and now?").await;
    let last = |number: usize| server.requests()[number].body["messages"].to_string();
    assert!(last(5).contains("rewound these files to an earlier state: a, b, new/made"), "{}", last(5));
    // Both: the message comes back to be changed and sent again.
    agent.send(Undo::Rewind { point: points[0].id, part: RewindScope::Both, force: false });
    let back = agent.until(done).await;
    assert_eq!((back.text.as_deref(), back.done.len()), (Some("change a"), 0));
    agent.turn("something else").await;
    assert!(last(6).contains("something else") && !last(6).contains("change a"), "{}", last(6));
}
