//! Write, and what the disk can do to a writer.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use base::model::envelope::Status;
use serde_json::json;

use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;

#[tokio::test]
async fn write_creates_and_replaces() {
    let bench = Bench::new();
    let made = bench.call("Write", json!({"path": "x/y/z.txt", "content": "a\nb"})).await;
    assert_eq!(made.wire(), "Created x/y/z.txt (2 lines)");
    assert_eq!(
        (bench.text("x/y/z.txt").as_str(), &made.data.to_map()["operation"]),
        ("a\nb", &json!("create"))
    );
    // What was just written counts as seen.
    let replaced = bench.call("Write", json!({"path": "x/y/z.txt", "content": "c\n"})).await;
    assert_eq!(
        (replaced.wire().as_ref(), &replaced.data.to_map()["operation"]),
        ("Wrote x/y/z.txt (1 line, was 2)", &json!("update"))
    );
    let same = bench.call("Write", json!({"path": "x/y/z.txt", "content": "c\n"})).await;
    assert_eq!((same.status, &same.data.to_map()["applied"]), (Status::Partial, &json!(false)));
    bench.put("old", "x");
    let unread = bench.call("Write", json!({"path": "old", "content": "y"})).await;
    assert_error(&unread, "INVALID_PARAM", "has not been read yet");
    bench.read("old").await;
    bench.put("old", "changed by someone");
    assert_error(&bench.call("Write", json!({"path": "old", "content": "y"})).await, "CONFLICT", "-x");
    assert_eq!(bench.text("old"), "changed by someone");
    bench.put("empty", "");
    assert_ok(&bench.call("Write", json!({"path": "empty", "content": "y"})).await);
}

#[tokio::test]
async fn a_refused_write_keeps_its_content() {
    let bench = Bench::new();
    bench.put("a.txt", "old\n");
    let refused = bench.call("Write", json!({"path": "a.txt", "content": "new\n"})).await;
    assert_error(&refused, "INVALID_PARAM", "Your content is kept");
    // What happened to the file since then would be lost.
    bench.put("a.txt", "theirs\n");
    bench.read("a.txt").await;
    let bare = json!({"path": "a.txt"});
    assert_error(&bench.call("Write", bare.clone()).await, "INVALID_PARAM", "content is missing");
    bench.put("a.txt", "old\n");
    bench.read("a.txt").await;
    assert_ok(&bench.call("Write", bare.clone()).await);
    assert_eq!(bench.text("a.txt"), "new\n");
    assert_error(&bench.call("Write", bare).await, "INVALID_PARAM", "content is missing");
}

/// Macs and archives store an accented letter as two characters; models write one.
#[tokio::test]
async fn accents_stored_otherwise_make_no_second_file() {
    let bench = Bench::new();
    let stored = "cafe\u{301}/re\u{301}sume\u{301}.txt";
    bench.put(stored, "old\n");
    let typed = "caf\u{e9}/r\u{e9}sum\u{e9}.txt";
    assert!(bench.read(typed).await.wire().contains("old"));
    let found = bench.call("Glob", json!({"pattern": "**/r\u{e9}s*.txt"})).await;
    assert!(found.wire().contains(stored), "{}", found.wire());
    assert_ok(&bench.edit(typed, "old", "new", false).await);
    assert_ok(&bench.call("Write", json!({"path": typed, "content": "whole\n"})).await);
    assert_eq!(bench.text(stored), "whole\n");
    assert_eq!((bench.names("").len(), bench.names("cafe\u{301}").len()), (1, 1));
}

#[tokio::test]
async fn placeholders_replace_no_file() {
    let bench = Bench::new();
    let whole = "def a():\n    return 1\n\n\ndef b():\n    return 2\n\n\ndef c():\n    return 3\n";
    for line in [
        "# ... rest of the file unchanged",
        "# existing code remains the same",
        "    # ... (rest unchanged)",
        "# The rest of the functions stay as before",
        "// ... existing code ...",
    ] {
        bench.put("a.py", whole);
        bench.read("a.py").await;
        let content = format!("def a():\n    return 7\n\n{line}\n");
        let refused = bench.call("Write", json!({"path": "a.py", "content": content})).await;
        assert_error(&refused, "INVALID_PARAM", "Write replaces the whole file. Nothing was written");
        assert_eq!(bench.text("a.py"), whole);
    }
    for line in [
        "# Unchanged rows are skipped here",
        "# rest api",
        "# The existing user stays logged in",
        "print('rest')",
    ] {
        bench.put("a.py", whole);
        bench.read("a.py").await;
        let content = format!("def a():\n    return 7\n\n{line}\n");
        let done = bench.call("Write", json!({"path": "a.py", "content": content})).await;
        assert!(done.error.is_none(), "{line}: {}", done.wire());
    }
}

#[tokio::test]
async fn write_keeps_format() {
    let bench = Bench::new();
    for (before, content, after) in [
        (&b"a\r\nb\r\n"[..], "c\nd\n", &b"c\r\nd\r\n"[..]),
        (b"\xEF\xBB\xBFa\n", "b\n", b"\xEF\xBB\xBFb\n"),
        (b"\xFF\xFEa\0", "b", b"\xFF\xFEb\0"),
        (b"caf\xE9\n", "th\u{e9}\n", b"th\xE9\n"),
        (b"a\r\nb\n", "c\nd\n", b"c\nd\n"),
    ] {
        bench.put("f", before);
        bench.read("f").await;
        assert_ok(&bench.call("Write", json!({"path": "f", "content": content})).await);
        assert_eq!(bench.bytes("f"), after);
    }
}

#[tokio::test]
async fn write_refuses_special_files() {
    let bench = Bench::new();
    fs::create_dir(bench.path("dir")).unwrap();
    bench.put("file", "x");
    bench.put("bin", b"\0\0");
    bench.fifo("fifo");
    let write = |path: &str| {
        let args = json!({"path": path, "content": "y"});
        async { bench.call("Write", args).await }
    };
    assert_error(&write("dir").await, "IS_DIRECTORY", "folder");
    assert_error(&write("dir/").await, "INVALID_PARAM", "name a file");
    assert_error(&write("fifo").await, "INVALID_PARAM", "FIFO");
    assert_error(&write("/dev/null").await, "INVALID_PARAM", "character device");
    assert_error(&write("bin").await, "BINARY_FILE", "binary");
    assert_error(&write("file/below").await, "EXECUTION_ERROR", "not a folder");
    assert_error(&write("").await, "INVALID_PARAM", "empty");
    assert_error(&write("new/\0").await, "INVALID_PARAM", "NUL");
    assert_error(&write(&"n".repeat(300)).await, "EXECUTION_ERROR", "too long");
    assert_error(&write(&format!("fresh/{}", "n".repeat(300))).await, "EXECUTION_ERROR", "too long");
    assert_eq!(bench.names("."), ["bin", "dir", "fifo", "file"]);
    let bad = bench.call("Write", json!({"path": "x"})).await;
    assert_error(&bad, "INVALID_PARAM", "content is missing");
}

#[tokio::test]
async fn write_through_links() {
    let bench = Bench::new();
    symlink("later.txt", bench.path("dangling")).unwrap();
    assert_ok(&bench.call("Write", json!({"path": "dangling", "content": "x"})).await);
    assert_eq!(bench.text("later.txt"), "x");
    assert!(bench.path("dangling").symlink_metadata().unwrap().is_symlink());
    symlink("b", bench.path("a")).unwrap();
    symlink("a", bench.path("b")).unwrap();
    assert_error(&bench.call("Write", json!({"path": "a", "content": "x"})).await, "EXECUTION_ERROR", "loop");
    assert_error(&bench.read("a").await, "EXECUTION_ERROR", "loop");
}

#[tokio::test]
async fn write_in_read_only_folder() {
    // Root may write everywhere, so the immutable case is left to other users.
    let bench = Bench::new();
    bench.put("d/f", "a\n");
    fs::set_permissions(bench.path("d"), Permissions::from_mode(0o555)).unwrap();
    assert_ok(&bench.edit("d/f", "a", "b", false).await);
    fs::set_permissions(bench.path("d"), Permissions::from_mode(0o755)).unwrap();
    assert_eq!((bench.text("d/f").as_str(), bench.names("d")), ("b\n", vec!["f".to_owned()]));
}

#[tokio::test]
async fn concurrent_writers() {
    let bench = Bench::new();
    let lines: String = (0..20).map(|n| format!("<{n}>\n")).collect();
    bench.put("f", lines);
    bench.read("f").await;
    let edits = (0..20).map(|n| {
        let args = json!({"path": "f", "old_string": format!("<{n}>"), "new_string": format!("[{n}]")});
        bench.call("Edit", args)
    });
    for done in futures_util::future::join_all(edits).await {
        assert_ok(&done);
    }
    assert_eq!(bench.text("f"), (0..20).map(|n| format!("[{n}]\n")).collect::<String>());
}

#[tokio::test]
async fn full_disk() {
    use std::process::Command;
    let bench = Bench::new();
    let small = bench.path("small");
    fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs", small.to_str().unwrap()])
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("not checked here: this user may not mount a small disk");
        return;
    }
    struct Unmount(std::path::PathBuf);
    impl Drop for Unmount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(&self.0).status();
        }
    }
    let _unmount = Unmount(small);
    bench.put("small/f", "a\n");
    bench.put("small/linked", "a\n");
    fs::hard_link(bench.path("small/linked"), bench.path("small/twin")).unwrap();
    let big = "x".repeat(100_000);
    let new = bench.call("Write", json!({"path": "small/deep/new", "content": big})).await;
    assert_error(&new, "EXECUTION_ERROR", "the disk is full");
    assert_error(&bench.edit("small/f", "a", &big, false).await, "EXECUTION_ERROR", "the disk is full");
    assert_error(&bench.edit("small/linked", "a", &big, false).await, "EXECUTION_ERROR", "the disk is full");
    assert_eq!((bench.text("small/f").as_str(), bench.text("small/twin").as_str()), ("a\n", "a\n"));
    assert_eq!(bench.names("small"), ["f", "linked", "twin"]);
    assert_ok(&bench.edit("small/f", "a", "b", false).await);
}
