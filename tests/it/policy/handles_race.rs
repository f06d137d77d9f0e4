//! File tools against somebody who exchanges a folder with a link to another place while they work, as a confined background
//! command can: whatever was judged is what is read and written, or nothing is.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use base::model::item::ItemId;
use base::protocol::rewind::PointId;
use context::session::journal::record::JournalRecord;
use context::session::journal::recorder::Journal;
use context::session::journal::restore;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::support::workplace::Workplace;

/// What only stands outside, in a file's text and in a file's name.
const OUTSIDE_TEXT: &str = "text-of-outside";
const OUTSIDE_NAME: &str = "name-of-outside";
const CALLS: usize = 1_000;

/// Every file below `folder` with its bytes.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(folder).into_iter().flatten();
    entries.map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap_or_default())).collect()
}

/// The `n`th call: each kind again and again, through the folder that is exchanged.
fn call(n: usize) -> (&'static str, Value) {
    match n % 10 {
        0 => ("Read", json!({"path": "d/f.txt"})),
        1 => ("Write", json!({"path": "d/f.txt", "content": format!("inside {n}\n")})),
        2 => ("Write", json!({"path": format!("d/new-{n}.txt"), "content": "inside\n"})),
        3 => ("Read", json!({"path": "d/f.txt"})),
        4 => {
            ("Edit", json!({"path": "d/f.txt", "old_string": "inside", "new_string": format!("inside {n}")}))
        }
        5 => ("Write", json!({"path": format!("d/deep-{n}/new.txt"), "content": "inside\n"})),
        6 => ("Grep", json!({"pattern": "outside|inside", "path": if n % 20 == 6 { "." } else { "d" }})),
        7 => ("Glob", json!({"pattern": if n % 20 == 7 { "**/*" } else { "d/**/*" }, "limit": 500})),
        8 => ("LS", json!({"path": "d"})),
        // A name that is not there leads to a search for one like it.
        _ => ("Read", json!({"path": format!("d/{}", if n % 20 == 9 { OUTSIDE_NAME } else { "g.txt" })})),
    }
}

/// Runs calls through `mycode tool -`, one process for all.
fn run(place: &Workplace, calls: &[(&str, Value)]) -> Vec<Value> {
    let mut child = place
        .command(&["tool", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String =
        calls.iter().map(|(tool, args)| format!("{}\n", json!({"tool": tool, "args": args}))).collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect()
}

/// What `work` gives while `folder` and `link` change places, over and over.
/// Ends the exchanging when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn while_exchanged<T>(folder: &Path, link: &Path, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    // The work may be putting one of the two back at this moment.
    let exchange = || match renameat_with(CWD, folder, CWD, link, RenameFlags::EXCHANGE) {
        Err(error) if error != rustix::io::Errno::NOENT => panic!("{error}"),
        _ => {}
    };
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                exchange();
            }
        });
        // Also when the work fails: the scope waits for the thread.
        let _end = End(&done);
        work()
    });
    if folder.is_symlink() {
        exchange();
    }
    result
}

fn assert_untouched(outside: &Path, before: &BTreeMap<PathBuf, Vec<u8>>) {
    let now = everything(outside);
    let changed = now.iter().filter(|(path, bytes)| before.get(*path) != Some(*bytes)).map(|(path, _)| path);
    let changed: Vec<&PathBuf> = changed.collect();
    assert!(changed.is_empty(), "{} written outside: {changed:?}", changed.len());
    assert_eq!(now.len(), before.len(), "something outside is gone");
}

#[test]
fn a_folder_that_is_exchanged_with_a_link_leads_nobody_outside() {
    let place = Workplace::new();
    let outside = place.home().join("private");
    fs::create_dir(&outside).unwrap();
    for name in ["f.txt", "g.txt", OUTSIDE_NAME] {
        fs::write(outside.join(name), format!("inside {OUTSIDE_TEXT}\n")).unwrap();
    }
    place.file("d/f.txt", "inside\n").file("d/g.txt", "inside\n");
    let (folder, link) = (place.project().join("d"), place.project().join("l"));
    symlink(&outside, &link).unwrap();
    let before = everything(&outside);

    let calls: Vec<_> = (0..CALLS).map(call).collect();
    let results = while_exchanged(&folder, &link, || run(&place, &calls));

    assert_untouched(&outside, &before);
    assert_eq!(results.len(), CALLS);
    let mut succeeded = 0;
    for ((tool, args), result) in calls.iter().zip(&results) {
        // What a call repeats of its arguments is not news.
        let said = json!([result["data"], result["text"], result["error"]]).to_string();
        let seen = [OUTSIDE_TEXT, OUTSIDE_NAME].iter().any(|mark| said.contains(mark));
        assert!(
            !seen || args.to_string().contains(OUTSIDE_NAME) && !said.contains(OUTSIDE_TEXT),
            "{tool} {args}: {result}"
        );
        let code = result["error"]["code"].as_str().unwrap_or_default();
        let repairable = [
            "",
            "NOT_FOUND",
            "CONFLICT",
            "PERMISSION_DENIED",
            "ACCESS_DENIED",
            "INVALID_PARAM",
            "EXECUTION_ERROR",
        ];
        assert!(repairable.contains(&code), "{tool} {args}: {result}");
        succeeded += usize::from(result["status"] == "success");
    }
    assert!(succeeded > 0, "no call got through");

    // When it is over, everything is as it always is, and nothing was left lying about.
    let after = run(&place, &[call(0), call(1), call(8)]);
    assert!(after.iter().all(|result| result["status"] == "success"), "{after:?}");
    let left: Vec<PathBuf> = everything(&place.project()).into_keys().collect();
    assert!(!left.iter().any(|path| path.to_string_lossy().contains(".mycode-")), "{left:?}");
}

/// What a killed process leaves of a write: its temporary files in the project.
fn temporary(place: &Workplace) -> Vec<String> {
    let mut names = crate::support::tools::names(&place.project());
    names.retain(|name| name.starts_with(".mycode-"));
    names
}

#[test]
fn what_a_killed_write_leaves_goes_with_the_next_write() {
    let place = Workplace::new();
    let large = json!({"tool": "Write", "args": {"path": "large.txt", "content": "line\n".repeat(1 << 19)}});
    // A kill may come too late; then the file is there, and nothing else.
    for _ in 0..100 {
        let _ = fs::remove_file(place.project().join("large.txt"));
        let mut child =
            place.command(&["tool", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        writeln!(child.stdin.as_ref().unwrap(), "{large}").unwrap();
        while temporary(&place).is_empty()
            && child.try_wait().unwrap().is_none()
            && !place.project().join("large.txt").exists()
        {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if !temporary(&place).is_empty() {
            break;
        }
    }
    assert!(!temporary(&place).is_empty(), "no write was ever seen under way");
    assert!(!place.project().join("large.txt").exists(), "half a file was put in place");
    let own = [".mycode-notes.tmp", "mycode-write-0123456789abcdef.tmp"];
    for name in own {
        place.file(name, "the user's");
    }
    let written = run(&place, &[("Write", json!({"path": "small.txt", "content": "x"}))]);
    assert_eq!(written[0]["status"], "success", "{written:?}");
    let left = crate::support::tools::names(&place.project());
    assert_eq!(left, [own[0], own[1], "small.txt"]);
}

#[test]
fn notes_stay_in_the_project_when_their_folder_is_exchanged() {
    let place = Workplace::new();
    let outside = place.home().join("private");
    fs::create_dir_all(outside.join("archive")).unwrap();
    fs::write(outside.join("n.md"), OUTSIDE_TEXT).unwrap();
    place.file(".mycode/notes/archive/n.md", "inside");
    let (folder, link) = (place.project().join(".mycode/notes"), place.project().join(".mycode/l"));
    symlink(&outside, &link).unwrap();
    let before = everything(&outside);
    let calls: Vec<_> = (0..150)
        .map(|n| match n % 3 {
            0 => ("Note", json!({"action": "create", "title": format!("n{n}"), "content": "inside"})),
            1 => ("Note", json!({"action": "search", "query": "inside outside text"})),
            _ => ("Note", json!({"action": "list"})),
        })
        .collect();
    let results = while_exchanged(&folder, &link, || run(&place, &calls));
    assert_untouched(&outside, &before);
    assert!(!json!(results).to_string().contains(OUTSIDE_TEXT));
}

#[test]
fn a_rewind_stays_in_the_workspace_when_a_folder_is_exchanged() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let (root, outside) = (top.join("work"), top.join("outside"));
    let (folder, link) = (root.join("d"), root.join("l"));
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir(&outside).unwrap();
    let file = |folder: &Path, n: usize| folder.join(format!("f{n}"));
    for n in 0..200 {
        fs::write(file(&folder, n), format!("old {n}")).unwrap();
        fs::write(file(&outside, n), format!("{OUTSIDE_TEXT} {n}")).unwrap();
    }
    symlink(&outside, &link).unwrap();
    let before = everything(&outside);
    let journal = Journal::new(&top.join("state"), &root);
    journal.open("s");
    let turn = |number: u64, change: &dyn Fn()| {
        journal.begin_turn(number, "t");
        journal.before_command("command", &AtomicBool::new(false));
        change();
        journal.after_command();
    };
    let rewind = |number: u64| {
        let lines = journal.lines();
        let lines = restore::since(&lines, PointId::Turn(ItemId(number)));
        let plan = restore::plan(&root, journal.blobs(), lines);
        let head = JournalRecord::Rewind { ms: 0, last_item: number, title: String::new(), voided: None };
        restore::carry_out(&journal, head, &plan, true).unwrap()
    };
    turn(1, &|| {
        for n in 0..200 {
            match n % 3 {
                0 => fs::remove_file(file(&folder, n)).unwrap(),
                1 => fs::write(file(&folder, n), "new").unwrap(),
                _ => fs::write(folder.join(format!("new{n}")), "new").unwrap(),
            }
        }
    });
    while_exchanged(&folder, &link, || {
        for number in 2..12 {
            rewind(1);
            turn(number, &|| ());
        }
    });
    assert_untouched(&outside, &before);
    let kept = everything(&top.join("state"));
    let seen = kept.values().filter(|bytes| String::from_utf8_lossy(bytes).contains(OUTSIDE_TEXT)).count();
    assert_eq!(seen, 0, "copied into the journal");
}
