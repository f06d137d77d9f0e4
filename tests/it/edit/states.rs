//! Edits and the world around the file: links, permissions, attributes, other writers, odd paths. And the properties that
//! hold for any file in any encoding.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use base::format::encoding::{Encoding, encode};
use base::model::envelope::Status;
use proptest::prelude::*;
use serde_json::json;

use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;
use crate::support::tools::code;

#[tokio::test]
async fn links_edited_at_their_target() {
    let bench = Bench::new();
    let outside = bench.root.parent().unwrap().join("outside.txt");
    fs::write(&outside, "out\n").unwrap();
    bench.put("real.txt", "in\n");
    fs::create_dir(bench.path("dir")).unwrap();
    symlink("../real.txt", bench.path("dir/up")).unwrap();
    symlink("dir/up", bench.path("chain")).unwrap();
    symlink(&outside, bench.path("far")).unwrap();
    symlink("loop_b", bench.path("loop_a")).unwrap();
    symlink("loop_a", bench.path("loop_b")).unwrap();
    symlink("not/there", bench.path("dangling")).unwrap();
    assert_ok(&bench.edit("chain", "in", "IN", false).await);
    assert_eq!(bench.text("real.txt"), "IN\n");
    for link in ["chain", "dir/up", "far"] {
        assert!(bench.path(link).symlink_metadata().unwrap().is_symlink(), "{link}");
    }
    assert!(matches!(code(&bench.edit("loop_a", "a", "b", false).await), "EXECUTION_ERROR" | "NOT_FOUND"));
    // What was read under one name may be edited under the other.
    bench.read("real.txt").await;
    assert_ok(&bench.call("Edit", json!({"path": "dir/up", "old_string": "IN", "new_string": "2"})).await);
    assert_eq!(bench.text("real.txt"), "2\n");
    let made = bench.call("Write", json!({"path": "dangling", "content": "x"})).await;
    assert_ok(&made);
    assert_eq!(bench.text("not/there"), "x");
    assert!(bench.path("dangling").symlink_metadata().unwrap().is_symlink());
}

#[tokio::test]
async fn hard_links_owners_and_attributes() {
    let bench = Bench::new();
    let file = bench.put("a", "one\n");
    fs::hard_link(&file, bench.path("twin")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o6751)).unwrap();
    let before = file.metadata().unwrap();
    assert_ok(&bench.edit("a", "one", "two", false).await);
    let after = file.metadata().unwrap();
    assert_eq!(
        (after.ino(), after.nlink(), after.uid(), after.gid()),
        (before.ino(), 2, before.uid(), before.gid())
    );
    assert_eq!(after.mode() & 0o777, 0o751);
    assert_eq!(bench.text("twin"), "two\n");
    let tagged = bench.put("tagged", "one\n");
    if rustix_xattr(&tagged) {
        assert_ok(&bench.edit("tagged", "one", "two", false).await);
        let shown = Command::new("getfattr").args(["-n", "user.note"]).arg(&tagged).output();
        assert!(
            shown.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("keep")),
            "the attribute is gone"
        );
    }
    assert_eq!(bench.names("."), ["a", "tagged", "twin"]);
}

/// Whether an attribute could be set: not every file system and machine can.
fn rustix_xattr(path: &std::path::Path) -> bool {
    let set = Command::new("setfattr").args(["-n", "user.note", "-v", "keep"]).arg(path).output();
    set.is_ok_and(|out| out.status.success())
}

#[tokio::test]
async fn missing_files() {
    let bench = Bench::new();
    assert!(Command::new("mkfifo").arg(bench.path("pipe")).status().unwrap().success());
    bench.put("plain", "x\n");
    fs::create_dir(bench.path("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("sock")).unwrap();
    for (path, want) in [
        ("pipe", "INVALID_PARAM"),
        ("sock", "INVALID_PARAM"),
        ("/dev/null", "INVALID_PARAM"),
        ("/dev/zero", "INVALID_PARAM"),
        ("folder", "IS_DIRECTORY"),
        (".", "IS_DIRECTORY"),
        ("plain/inside", "EXECUTION_ERROR"),
        ("", "INVALID_PARAM"),
        ("  ", "INVALID_PARAM"),
        ("a\0b", "INVALID_PARAM"),
    ] {
        let edit = bench.call("Edit", json!({"path": path, "old_string": "x", "new_string": "y"})).await;
        assert_eq!(code(&edit), want, "Edit {path:?}: {}", edit.wire());
        let write = bench.call("Write", json!({"path": path, "content": "y"})).await;
        assert_eq!(code(&write), want, "Write {path:?}: {}", write.wire());
    }
    let slash = bench.call("Write", json!({"path": "new/", "content": "y"})).await;
    assert_error(&slash, "INVALID_PARAM", "name a file");
    let long = "n".repeat(300);
    let write = bench.call("Write", json!({"path": format!("deep/er/{long}"), "content": "y"})).await;
    assert_error(&write, "EXECUTION_ERROR", "too long");
    assert!(!bench.path("deep").exists(), "folders of a failed write go again");
    assert_eq!(bench.names("."), ["folder", "pipe", "plain", "sock"]);
}

#[tokio::test]
async fn odd_paths() {
    let bench = Bench::new();
    bench.put("sub/f.txt", "a\n");
    for (number, path) in
        ["sub/f.txt", "./sub//f.txt", "sub/../sub/f.txt", "sub/./f.txt", "nowhere/../sub/f.txt"]
            .iter()
            .enumerate()
    {
        bench.put("sub/f.txt", "a\n");
        bench.read("sub/f.txt").await;
        let new = format!("n{number}");
        let done = bench.call("Edit", json!({"path": path, "old_string": "a", "new_string": new})).await;
        assert_ok(&done);
        assert_eq!(bench.text("sub/f.txt"), format!("{new}\n"), "{path}");
        assert_eq!(done.data.to_map()["path"], "sub/f.txt");
    }
    let absolute = bench.path("sub/f.txt");
    assert_ok(&bench.edit(absolute.to_str().unwrap(), "n4", "b", false).await);
    // A name that only looks like the home folder or a variable is a name.
    assert_ok(&bench.call("Write", json!({"path": "~x/$HOME/*.txt", "content": "y"})).await);
    assert_eq!(bench.text("~x/$HOME/*.txt"), "y");
    // Another case is another file.
    let other = bench.call("Edit", json!({"path": "SUB/F.txt", "old_string": "b", "new_string": "c"})).await;
    assert_error(&other, "NOT_FOUND", "did you mean sub/f.txt");
    assert_ok(&bench.call("Write", json!({"path": "Sub/f.txt", "content": "other\n"})).await);
    assert_eq!(bench.text("sub/f.txt"), "b\n");
    assert_ok(&bench.call("Write", json!({"path": " lead and trail ", "content": "y"})).await);
}

#[tokio::test]
async fn read_only_files() {
    let bench = Bench::new();
    let file = bench.put("locked", "x\n");
    fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
    assert_error(&bench.edit("locked", "x", "y", false).await, "PERMISSION_DENIED", "read-only");
    let write = bench.call("Write", json!({"path": "locked", "content": "y"})).await;
    assert_error(&write, "PERMISSION_DENIED", "read-only");
    assert_eq!((bench.text("locked").as_str(), file.metadata().unwrap().mode() & 0o777), ("x\n", 0o444));
}

#[tokio::test]
async fn file_changed_its_kind() {
    let bench = Bench::new();
    bench.put("f", "x\n");
    bench.read("f").await;
    fs::remove_file(bench.path("f")).unwrap();
    fs::create_dir(bench.path("f")).unwrap();
    let edit = bench.call("Edit", json!({"path": "f", "old_string": "x", "new_string": "y"})).await;
    assert_eq!(code(&edit), "IS_DIRECTORY", "{}", edit.wire());
    bench.put("g", "x\n");
    bench.read("g").await;
    // The same length and the same time stamp, but other bytes.
    let time = bench.path("g").metadata().unwrap().modified().unwrap();
    bench.put("g", "z\n");
    fs::File::options().write(true).open(bench.path("g")).unwrap().set_modified(time).unwrap();
    let stale = bench.call("Edit", json!({"path": "g", "old_string": "z", "new_string": "y"})).await;
    assert_error(&stale, "CONFLICT", "-x");
    assert_eq!(bench.text("g"), "z\n");
    let stale = bench.call("Write", json!({"path": "g", "content": "y\n"})).await;
    assert_error(&stale, "CONFLICT", "changed on disk");
    // The whole change was shown.
    assert_ok(&bench.call("Edit", json!({"path": "g", "old_string": "z", "new_string": "y"})).await);
    // Nor is a file overwritten that came into being meanwhile.
    bench.put("h", "theirs\n");
    let unseen = bench.call("Write", json!({"path": "h", "content": "mine\n"})).await;
    assert_error(&unseen, "INVALID_PARAM", "has not been read yet");
    assert_eq!(bench.text("h"), "theirs\n");
}

#[tokio::test]
async fn simultaneous_writers() {
    let bench = Bench::new();
    let body: String = (0..20).map(|n| format!("slot{n:02} = 0\n")).collect();
    bench.put("f", &body);
    bench.read("f").await;
    let edits = (0..20).map(|n| {
        let args = json!({"path": "f", "old_string": format!("slot{n:02} = 0"), "new_string": format!("slot{n:02} = {}", n + 1)});
        bench.call("Edit", args)
    });
    for done in futures_util::future::join_all(edits).await {
        assert_ok(&done);
    }
    let want: String = (0..20).map(|n| format!("slot{n:02} = {}\n", n + 1)).collect();
    assert_eq!(bench.text("f"), want);
    assert_eq!(bench.names("."), ["f"]);
}

fn bytes_in(encoding: Encoding) -> impl Fn(&str) -> Vec<u8> {
    move |text| encode(text, encoding).unwrap()
}

fn encodings() -> impl Strategy<Value = Encoding> {
    prop_oneof![
        Just(Encoding::Utf8),
        Just(Encoding::Utf8Bom),
        Just(Encoding::Utf16Le),
        Just(Encoding::Utf16Be),
        Just(Encoding::Windows1252)
    ]
}

/// Lines with ends of their own; the letters are in every encoding.
fn lines() -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let end = prop_oneof![3 => Just("\n"), 2 => Just("\r\n")];
    prop::collection::vec(("[ \t]{0,4}[a-zéß$%\\\\]{0,6}[ \t]{0,2}", end), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A run of lines, given with plain line feeds, replaced in a file of any encoding: exactly these bytes change.
    #[test]
    fn a_true_edit_changes_its_bytes_and_no_others(
        lines in lines(), encoding in encodings(), from in any::<prop::sample::Index>(), count in 1_usize..4, new in "[a-zéß$\\\\%{}]{1,8}", bare in any::<bool>()
    ) {
        let from = from.index(lines.len());
        let to = (from + count).min(lines.len());
        let mut lines = lines;
        // Unique, and in Windows-1252 never valid UTF-8.
        lines[from].0.push_str("@éÿ@");
        if bare && to == lines.len() {
            lines[to - 1].1 = "";
        }
        let text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        let old: Vec<&str> = lines[from..to].iter().map(|(line, _)| line.as_str()).collect();
        let (head, tail): (String, String) = (
            lines[..from].iter().map(|(line, end)| format!("{line}{end}")).collect(),
            lines[to..].iter().map(|(line, end)| format!("{line}{end}")).collect(),
        );
        // The end of the last line stays with the file.
        let last_end = lines[to - 1].1;
        let want = format!("{head}{new}{last_end}{tail}");
        let bytes = bytes_in(encoding);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bench = Bench::new();
        bench.put("f", bytes(&text));
        let done = runtime.block_on(bench.edit("f", &old.join("\n"), &new, false));
        prop_assert_eq!(done.status, Status::Success, "{}: {:?}", done.wire(), text);
        prop_assert_eq!(bench.bytes("f"), bytes(&want), "{:?} in {:?}", old, text);
    }

    /// Text that is not there is never taken for text that is.
    #[test]
    fn what_is_not_there_is_never_replaced(
        lines in lines(), encoding in encodings(), from in any::<prop::sample::Index>(), count in 1_usize..4, at in any::<prop::sample::Index>(), all in any::<bool>()
    ) {
        let from = from.index(lines.len());
        let to = (from + count).min(lines.len());
        let mut lines = lines;
        lines[0].0.push_str("éÿ");
        let text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        let mut old: String = lines[from..to].iter().map(|(line, _)| format!("{line}\n")).collect();
        let mut place = at.index(old.len() + 1);
        while !old.is_char_boundary(place) {
            place -= 1;
        }
        old.insert(place, 'Q');
        let bytes = bytes_in(encoding)(&text);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bench = Bench::new();
        bench.put("f", &bytes);
        let done = runtime.block_on(bench.edit("f", &old, "replaced", all));
        prop_assert_eq!(done.status, Status::Error, "{}", done.wire());
        prop_assert_eq!(bench.bytes("f"), bytes);
    }
}
