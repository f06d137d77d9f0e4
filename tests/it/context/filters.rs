//! What a shortened log keeps, and how much of a result is sent at first.

use std::fs;

use base::model::item::ItemId;
use context::compress::pipeline::{self, FilterOptions, Shape};
use proptest::prelude::*;
use serde_json::json;

use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_error_line_is_filtered_away(
        parts in proptest::collection::vec(
            prop_oneof![
                4 => ("[a-z]{3,8}", 1_usize..120).prop_map(|(word, times)| {
                    (0..times).map(|n| format!("{word} item {n} of the list done\n")).collect::<String>()
                }),
                2 => ("[a-z]{3,8}", 1_usize..60).prop_map(|(word, times)| {
                    (0..times).map(|n| format!("test {word}::case_{n} ... ok\n")).collect::<String>()
                }),
                1 => "[a-z]{3,8}".prop_map(|word| format!("\u{1b}[31merror\u{1b}[0m: {word} is wrong\n")),
                1 => ("[a-z]{3,8}", 1_u32..900).prop_map(|(word, line)| format!("src/{word}.c:{line}:3: error: expected\n")),
                1 => "[a-z]{3,8}".prop_map(|word| format!("FAILED tests/test_{word}.py::test_it - AssertionError\n")),
                1 => "[a-z]{3,8}".prop_map(|word| format!("thread '{word}' panicked at src/main.rs:2:5:\n")),
                1 => "[a-z]{3,8}".prop_map(|word| format!("E       assert {word} == 3\n")),
                1 => "[a-z]{3,8}".prop_map(|word| format!(" 10%\r 90%\rmake: *** [{word}] Error 2\n")),
            ],
            1..60,
        ),
    ) {
        let log = parts.concat();
        let options = FilterOptions { shape: Shape::Log, max_tokens: 1_500, lines: None, stored: None };
        let shown = pipeline::filter(ItemId(4), &log, options).unwrap_or_else(|| log.clone());
        prop_assert!(context::tokens::estimate::estimate(&shown) < 1_900, "far over its cap");
        for line in log.lines() {
            let line = line.rsplit('\r').next().unwrap().replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
            if ["error:", "FAILED", "panicked", "E   ", "***"].iter().any(|sign| line.contains(sign)) {
                prop_assert!(shown.contains(&line), "lost: {line}\nin: {shown}");
            }
        }
    }
}

/// What counts as read was sent, also in a small window.
#[test]
fn an_edit_of_an_unread_file_shows_its_place() {
    let line = |n: usize| format!("    total = add(row_{n}, of_the_same_length)  # {n}\n");
    let place = Workplace::new();
    place.file("short.py", (1..=60).map(line).collect::<String>());
    place.file("long.py", (1..=98).map(line).collect::<String>());
    fs::write(place.home().join("config.toml"), "context_window = 8192\n").unwrap();
    let edit = |path: &str, n: usize| {
        answer().call("Edit", json!({"path": path, "old_string": line(n), "new_string": "\n"})).into()
    };
    let said = || answer().text("The two edits were refused, so nothing has changed.").into();
    let server = FakeServer::start(vec![edit("short.py", 57), edit("long.py", 76), said(), said()]);
    let output = place.exec(&server.base_url(), &["change it"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let messages = server.requests()[2].body["messages"].as_array().unwrap().clone();
    let refused: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    for (text, how, last) in [(refused[0], "Here it is", "60\t"), (refused[1], "Here is the place", "96\t")] {
        assert!(text.contains(how) && text.contains(last) && !text.contains("shortened"), "{text}");
    }
}

#[test]
fn the_reads_of_one_reply_share_the_free_room() {
    let place = Workplace::new();
    let text =
        |lines: usize| (1..=lines).map(|n| format!("    total = add(row_{n})  # {n}\n")).collect::<String>();
    place.file("long.py", text(1_111)).file("a.py", text(504)).file("b.py", text(504));
    let results = |window: u64, paths: &[&str]| {
        let calls = paths.iter().fold(answer(), |answer, path| match *path {
            "" => answer.call("TodoWrite", json!({"todos": []})),
            path => answer.call("Read", json!({"path": path})),
        });
        let server = FakeServer::start(vec![calls.into(), answer().text("Read.").into()]);
        fs::write(place.home().join("config.toml"), format!("context_window = {window}\n")).unwrap();
        assert!(place.exec(&server.base_url(), &["read them"]).status.success());
        let messages = server.requests()[1].body["messages"].as_array().unwrap().clone();
        let results = messages.iter().filter(|message| message["role"] == "tool");
        results.map(|message| message["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(results(128_000, &["long.py"])[0].ends_with("# 1111"), "in one piece");
    assert!(results(32_000, &["a.py"])[0].ends_with("# 504"));
    assert!(results(32_000, &["a.py", "b.py"])[1].contains("the same output as #4, `a.py`"));
    let both = results(32_000, &["a.py", "long.py"]);
    assert!(both[0].ends_with("# 504") && both[1].contains("continue with start_line="));
    let behind_short_ones = results(32_000, &["", "", "", "", "", "", "", "a.py"]);
    assert!(behind_short_ones[7].ends_with("# 504"), "short answers take none of its room");
}
