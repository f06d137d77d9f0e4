//! Going back: what tools and commands changed in the workspace is put back exactly, what others changed is left alone,
//! and every rewind can itself be undone.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use mycode::model::item::ItemId;
use mycode::protocol::event::Event;
use mycode::protocol::op::Op;
use mycode::protocol::rewind::{Part, PointId};
use mycode::session::journal::lines::Line;
use mycode::session::journal::plan::{self, Plan};
use mycode::session::journal::recorder::Journal;
use mycode::session::journal::restore::{self, Outcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// Everything below a folder: kind, mode of files, content. `.git` is left out.
fn picture(root: &Path) -> BTreeMap<PathBuf, String> {
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
                "folder".to_owned()
            } else {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                format!("{mode:o} {:?}", fs::read(path).unwrap())
            };
            (path.strip_prefix(root).unwrap().to_owned(), what)
        })
        .collect()
}

/// One turn of the real program, whose model makes these calls.
fn turn(place: &Workplace, go_on: bool, task: &str, calls: &[Value]) -> Output {
    let script = place.home().join("script.jsonl");
    let lines: String = calls.iter().map(|call| format!("{}\n", json!({"calls": [call]}))).collect();
    fs::write(&script, format!("{lines}{}\n", json!({"text": "done"}))).unwrap();
    let mut args = vec!["exec", "--provider", "scripted", "-p", "full", "--script", script.to_str().unwrap()];
    if go_on {
        args.push("-c");
    }
    args.push(task);
    let output = place.command(&args).output().unwrap();
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

fn git(root: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn tools_and_commands_are_undone_and_redone() {
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
    assert!(!shown.contains("mine.txt") && !shown.contains("keep"), "{shown}");
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
fn what_others_changed_is_left_alone_unless_forced() {
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
    assert!(shown.contains("keep      b: it was changed by someone else in between"), "{shown}");
    assert!(shown.contains("keep      made: it was changed by someone else since"), "{shown}");
    let output = place.command(&["rewind", "--to", &listed[1], "--files", "--yes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "not everything was done");
    assert!(stdout(&output).contains("left alone: dir: the folder holds other files"), "{}", stdout(&output));
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
fn a_kill_in_the_middle_of_a_command_leaves_a_way_back() {
    let place = Workplace::new();
    place.file("a", "before\n");
    turn(&place, false, "harmless", &[bash("true")]);
    let fifo = place.home().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = place.home().join("script.jsonl");
    let command =
        format!("echo after > a; echo x > b; echo go > '{}'; cat '{}'", fifo.display(), fifo.display());
    fs::write(&script, format!("{}\n", json!({"calls": [bash(&command)]}))).unwrap();
    let mut child = place
        .command(&[
            "exec",
            "-c",
            "--provider",
            "scripted",
            "-p",
            "full",
            "--script",
            script.to_str().unwrap(),
            "go",
        ])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(fs::read_to_string(&fifo).unwrap(), "go\n");
    child.kill().unwrap();
    child.wait().unwrap();
    let newest = points(&place).remove(0);
    let shown = rewind(&place, &["--to", &newest, "--preview"]);
    assert!(shown.contains("keep      a:") && shown.contains("cut off"), "{shown}");
    rewind(&place, &["--to", &newest, "--files", "--yes"]);
    assert_eq!(place.text("a"), "after\n");
    rewind(&place, &["--to", &newest, "--files", "--yes", "--force"]);
    assert_eq!(place.text("a"), "before\n");
    assert!(!place.project().join("b").exists());
}

#[test]
fn the_conversation_goes_back_and_comes_again() {
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
async fn an_open_session_goes_back_and_tells_the_model() {
    let server = FakeServer::start(vec![
        answer().text("hello").into(),
        answer().call("Read", json!({"path": "a"})).into(),
        answer().call("Edit", json!({"path": "a", "old_string": "one", "new_string": "two"})).into(),
        answer().call("Bash", json!({"command": "echo made > made; rm b"})).into(),
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
    agent.send(Op::ListPoints);
    let points = agent.until(|event| match event {
        Event::RewindPoints(points) => Some(points.clone()),
        _ => None,
    });
    let points = points.await;
    assert_eq!((points.len(), points[0].title.as_str(), points[0].files), (2, "change a", 3));
    agent.send(Op::PreviewRewind { point: points[0].id });
    let preview = agent.until(|event| match event {
        Event::RewindPreview(preview) => Some(preview.clone()),
        _ => None,
    });
    let preview = preview.await;
    let deeds: Vec<_> = preview.rows.iter().map(|row| (row.path.as_str(), row.deed.as_str())).collect();
    assert_eq!(deeds, [("a", "restore"), ("b", "recreate"), ("made", "delete")]);
    assert_eq!(place.text("a"), "two\n", "a preview changes nothing");
    let done = |event: &Event| match event {
        Event::Rewound(done) => Some(done.clone()),
        _ => None,
    };
    // Files alone: the model is told with the next message.
    agent.send(Op::Rewind { point: points[0].id, part: Part::Files, force: false });
    assert_eq!(agent.until(done).await.done, ["a", "b", "made"]);
    assert_eq!((place.text("a"), place.text("b")), ("one\n".to_owned(), "bee\n".to_owned()));
    agent.turn("and now?").await;
    let last = |number: usize| server.requests()[number].body["messages"].to_string();
    assert!(last(5).contains("went back to an earlier state of these files: a, b, made"), "{}", last(5));
    // Both: the message comes back to be changed and sent again.
    agent.send(Op::Rewind { point: points[0].id, part: Part::Both, force: false });
    let back = agent.until(done).await;
    assert_eq!((back.text.as_deref(), back.done.len()), (Some("change a"), 0));
    agent.turn("something else").await;
    assert!(last(6).contains("something else") && !last(6).contains("change a"), "{}", last(6));
}

/// A journal without an agent: commands are closures.
struct Plain {
    _dir: tempfile::TempDir,
    root: PathBuf,
    journal: Journal,
    turns: u64,
}

impl Plain {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let journal = Journal::new(&dir.path().join("state"), &root);
        journal.open("s");
        Self { _dir: dir, root, journal, turns: 0 }
    }

    fn turn(&mut self, command: impl FnOnce(&Path)) -> PointId {
        self.turns += 1;
        self.journal.begin_turn(self.turns, "t");
        self.journal.before_command("command");
        command(&self.root);
        self.journal.after_command();
        PointId::Turn(ItemId(self.turns))
    }

    fn plan(&self, point: PointId) -> Plan {
        plan::plan(&self.root, self.journal.blobs(), plan::since(&self.journal.lines(), point))
    }

    fn go(&self, point: PointId, force: bool) -> Outcome {
        let plan = self.plan(point);
        let head = Line::Rewind { ms: 0, last_item: self.turns, title: String::new(), voided: None };
        restore::carry_out(&self.journal, head, &plan, force).unwrap()
    }

    fn stored(&self) -> usize {
        let files = walkdir::WalkDir::new(self.journal.folder().join("blobs")).into_iter().flatten();
        files.filter(|entry| entry.file_type().is_file()).count()
    }
}

/// Waits until the newest change is old enough to be told from one that comes now: the one time that cannot be forged.
fn settle(root: &Path) {
    let newest = || {
        let entries = walkdir::WalkDir::new(root).into_iter().flatten();
        let changed =
            entries.map(|entry| entry.metadata().unwrap()).map(|meta| (meta.ctime(), meta.ctime_nsec()));
        changed.max().map_or(0, |(seconds, nanoseconds)| seconds * 1_000_000_000 + nanoseconds)
    };
    let now =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    while now() - newest() < 55_000_000 {
        std::thread::yield_now();
    }
}

#[test]
fn ignored_files_are_not_ours_even_when_they_come_to_light() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    fs::create_dir(root.join("target")).unwrap();
    fs::write(root.join("target/out"), "built").unwrap();
    fs::write(root.join(".gitignore"), "target/\n").unwrap();
    settle(&root);
    let point = plain.turn(|root| {
        fs::write(root.join("target/out"), "built again").unwrap();
        fs::write(root.join("target/more"), "more").unwrap();
    });
    assert!(plain.plan(point).steps.is_empty());
    let point = plain.turn(|root| fs::remove_file(root.join(".gitignore")).unwrap());
    let done = plain.go(point, false);
    assert_eq!(fs::read_to_string(root.join("target/out")).unwrap(), "built again", "{done:?}");
    assert_eq!(fs::read_to_string(root.join(".gitignore")).unwrap(), "target/\n");
}

#[test]
fn tracked_files_come_from_git_and_need_no_copy() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    for n in 0..30 {
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join(format!("src/f{n}.rs")), format!("fn f{n}() {{}}\n")).unwrap();
    }
    fs::write(root.join("kept.log"), "tracked, though ignored\n").unwrap();
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    git(&root, &["init", "-q"]);
    // Git itself does not trust what changed in the moment in which it wrote its index.
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
    for entry in
        walkdir::WalkDir::new(root.join("src")).into_iter().flatten().filter(|e| e.file_type().is_file())
    {
        fs::File::open(entry.path()).unwrap().set_modified(ago).unwrap();
    }
    fs::File::open(root.join("kept.log")).unwrap().set_modified(ago).unwrap();
    git(&root, &["add", "-f", "."]);
    git(&root, &["commit", "-qm", "x"]);
    settle(&root);
    fs::write(root.join("src/f0.rs"), "dirty\n").unwrap();
    fs::write(root.join("untracked"), "new\n").unwrap();
    let before = picture(&root);
    plain.turn(|_| {});
    assert!(
        plain.stored() <= 3,
        "{} copies: only the changed, the new and perhaps .gitignore",
        plain.stored()
    );
    let point = plain.turn(|root| {
        fs::remove_dir_all(root.join("src")).unwrap();
        fs::write(root.join("kept.log"), "x").unwrap();
        fs::remove_file(root.join("untracked")).unwrap();
    });
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(picture(&root), before);
}

#[test]
fn bytes_that_git_stores_differently_are_copied() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    git(&root, &["init", "-q"]);
    fs::write(root.join(".gitattributes"), "*.txt text\n").unwrap();
    fs::write(root.join("crlf.txt"), "a\r\nb\r\n").unwrap();
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
    fs::File::open(root.join("crlf.txt")).unwrap().set_modified(ago).unwrap();
    git(&root, &["add", "."]);
    settle(&root);
    let point = plain.turn(|root| fs::write(root.join("crlf.txt"), "gone").unwrap());
    plain.go(point, false);
    assert_eq!(fs::read(root.join("crlf.txt")).unwrap(), b"a\r\nb\r\n");
}

#[test]
fn what_can_not_be_kept_is_named() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    fs::write(root.join("huge.bin"), vec![b'x'; 5 << 20]).unwrap();
    fs::write(root.join("small"), "1").unwrap();
    let point = plain.turn(|root| {
        fs::write(root.join("huge.bin"), "tiny").unwrap();
        fs::write(root.join("small"), "2").unwrap();
    });
    let step = plain.plan(point).steps.remove(0);
    assert_eq!(step.path, Path::new("huge.bin"));
    assert!(step.impossible.unwrap().contains("not kept"));
    let done = plain.go(point, true);
    assert_eq!((done.done.len(), done.left.len()), (1, 1));
    assert_eq!(fs::read_to_string(root.join("small")).unwrap(), "1");
    assert_eq!(fs::read_to_string(root.join("huge.bin")).unwrap(), "tiny");
}

#[test]
fn what_a_command_made_goes_however_large_it_is() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let point = plain.turn(|root| fs::write(root.join("huge.bin"), vec![b'x'; 5 << 20]).unwrap());
    let done = plain.go(point, false);
    assert!(done.left.is_empty() && !root.join("huge.bin").exists(), "{done:?}");
    plain.go(PointId::Rewind(1), false);
    assert_eq!(root.join("huge.bin").metadata().unwrap().len(), 5 << 20);
}

#[test]
fn nothing_is_written_through_a_link_that_took_a_folders_place() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let outside = root.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "theirs").unwrap();
    fs::create_dir(root.join("dir")).unwrap();
    fs::write(root.join("dir/f"), "old").unwrap();
    let point = plain.turn(|root| fs::write(root.join("dir/f"), "theirs").unwrap());
    fs::remove_dir_all(root.join("dir")).unwrap();
    symlink(&outside, root.join("dir")).unwrap();
    let done = plain.go(point, true);
    assert!(done.left[0].1.contains("symbolic link"), "{done:?}");
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "theirs");
}

#[test]
fn half_a_rewind_is_completed_by_doing_it_again() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    for name in ["a", "b", "c"] {
        fs::write(root.join(name), "old").unwrap();
    }
    let before = picture(&root);
    let point = plain.turn(|root| {
        for name in ["a", "b", "c"] {
            fs::write(root.join(name), "new").unwrap();
        }
        fs::write(root.join("d"), "new").unwrap();
    });
    plain.go(point, false);
    // As if the program had been killed after the first file: written down, but not done.
    fs::write(root.join("b"), "new").unwrap();
    fs::write(root.join("d"), "new").unwrap();
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(picture(&root), before);
    // Once more: there is nothing left to do.
    assert!(plain.plan(point).steps.is_empty());
}

#[test]
fn odd_names_and_modes_come_back() {
    let mut plain = Plain::new();
    let root = plain.root.clone();
    let odd = root.join(std::ffi::OsStr::from_bytes(b"caf\xe9 \n\"x"));
    fs::write(&odd, "odd").unwrap();
    fs::write(root.join("locked"), "locked").unwrap();
    fs::set_permissions(root.join("locked"), Permissions::from_mode(0o444)).unwrap();
    fs::write(root.join("open"), "open").unwrap();
    let before = picture(&root);
    let point = plain.turn(|root| {
        fs::remove_file(&odd).unwrap();
        fs::remove_file(root.join("locked")).unwrap();
        fs::write(root.join("open"), "changed").unwrap();
        fs::set_permissions(root.join("open"), Permissions::from_mode(0o400)).unwrap();
    });
    let done = plain.go(point, false);
    assert!(done.left.is_empty(), "{done:?}");
    assert_eq!(picture(&root), before);
}

#[test]
fn the_journal_is_private() {
    let mut plain = Plain::new();
    fs::write(plain.root.join("a"), "secret").unwrap();
    plain.turn(|root| fs::write(root.join("a"), "other").unwrap());
    for entry in walkdir::WalkDir::new(plain.journal.folder()).into_iter().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let want = if entry.file_type().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, want, "{}", entry.path().display());
    }
}

/// One thing that a command does; what is not possible is left out.
#[derive(Clone, Debug)]
enum Act {
    Write(usize, u8),
    Append(usize),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Folder(usize),
    Mode(usize, bool),
}

const NAMES: [&str; 8] = ["a", "b", "d/a", "d/b", "d/e/f", "d", "g/h", "a b"];

fn act(root: &Path, act: &Act) {
    let at = |name: &usize| root.join(NAMES[*name]);
    let parent = |path: &Path| drop(fs::create_dir_all(path.parent().unwrap()));
    match act {
        Act::Write(name, byte) => {
            parent(&at(name));
            if !at(name).is_symlink() {
                let _ = fs::write(at(name), [*byte; 3]);
            }
        }
        Act::Append(name) => {
            if let (false, Ok(mut bytes)) = (at(name).is_symlink(), fs::read(at(name))) {
                bytes.extend(b"line\n");
                let _ = fs::write(at(name), bytes);
            }
        }
        Act::Remove(name) => {
            let _ = fs::remove_file(at(name));
            let _ = fs::remove_dir_all(at(name));
        }
        Act::Rename(from, to) => {
            parent(&at(to));
            let _ = fs::rename(at(from), at(to));
        }
        Act::Link(name, to) => {
            parent(&at(name));
            let _ = symlink(NAMES[*to], at(name));
        }
        Act::Folder(name) => drop(fs::create_dir_all(at(name))),
        Act::Mode(name, on) => {
            if at(name).is_file() && !at(name).is_symlink() {
                let _ =
                    fs::set_permissions(at(name), Permissions::from_mode(if *on { 0o755 } else { 0o644 }));
            }
        }
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let name = || 0..NAMES.len();
    proptest::collection::vec(
        prop_oneof![
            (name(), any::<u8>()).prop_map(|(n, b)| Act::Write(n, b)),
            name().prop_map(Act::Append),
            name().prop_map(Act::Remove),
            (name(), name()).prop_map(|(a, b)| Act::Rename(a, b)),
            (name(), name()).prop_map(|(a, b)| Act::Link(a, b)),
            name().prop_map(Act::Folder),
            (name(), any::<bool>()).prop_map(|(n, on)| Act::Mode(n, on)),
        ],
        0..7,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever commands did: going back gives the very tree, and undoing that the tree before.
    #[test]
    fn any_turns_can_be_undone_and_redone(turns in proptest::collection::vec(acts(), 1..5), back in 0_usize..5, again in 0_usize..5) {
        let mut plain = Plain::new();
        let root = plain.root.clone();
        let mut pictures = Vec::new();
        let mut points = Vec::new();
        for turn in &turns {
            pictures.push(picture(&root));
            points.push(plain.turn(|root| turn.iter().for_each(|one| act(root, one))));
        }
        let last = picture(&root);
        let (back, again) = (back % points.len(), again % points.len());
        let done = plain.go(points[back], false);
        prop_assert!(done.left.is_empty(), "{:?}", done);
        prop_assert_eq!(&picture(&root), &pictures[back]);
        plain.go(PointId::Rewind(1), false);
        prop_assert_eq!(&picture(&root), &last);
        plain.go(points[again], false);
        prop_assert_eq!(&picture(&root), &pictures[again]);
    }
}
