//! LS, Glob and Grep.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::tools::Bench;
use crate::support::tools::assert_error;

fn project() -> Bench {
    let bench = Bench::new();
    bench.put(".gitignore", "target/\n*.log\n");
    bench.put(".github/ci.yml", "needle: yes\n");
    bench.put("src/a.rs", "fn needle() {}\n// more\nlet needle = 1;\n");
    bench.put("src/deep/b.rs", "use needle;\n");
    bench.put("target/out.rs", "needle\n");
    bench.put("x.log", "needle\n");
    bench.put("bin", b"needle\n\0");
    symlink("..", bench.path("src/up")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    bench
}

#[tokio::test]
async fn ls_one_folder() {
    let bench = project();
    let listed = bench.call("LS", json!({})).await;
    assert_eq!(
        listed.wire(),
        ".github/\nsrc/\ntarget/ (ignored)\n.gitignore\nbin\nloop -> loop\nx.log (ignored)"
    );
    assert_eq!(listed.data.to_map()["total_entries"], 7);
    let page = bench.call("LS", json!({"offset": 2, "limit": 2})).await;
    assert_eq!(page.wire(), "target/ (ignored)\n.gitignore\n[entries 3-4 of 7; continue with offset=4]");
    assert_error(&bench.call("LS", json!({"offset": 9})).await, "INVALID_PARAM", "7 entries");
    assert_error(&bench.call("LS", json!({"path": "bin"})).await, "INVALID_PARAM", "use Read for files");
    assert_error(&bench.call("LS", json!({"path": "scr"})).await, "NOT_FOUND", "did you mean src/");
    fs::create_dir(bench.path("empty")).unwrap();
    assert_eq!(bench.call("LS", json!({"path": "empty"})).await.wire(), "empty is empty");
    assert_eq!(bench.call("LS", json!({"path": "/dev/null"})).await.data.to_map().len(), 0);
}

#[tokio::test]
async fn glob_newest_first() {
    let bench = project();
    let old = SystemTime::now() - Duration::from_secs(1000);
    File::options().write(true).open(bench.path("src/a.rs")).unwrap().set_modified(old).unwrap();
    let glob = |pattern: &str| {
        let args = json!({"pattern": pattern});
        async { bench.call("Glob", args).await }
    };
    assert_eq!(glob("**/*.rs").await.wire(), "src/deep/b.rs\nsrc/a.rs");
    assert_eq!(glob("*.rs").await.wire(), "src/deep/b.rs\nsrc/a.rs");
    assert_eq!(glob("src/*.rs").await.wire(), "src/a.rs");
    assert_eq!(glob(&format!("{}/src/**/b.*", bench.root.display())).await.wire(), "src/deep/b.rs");
    assert_eq!(glob(".github/*").await.wire(), ".github/ci.yml");
    assert_eq!(glob("src/a.rs").await.wire(), "src/a.rs");
    assert!(glob("*.zig").await.wire().contains("no file matches *.zig in ."));
    assert!(glob("dee*").await.wire().contains("matching folders: src/deep"));
    assert_error(&glob("a[").await, "INVALID_PARAM", "not a valid glob");
    assert_error(&glob("nowhere/*.rs").await, "NOT_FOUND", "nowhere does not exist");
    let one = bench.call("Glob", json!({"pattern": "*.rs", "limit": 1})).await;
    assert!(one.wire().contains("the newest 1 of 2 files") && one.data.to_map()["total"] == 2);
}

#[tokio::test]
async fn grep_by_file() {
    let bench = project();
    let found = bench.call("Grep", json!({"pattern": "needle"})).await;
    assert_eq!(
        found.wire(),
        "src/a.rs\n1:fn needle() {}\n3:let needle = 1;\nsrc/deep/b.rs\n1:use needle;\n[3 matches in 2 files]"
    );
    let context = bench.call("Grep", json!({"pattern": "fn", "context": 1, "path": "src/a.rs"})).await;
    assert_eq!(context.wire(), "src/a.rs\n1:fn needle() {}\n2-// more\n[1 match in 1 file]");
    let first = bench.call("Grep", json!({"pattern": "NEEDLE", "ignore_case": true, "limit": 1})).await;
    assert!(first.wire().contains("the first 1 of 3 matches in 2 files"), "{}", first.wire());
    let include = bench.call("Grep", json!({"pattern": "needle", "include": ".github/**"})).await;
    assert!(include.wire().contains(".github/ci.yml\n1:needle"));
    let include = bench.call("Grep", json!({"pattern": "needle", "include": "b.{rs,toml}"})).await;
    assert_eq!(include.data.to_map()["total_matches"], 1);
    let none = bench.call("Grep", json!({"pattern": "absent"})).await;
    assert!(none.wire().contains("no match for absent in . (3 files searched"), "{}", none.wire());
    let other_case = bench.call("Grep", json!({"pattern": "NEEDLE"})).await;
    assert!(other_case.wire().contains("skipped); 3 matches with ignore_case"), "{}", other_case.wire());
    let named = bench.call("Grep", json!({"pattern": "needle", "path": "x.log"})).await;
    assert_eq!(named.data.to_map()["total_matches"], 1);
    let literal = bench.call("Grep", json!({"pattern": "needle("})).await;
    let said = "nothing matches needle(: it is not a regular expression. These are for needle\\(: 1 match";
    assert!(literal.wire().contains(said), "{}", literal.wire());
    let bad = bench.call("Grep", json!({"pattern": "foo(a*"})).await;
    assert_error(&bad, "INVALID_PARAM", "unclosed group. To search for the literal text, use foo\\(a\\*");
    let look = bench.call("Grep", json!({"pattern": "a(?=b)"})).await;
    assert_error(&look, "INVALID_PARAM", "For look-around");
    let lines = bench.call("Grep", json!({"pattern": "a\\nb"})).await;
    assert_error(&lines, "INVALID_PARAM", "within one line");
    assert_error(&bench.call("Grep", json!({"pattern": "x", "path": "scr"})).await, "NOT_FOUND", "src/");
}

#[tokio::test]
async fn grep_in_another_syntax() {
    let bench = project();
    bench.put("c.py", "x = a[0].b(y)\ncost = $5\n");
    let says =
        async |pattern: &str| bench.call("Grep", json!({"pattern": pattern})).await.wire().into_owned();
    let bar = says(r"absent\|let needle").await;
    assert_eq!(
        bar,
        "src/a.rs\n3:let needle = 1;\n[nothing matches absent\\|let needle: \\| is a literal bar in this syntax, | alone \
         means or. These are for absent|let needle: 1 match in 1 file]"
    );
    let basic = says(r"nope\|fn needle()").await;
    assert!(
        basic.starts_with("src/a.rs\n1:fn needle() {}\n[") && basic.contains(r"nope|fn needle()"),
        "{basic}"
    );
    let basic = says(r"b(y)\|nope").await;
    assert!(basic.contains("c.py\n1:x") && basic.contains(r"These are for b\(y\)|nope: 1 match"), "{basic}");
    let none = says(r"nope\|neither").await;
    assert!(none.contains("| alone means or, but nope|neither matches nothing either"), "{none}");
    let brackets = says("a[0].b(y)").await;
    assert!(
        brackets.contains("1:x = a[0].b(y)\n") && brackets.contains("operators unless a backslash"),
        "{brackets}"
    );
    assert!(says("$5").await.contains(r"These are for \$5: 1 match"));
    let invalid = bench.call("Grep", json!({"pattern": r"b(\|nope("})).await;
    assert_error(&invalid, "INVALID_PARAM", r"use b\(|nope\(");
    assert!(!says("fn .*absent").await.contains("operators"), "nothing to say");
}

#[tokio::test]
async fn grep_limits() {
    let bench = Bench::new();
    bench.put("long", format!("{}needle{}\n", "x".repeat(1_000_000), "y".repeat(1_000_000)));
    bench.put("many", "needle here\n".repeat(30_000));
    bench.fifo("fifo");
    let huge = bench.put("huge", "a".repeat(10_000));
    File::options().write(true).open(&huge).unwrap().set_len(1 << 30).unwrap();
    let found = bench.call("Grep", json!({"pattern": "needle"})).await;
    assert!(found.wire().contains("the first 100 of 30001 matches in 2 files"), "{}", found.text);
    assert!(found.body.starts_with("long\n1:\u{2026}xxx") && found.wire().len() < 10_000);
    let wide = bench.call("Grep", json!({"pattern": "needle", "limit": 1000, "context": 20})).await;
    assert!(wide.wire().len() < 50 * 1024);
    bench.cx.cancel.cancel();
    assert_error(&bench.call("Grep", json!({"pattern": "needle"})).await, "INTERRUPTED", "");
}
