//! What a failed Edit says, so that the next one succeeds: the slip by its name, or where the file and the given text
//! differ, side by side.

use serde_json::json;

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tools::{Bench, assert_error};
use crate::support::workplace::Workplace;

const CODE: &str = "def one(a, b):\n    total = a + b\n    for item in range(total):\n        print(item, total)\n    \
                    if total > 3:\n        call(total, a)\n        call(total, b)\n    return total\n\n\ndef two(a):\n    \
                    return one(a, a)\n";

/// What is said of `old` in a file with `text`.
async fn said(text: &str, old: &str) -> String {
    let bench = Bench::new();
    bench.put("f.py", text);
    let refused = bench.edit("f.py", old, "x = 1", false).await;
    assert_error(&refused, "NOT_FOUND", "old_string was not found in f.py");
    assert_eq!(bench.text("f.py"), text);
    refused.wire().into_owned()
}

#[tokio::test]
async fn the_difference_side_by_side() {
    let old = CODE.split_once("\n\n").unwrap().0.replace("call(total, b)", "call(b)");
    assert_eq!(
        said(CODE, &old).await,
        "error NOT_FOUND: old_string was not found in f.py: the most similar text is at lines 1-8; lines 1-6 of \
         old_string are the same. The difference (· space, → tab):\n\
         file line 7: ········call(total,·b)\nold_string line 7: ········call(b)"
    );
    let one = said(CODE, "    return one(a, b)").await;
    assert!(one.ends_with("at line 12. The difference (· space, → tab):\nfile line 12: ····return·one(a,·a)\nold_string line 1: ····return·one(a,·b)"), "{one}");
}

#[tokio::test]
async fn lines_that_one_side_lacks() {
    let without = CODE.split_once("\n\n").unwrap().0.replace("        print(item, total)\n", "");
    let less = said(CODE, &without).await;
    assert!(less.contains("lines 1-3 of old_string are the same. "), "{less}");
    assert!(less.ends_with(":\nfile line 4: ········print(item,·total) (not in old_string)"), "{less}");
    let with = CODE.split_once("\n\n").unwrap().0.replace("    return", "    log(total)\n    return");
    let more = said(CODE, &with).await;
    assert!(more.ends_with(":\nold_string line 8: ····log(total) (not in the file)"), "{more}");
    let both = with.replace("        call(total, a)\n", "").replace("def one", "def once");
    let both = said(CODE, &both).await;
    assert!(
        both.ends_with(
            ":\nfile line 1: def·one(a,·b):\nold_string line 1: def·once(a,·b):\nfile line 6: ········call(total,·a) (not in \
             old_string)\nold_string line 7: ····log(total) (not in the file)"
        ),
        "{both}"
    );
}

#[tokio::test]
async fn the_difference_in_a_long_text() {
    let text: String = (0..400).map(|n| format!("    value_{n} = compute(source_{n})\n\n")).collect();
    let old: String = text.lines().skip(200).take(300).map(|line| format!("{line}\n")).collect();
    let old = old.replace("compute(source_230)", "compute(source_230, None)");
    let long = said(&text, &old).await;
    assert!(long.contains("lines 1-260 of old_string are the same"), "{long}");
    assert!(long.contains("file line 461: ····value_230·=·compute(source_230)\nold_string line 261: ····value_230·=·compute(source_230,·None)"), "{long}");
    assert!(long.len() < 500, "{}", long.len());
    let moved = old.replace("    ", "        ");
    let moved = said(&text, &moved).await;
    assert!(
        moved.contains(
            "lines 1-260 of old_string are the same. The difference (· space, → tab):\nfile line 461: "
        ) && moved.len() < 600,
        "indented otherwise: {moved}"
    );
}

#[tokio::test]
async fn slips_by_name() {
    for (old, name) in [
        (
            "def one(a, b):\n2\t    total = a + b\n3\t    for item in range(total):",
            "line numbers before some lines (2 to 3); remove them (then it matches at line 1)",
        ),
        (
            "     2→    total = a + b\n    for item in range(total):",
            "line numbers before its line 1; remove them (then it matches at line 2)",
        ),
        (
            "2:    total = a + b\n3:    for item in range(total):",
            "Read's line numbers; remove them (then it matches at line 2)",
        ),
        (
            "    call(total,\n         a)\n",
            "old_string has a line break before `a)` (its line 2), the file has none (line 6)",
        ),
        (
            "    if total > 3: call(total, a)",
            "the file has a line break before `call(total, a)` (line 6), old_string has none",
        ),
        ("print(item,total)", "differs only in whitespace, but"),
        ("if total &gt; 3:", "HTML-escaped: with plain < > & \" ' it matches at line 5"),
    ] {
        let said = said(CODE, old).await;
        assert!(said.contains(name), "{old}: {said}");
    }
}

#[tokio::test]
async fn text_of_another_file() {
    let bench = Bench::new();
    bench.put("a.py", CODE);
    bench.put("sub/b.py", "import os\n\nprint(os.environ[\"HOME\"])\n");
    bench.put("c.py", "import os\n\nprint(os.environ[\"HOME\"])\n");
    bench.read("sub/b.py").await;
    let wrong = bench.edit("a.py", "print(os.environ[\"HOME\"])", "x", false).await;
    assert_error(
        &wrong,
        "NOT_FOUND",
        "not found in a.py, but it is in sub/b.py at line 3: no similar text found",
    );
    let short = bench.edit("a.py", "import os", "x", false).await;
    assert!(!short.wire().contains("it is in"), "{}", short.wire());
}

#[tokio::test]
async fn line_numbers_in_the_new_text() {
    let bench = Bench::new();
    bench.put("f.py", CODE);
    let pasted = "    total = a - b\n3\t    for item in range(total):";
    let refused = bench.edit("f.py", "    total = a + b\n    for item in range(total):", pasted, false).await;
    assert_error(&refused, "INVALID_PARAM", "new_string contains Read's line numbers; remove them");
    let edits = json!([{"old_string": "def two", "new_string": "7\tdef two"}]);
    let data = bench.call("MultiEdit", json!({"path": "f.py", "edits": edits})).await;
    assert!(data.wire().starts_with("Edited"), "line 7 is another: {}", data.wire());
}

#[test]
fn the_first_command_behind_it_is_told() {
    let place = Workplace::new();
    place.file("a.txt", "a\n");
    let calls = answer()
        .call("Edit", json!({"file_path": "a.txt", "old_string": "b", "new_string": "c"}))
        .call("Bash", json!({"command": "vim a.txt"}))
        .call("Bash", json!({"command": "echo one"}))
        .call("Bash", json!({"command": "echo two"}));
    let server = FakeServer::start(vec![calls.into(), answer().text("I could not.").into()]);
    place.exec(&server.base_url(), &["do it"]);
    let said = &server.requests()[1].raw;
    assert!(said.contains("the edit to a.txt earlier in this reply failed"), "{said}");
    assert_eq!(said.matches("ran without it").count(), 1, "{said}");
    assert!(said.contains(r"this ran without it.\none"), "{said}");
}
