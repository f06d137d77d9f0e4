//! Finding files with a long past, with a moved one, and where nothing can be kept.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use evidence::rank::locate::Project;

use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

fn git(root: &Path, args: &[&str], input: &str) {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(args).stdin(Stdio::piped()).stdout(Stdio::null());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "git {args:?}");
}

/// Commits as `git fast-import` takes them: a message and the changes of each.
fn import(root: &Path, commits: &[(&str, &str)]) {
    let mut stream = String::new();
    for (number, (message, changes)) in commits.iter().enumerate() {
        let time = 1_000_000 + number;
        stream.push_str(&format!("commit refs/heads/main\ncommitter T <t@x.example> {time} +0000\n"));
        stream.push_str(&format!("data {}\n{message}\n{changes}\n", message.len()));
    }
    git(root, &["init", "-q", "-b", "main"], "");
    git(root, &["fast-import", "--quiet"], &stream);
    git(root, &["reset", "-q", "--hard", "main"], "");
}

fn added(path: &str, text: &str) -> String {
    format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len())
}

#[test]
fn renamed_file_keeps_its_history() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    let other = added("shop/shelf.py", "def place(loaf):\n    return loaf\n");
    let first = added("shop/till.py", "def ring(sum):\n    return sum\n");
    let commits = [
        ("Shelves", other.as_str()),
        ("Vouchers expire at midnight", first.as_str()),
        ("A better name", "R shop/till.py counter/register.py\n"),
    ];
    import(&root, &commits);
    let project = Project::open(&root, &dir.path().join("state")).unwrap();
    let hits = project.locate("Vouchers expire too early", 5).unwrap();
    assert_eq!(hits[0].0.path, "counter/register.py");
}

#[test]
fn long_history_is_continued() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    let changes: Vec<String> =
        (0..2_300).map(|number| added("shop/till.py", &format!("total = {number}\n"))).collect();
    let mut commits: Vec<(&str, &str)> = changes.iter().map(|change| ("Again", change.as_str())).collect();
    let state = dir.path().join("state");
    import(&root, &commits);
    let project = Project::open(&root, &state).unwrap();
    assert_eq!(project.history.commits.len(), 2_300);
    let last = added("shop/oven.py", "heat = 1\n");
    commits.push(("Hot", &last));
    git(&root, &["update-ref", "-d", "refs/heads/main"], "");
    import(&root, &commits);
    let again = Project::open(&root, &state).unwrap();
    assert_eq!(again.history.commits.len(), 2_301);
    assert_eq!(
        again.history.commits[1..],
        project.history.commits[..]
            .iter()
            .map(|commit| {
                let mut moved = commit.clone();
                // Numbers are given anew; what they stand for is the same.
                moved.terms.iter_mut().for_each(|(term, _)| *term += 1);
                moved.files.iter_mut().for_each(|file| *file += 1);
                moved
            })
            .collect::<Vec<_>>()
    );
}

#[test]
fn unwritable_state_folder() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("oven.py"), "def heat_oven():\n    pass\n").unwrap();
    // A file where the folder should be: not even root can write there.
    let state = dir.path().join("state");
    fs::write(&state, "").unwrap();
    let project = Project::open(&root, &state).unwrap();
    assert!(project.unkept.is_some());
    assert_eq!(project.locate("heat_oven is slow", 3).unwrap()[0].0.path, "oven.py");
    assert_eq!(fs::read_to_string(&state).unwrap(), "");
}

#[test]
fn any_query_is_answered() {
    let place = Workplace::new();
    let folder = place.project().join("shop");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("oven.py"), "def heat_oven():\n    pass\n").unwrap();
    let long = "heat_oven is slow. ".repeat(6_000);
    for text in
        ["🥐", "烤箱太慢", "--", "a", &long, "Traceback:\n  File \"shop/oven.py\", line 2, in heat_oven\n"]
    {
        let mut child = place
            .command(&["locate", "--json", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{text:.20}: {}", stderr(&output));
        assert!(serde_json::from_str::<serde_json::Value>(&stdout(&output)).unwrap().is_array());
    }
    let output = place.command(&["locate", "  "]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
