//! Edits and the file around them: making it, what was read before, attributes, several edits at once, huge files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use base::model::envelope::Status;
use serde_json::json;

use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;
use crate::support::tools::code;

#[tokio::test]
async fn create_without_overwriting() {
    let bench = Bench::new();
    let made =
        bench.call("Edit", json!({"path": "a/b/new.txt", "old_string": "", "new_string": "hi\n"})).await;
    assert_ok(&made);
    assert_eq!(
        (bench.text("a/b/new.txt").as_str(), made.text.as_str()),
        ("hi\n", "Created a/b/new.txt (1 line)")
    );
    let again = bench.call("Edit", json!({"path": "a/b/new.txt", "old_string": "", "new_string": "x"})).await;
    assert_error(&again, "CONFLICT", "only creates");
    bench.put("empty", "");
    assert_ok(&bench.call("Edit", json!({"path": "empty", "old_string": "", "new_string": "x"})).await);
    let nothing = bench.call("Edit", json!({"path": "n", "old_string": "", "new_string": ""})).await;
    assert_error(&nothing, "INVALID_PARAM", "both empty");
    let missing =
        bench.call("Edit", json!({"path": "a/new.txt", "old_string": "a", "new_string": "b"})).await;
    assert_error(&missing, "NOT_FOUND", "did you mean a/b/new.txt");
    assert!(!bench.path("a/new.txt").exists());
}

#[tokio::test]
async fn read_before_edit_and_staleness() {
    let bench = Bench::new();
    bench.put("f", "one\ntwo\n");
    let args = json!({"path": "f", "old_string": "one", "new_string": "1"});
    assert_error(&bench.call("Edit", args.clone()).await, "INVALID_PARAM", "has not been read yet");
    bench.read("f").await;
    // The same content written again is not a change.
    bench.put("f", "one\ntwo\n");
    assert_ok(&bench.call("Edit", args).await);
    // The own edit counts as seen.
    let next = json!({"path": "f", "old_string": "two", "new_string": "2"});
    assert_ok(&bench.call("Edit", next).await);
    bench.put("f", "1\n2\nthree\n");
    let stale = bench.call("Edit", json!({"path": "f", "old_string": "2", "new_string": "II"})).await;
    assert_error(&stale, "CONFLICT", "+three");
    assert_eq!(bench.text("f"), "1\n2\nthree\n");
    let read = bench.read("f").await;
    assert_eq!(read.data.to_map()["modified_externally"], true);
    assert_ok(&bench.call("Edit", json!({"path": "f", "old_string": "2", "new_string": "II"})).await);
    fs::remove_file(bench.path("f")).unwrap();
    let gone = bench.call("Edit", json!({"path": "f", "old_string": "II", "new_string": "2"})).await;
    assert_error(&gone, "NOT_FOUND", "no longer exists");
    // A resumed session knows what was read by its hash.
    bench.put("g", "x\n");
    bench.cx.files.remember(&bench.path("g"), &base::file::hash(b"x\n"));
    bench.cx.files.show("1\tx");
    assert_ok(&bench.call("Edit", json!({"path": "g", "old_string": "x", "new_string": "y"})).await);
}

#[tokio::test]
async fn short_answer_and_diff() {
    let bench = Bench::new();
    bench.put("src/a.py", "a\nb\nc\n");
    let preview =
        bench.preview("Edit", json!({"path": "src/a.py", "old_string": "b", "new_string": "B"})).await;
    assert!(!preview.1 && preview.0.contains("has not been read yet"));
    bench.read("src/a.py").await;
    let (diff, is_diff) =
        bench.preview("Edit", json!({"path": "src/a.py", "old_string": "b", "new_string": "B"})).await;
    assert!(is_diff && bench.text("src/a.py") == "a\nb\nc\n");
    let edited = bench.edit("src/a.py", "b", "B", false).await;
    assert_eq!(edited.wire(), "Edited src/a.py: 1 replacement (line 2)");
    assert_eq!(
        edited.data.to_map()["diff"],
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
    );
    assert_eq!(edited.data.to_map()["diff"], diff);
    assert_eq!(
        (&edited.data.to_map()["operation"], &edited.data.to_map()["replacements"]),
        (&json!("update"), &json!(1))
    );
    let shifted = bench.edit("src/a.py", "  a\n  B", "  x\n  y", false).await;
    assert!(shifted.text.contains("different indentation"), "{}", shifted.text);
}

#[tokio::test]
async fn several_edits_atomic() {
    let bench = Bench::new();
    bench.put("f", "a\nb\nc\n");
    bench.read("f").await;
    let edits = |list: &[(&str, &str)]| {
        let edits: Vec<_> = list.iter().map(|(o, n)| json!({"old_string": o, "new_string": n})).collect();
        json!({"path": "f", "edits": edits})
    };
    let failed = bench.call("MultiEdit", edits(&[("a", "A"), ("zzz", "Z")])).await;
    assert_error(&failed, "NOT_FOUND", "edit 2 of 2: ");
    assert!(failed.wire().contains("No edit was applied"));
    assert_eq!(bench.text("f"), "a\nb\nc\n");
    // Each edit sees what the ones before made.
    let done = bench.call("MultiEdit", edits(&[("a", "x"), ("x\nb", "y")])).await;
    assert_eq!(done.wire(), "Edited f: 2 edits, 2 replacements (line 1)");
    assert_eq!(bench.text("f"), "y\nc\n");
    assert_error(
        &bench.call("MultiEdit", edits(&[("y", "q"), ("q", "y")])).await,
        "INVALID_PARAM",
        "cancel each other out",
    );
    assert_error(&bench.call("MultiEdit", edits(&[])).await, "INVALID_PARAM", "empty");
    let twice = bench.call("MultiEdit", edits(&[("y\nb\n", "y\nc\n"), ("y\nbbb", "y\nc")])).await;
    assert_eq!((twice.status, &twice.data.to_map()["applied"]), (Status::Partial, &json!(false)));
    let some = bench.call("MultiEdit", edits(&[("c", "d"), ("y\nnope", "y\nd")])).await;
    assert!(some.wire().contains("edit 2 changes nothing and was skipped"), "{}", some.wire());
    assert_eq!(bench.text("f"), "y\nd\n");
    let new = json!({"path": "n", "edits": [
        {"old_string": "", "new_string": "one two"}, {"old_string": "two", "new_string": "2"}]});
    assert_ok(&bench.call("MultiEdit", new).await);
    assert_eq!(bench.text("n"), "one 2");
}

#[tokio::test]
async fn file_attributes_kept() {
    let bench = Bench::new();
    let file = bench.put("run.sh", "a\n");
    fs::set_permissions(&file, Permissions::from_mode(0o750)).unwrap();
    symlink("run.sh", bench.path("link")).unwrap();
    assert_ok(&bench.edit("link", "a", "b", false).await);
    assert!(bench.path("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!((bench.text("run.sh").as_str(), file.metadata().unwrap().mode() & 0o777), ("b\n", 0o750));
    fs::hard_link(&file, bench.path("twin")).unwrap();
    assert_ok(&bench.edit("run.sh", "b", "c", false).await);
    assert_eq!((bench.text("twin").as_str(), file.metadata().unwrap().nlink()), ("c\n", 2));
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    assert_error(&bench.edit("run.sh", "c", "d", false).await, "PERMISSION_DENIED", "read-only (mode 444)");
    assert_eq!(bench.text("run.sh"), "c\n");
    assert_eq!(bench.names("."), ["link", "run.sh", "twin"]);
    assert_error(&bench.edit(".", "a", "b", false).await, "IS_DIRECTORY", "LS");
}

#[tokio::test]
async fn huge_lines_and_files() {
    let bench = Bench::new();
    let long = format!("{}needle{}\n", "x".repeat(300_000), "y".repeat(300_000));
    bench.put("f", format!("a\n{long}b\n"));
    assert_ok(&bench.edit("f", "needle", "NEEDLE", false).await);
    assert_eq!(bench.text("f"), format!("a\n{}b\n", long.replace("needle", "NEEDLE")));
    // Arguments of megabytes are answered in a few lines, too.
    let flood = format!("{}\nq", "z".repeat(2 << 20));
    let refused = bench.edit("f", &flood, "q", false).await;
    assert!(refused.wire().len() < 4_000 && code(&refused) == "NOT_FOUND", "{}", refused.wire().len());
    assert_error(&bench.call("Read", json!({"path": flood})).await, "INVALID_PARAM", "path is longer");
    let pattern = bench.call("Grep", json!({"pattern": format!("({}", "z".repeat(2 << 20))})).await;
    assert!(pattern.wire().len() < 1_000 && code(&pattern) == "INVALID_PARAM", "{}", pattern.wire().len());
    let missing = bench.edit("f", &"x".repeat(5_000).replace("xxxxx", "xxzxx"), "q", false).await;
    assert!(missing.wire().len() < 4_000, "{}", missing.wire().len());
}
