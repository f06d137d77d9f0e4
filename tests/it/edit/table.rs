//! A table of edits over files of any shape, run through `mycode tool -` as a script would. A case is wrong if one byte is;
//! there is no partial credit.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::workplace::Workplace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The wrong thing must not happen.
    Safety,
    /// The right thing happens, byte for byte.
    Correctness,
    /// A reasonable wish is met, or the refusal helps.
    Usability,
}
pub use Kind::{Correctness as C, Safety as S, Usability as U};

pub enum Do<'a> {
    Edit(&'a str, &'a str),
    All(&'a str, &'a str),
    Multi(&'a [(&'a str, &'a str)]),
    Put(&'a str),
}
pub use Do::{All, Edit, Multi, Put};

pub enum Want<'a> {
    /// Done, and the file holds these bytes.
    Bytes(&'a [u8]),
    /// Refused; the file is as it was and the message holds this.
    No(&'a str),
    /// Nothing to do; the file is as it was and the message holds this.
    Noop(&'a str),
}
pub use Want::{Bytes, No, Noop};

pub type Case<'a> = (Kind, &'a str, &'a [u8], Do<'a>, Want<'a>);

/// Runs all cases in one process, each on a file of its own that was read first.
pub fn run(cases: &[Case]) {
    let place = Workplace::new();
    let mut calls = String::new();
    for (number, (_, _, before, action, _)) in cases.iter().enumerate() {
        let path = format!("case{number}/file.txt");
        place.file(&path, before);
        let one = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
        let (tool, args) = match action {
            Edit(old, new) => ("Edit", json!({"path": path, "old_string": old, "new_string": new})),
            All(old, new) => {
                ("Edit", json!({"path": path, "old_string": old, "new_string": new, "replace_all": true}))
            }
            Multi(edits) => {
                let edits: Vec<Value> = edits.iter().map(|(old, new)| one(old, new)).collect();
                ("MultiEdit", json!({"path": path, "edits": edits}))
            }
            Put(content) => ("Write", json!({"path": path, "content": content})),
        };
        for call in [json!({"tool": "Read", "args": {"path": path}}), json!({"tool": tool, "args": args})] {
            calls.push_str(&format!("{call}\n"));
        }
    }
    let mut child = place
        .command(&["tool", "-", "--permission", "full"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || input.write_all(calls.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len() * 2);
    let mut wrong = Vec::new();
    for (number, (kind, name, before, _, want)) in cases.iter().enumerate() {
        let answer = &answers[number * 2 + 1];
        let status = answer["status"].as_str().unwrap();
        let said = format!("{} {}", answer["text"].as_str().unwrap_or_default(), answer["error"]["message"]);
        let after = std::fs::read(place.project().join(format!("case{number}/file.txt"))).unwrap();
        let (fits, bytes) = match want {
            Bytes(bytes) => (status == "success" && answer["data"]["applied"] != json!(false), *bytes),
            No(part) => (status == "error" && said.contains(part), *before),
            Noop(part) => (status != "success" && said.contains(part), *before),
        };
        if !fits || after != bytes {
            wrong.push(format!(
                "{kind:?} {name}: {status}, {:?}, file {:?}, not {:?}",
                said.chars().take(300).collect::<String>(),
                String::from_utf8_lossy(&after[..after.len().min(200)]),
                String::from_utf8_lossy(&bytes[..bytes.len().min(200)])
            ));
        }
        let left = std::fs::read_dir(place.project().join(format!("case{number}"))).unwrap().count();
        assert_eq!(left, 1, "{name}: a temporary file stayed");
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
