//! Read: paging, marks, memory, and everything that only looks like a file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;

use serde_json::json;

use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;

#[tokio::test]
async fn numbered_lines_in_pages() {
    let bench = Bench::new();
    bench.put("f", "a\n\tb\r\nc");
    let read = bench.read("f").await;
    assert_eq!(read.wire(), "1\ta\n2\t\tb\n3\tc");
    assert_eq!(
        (&read.data.to_map()["total_lines"], &read.data.to_map()["line_ends"]),
        (&json!(3), &json!("mixed"))
    );
    bench.put("long", (1..=1200).map(|n| format!("l{n}\n")).collect::<String>());
    let read = bench.read("long").await;
    assert!(read.body.ends_with("500\tl500"));
    assert_eq!(read.text, "lines 1-500 of 1200; continue with start_line=501");
    let read = bench.call("Read", json!({"path": "long", "start_line": 1100, "limit": 5000})).await;
    assert_eq!(read.text, "lines 1100-1200 of 1200");
    assert_eq!(
        (&read.data.to_map()["start_line"], &read.data.to_map()["end_line"]),
        (&json!(1100), &json!(1200))
    );
    let past = bench.call("Read", json!({"path": "long", "start_line": 1201})).await;
    assert_error(&past, "INVALID_PARAM", "start_line 1201 is past the end: long has 1200 lines");
    assert!(bench.call("Read", json!({"path": "long", "limit": 0})).await.body.ends_with("500\tl500"));
    bench.put("empty", "");
    assert_eq!(bench.read("empty").await.wire(), "empty is empty");
    assert_error(
        &bench.call("Read", json!({"path": {}})).await,
        "INVALID_PARAM",
        "path (string), start_line?",
    );
}

#[tokio::test]
async fn pages_below_the_limit() {
    let bench = Bench::new();
    bench.put("wide", (0..400).map(|n| format!("{n}{}\n", "é".repeat(500))).collect::<String>());
    let mut start = 1;
    let mut seen = 0;
    while seen < 400 {
        let page = bench.call("Read", json!({"path": "wide", "start_line": start})).await;
        assert!(page.wire().len() < 50 * 1024);
        seen += page.body.lines().count();
        start = seen + 1;
    }
    assert_eq!(seen, 400);
    bench.put("line", format!("{}END\nnext\n", "日".repeat(100_000)));
    let read = bench.read("line").await;
    let first = read.body.lines().next().unwrap();
    assert!(first.chars().count() < 2_100 && first.ends_with("more in this line]"), "{first}");
    assert!(read.body.ends_with("2\tnext"));
}

#[tokio::test]
async fn read_non_text_files() {
    let bench = Bench::new();
    fs::create_dir(bench.path("src")).unwrap();
    assert_error(&bench.read("src").await, "IS_DIRECTORY", "src is an empty folder");
    bench.put("src/b.rs", "");
    bench.put("src/a.rs", "");
    bench.put("pic.png", b"\x89PNG\r\n\x1a\n\0\0");
    bench.put("late", [&b"text\n".repeat(4_000)[..], b"\0"].concat());
    bench.fifo("fifo");
    let _socket = UnixListener::bind(bench.path("sock")).unwrap();
    assert_error(&bench.read("src").await, "IS_DIRECTORY", "src is a folder with a.rs, b.rs; LS");
    assert_error(&bench.read("pic.png").await, "BINARY_FILE", "PNG image (10 B)");
    assert_error(&bench.read("late").await, "BINARY_FILE", "19.5 KiB");
    assert_error(&bench.read("fifo").await, "INVALID_PARAM", "FIFO");
    assert_error(&bench.read("sock").await, "INVALID_PARAM", "socket");
    assert_error(&bench.read("/dev/zero").await, "INVALID_PARAM", "character device");
    assert_error(&bench.read("/proc/self/nothing").await, "NOT_FOUND", "/proc/self");
    assert_error(&bench.read("pic.png/x").await, "EXECUTION_ERROR", "not a folder");
    assert_error(&bench.read("").await, "INVALID_PARAM", "empty");
}

#[tokio::test]
async fn wrong_paths() {
    let bench = Bench::new();
    bench.put("src/app/main.rs", "x");
    assert_error(&bench.read("src/main.rs").await, "NOT_FOUND", "did you mean src/app/main.rs?");
    assert_error(&bench.read("src/app/mian.rs").await, "NOT_FOUND", "src/app/main.rs");
    assert_ok(&bench.read(bench.path("src/app/main.rs").to_str().unwrap()).await);
    assert_ok(&bench.read("./src/../src/app/main.rs").await);
}

#[tokio::test]
async fn read_encodings() {
    let bench = Bench::new();
    for (bytes, body, name) in [
        (&b"caf\xE9"[..], "1\tcaf\u{e9}", "Windows-1252"),
        (b"\xFF\xFEa\0\n\0", "1\ta", "UTF-16LE"),
        (b"\xEF\xBB\xBFa", "1\ta", "UTF-8 with BOM"),
        (b"\xC3\xA9\xC3\xA9\xFF", "1\t\u{e9}\u{e9}\u{fffd}", "UTF-8 with invalid bytes"),
    ] {
        bench.put("f", bytes);
        let read = bench.read("f").await;
        assert_eq!((read.body.as_str(), &read.data.to_map()["encoding"]), (body, &json!(name)));
    }
}

#[tokio::test]
async fn read_huge_files() {
    let bench = Bench::new();
    // A head that looks like text, then a gigabyte in one (sparse) line.
    let file = bench.put("huge", "first\n".repeat(2_000));
    File::options().write(true).open(&file).unwrap().set_len(1 << 30).unwrap();
    let read = bench.call("Read", json!({"path": "huge", "start_line": 2, "limit": 3})).await;
    assert_eq!(read.body, "2\tfirst\n3\tfirst\n4\tfirst");
    assert!(
        read.text.contains("lines 2-4 of a file of 1.0 GiB; continue with start_line=5; too large for Edit")
    );
    let last = bench.call("Read", json!({"path": "huge", "start_line": 2001, "limit": 1})).await;
    assert!(last.body.contains("more in this line]") && last.body.len() < 10_000, "{}", last.text);
    assert_error(&bench.edit("huge", "first", "x", false).await, "INVALID_PARAM", "limit of 32.0 MiB");
}

#[tokio::test]
async fn non_utf8_names() {
    let bench = Bench::new();
    let odd = bench.root.join(OsStr::from_bytes(b"caf\xE9.txt"));
    fs::write(&odd, "needle\n").unwrap();
    bench.put("new\nline.txt", "x");
    let listed = bench.call("LS", json!({})).await;
    assert_eq!(listed.body, "caf\u{fffd}.txt\nnew\\nline.txt");
    assert!(bench.call("Glob", json!({"pattern": "*.txt"})).await.body.contains("caf\u{fffd}.txt"));
    assert!(
        bench.call("Grep", json!({"pattern": "needle"})).await.body.contains("caf\u{fffd}.txt\n1:needle")
    );
}

#[tokio::test]
async fn paging_spilled_output() {
    let bench = Bench::new();
    let path = bench.cx.spill.store("x", b"line\n").unwrap();
    assert!(path.starts_with(bench.cx.spill.folder()));
    assert_ok(&bench.read(path.to_str().unwrap()).await);
}
