//! File awareness: what is in view is not sent again, changes by others are reported, and a command that shows a file
//! counts as reading it.

use base::protocol::event::Event;
use serde_json::{Value, json};

use crate::support::agent::TestAgent;
use crate::support::answer::answer;
use crate::support::server::FakeServer;
use crate::support::tools::Bench;
use crate::support::tools::assert_error;
use crate::support::tools::assert_ok;
use crate::support::workplace::Workplace;

fn config(server: &FakeServer) -> String {
    format!(
        "provider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m\"\npermission = \"full\"\nnudges = false\n",
        server.base_url()
    )
}

/// The text of each tool result of a request.
fn results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("let value_{n} = compute(source_{n});\n")).collect()
}

#[tokio::test]
async fn overlapping_reads_send_only_the_new_lines() {
    let read = |start: usize, limit: usize| {
        answer().call("Read", json!({"path": "a.rs", "start_line": start, "limit": limit})).into()
    };
    let server = FakeServer::start(vec![
        read(1, 60),
        read(41, 60),
        read(10, 40),
        read(1, 60),
        answer().text("Seen.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.rs", lines(200));
    let mut agent = TestAgent::start(&place, &config(&server), false);
    agent.turn("read").await;
    let seen = results(&server.requests().pop().unwrap().body);
    assert!(seen[0].contains("1\tlet value_1 =") && seen[0].contains("60\tlet value_60 ="), "{}", seen[0]);
    assert!(
        seen[1].starts_with("[lines 41-60 of a.rs are unchanged since #3, which shows them]\n61\t"),
        "{}",
        seen[1]
    );
    assert!(seen[1].contains("100\tlet value_100 ="));
    assert!(seen[2].starts_with("[lines 10-49 of a.rs are unchanged since #3"), "{}", seen[2]);
    assert!(seen[3].contains("unchanged since #3, which shows it"), "{}", seen[3]);
}

#[tokio::test]
async fn unchanged_reference_needs_its_target_in_view() {
    let read = || answer().call("Read", json!({"path": "a.rs"})).no_usage();
    let mut script = vec![read().into()];
    for n in 0..24 {
        script
            .push(answer().call("Bash", json!({"command": format!("seq {n}000 {n}900")})).no_usage().into());
    }
    script.push(read().into());
    script.push(answer().text("Seen.").no_usage().into());
    let server = FakeServer::start(script);
    let place = Workplace::new();
    place.file("a.rs", lines(80));
    let small = format!("{}context_window = 12000\n", config(&server));
    let mut agent = TestAgent::start(&place, &small, false);
    agent.turn("read").await;
    let seen = results(&server.requests().pop().unwrap().body);
    let last = seen.last().unwrap();
    assert!(last.contains("40\tlet value_40 ="), "the first view is gone, so the text comes again: {last}");
}

#[tokio::test]
async fn external_changes_are_reported() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.rs"})).into(),
        answer().text("Seen.").into(),
        answer().call("Edit", json!({"path": "a.rs", "old_string": "let value_3 = other;", "new_string": "let value_3 = mine;"})).into(),
        answer().call("Bash", json!({"command": "sed -i s/value_9/value_nine/ a.rs"})).into(),
        answer().call("Bash", json!({"command": "cat >> a.rs <<E\nlet added = 1;\nE"})).into(),
        answer().text("Done.").into(),
        answer().text("Nothing new.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.rs", lines(20));
    let mut agent = TestAgent::start(&place, &config(&server), false);
    agent.turn("read").await;
    place.file("a.rs", lines(20).replace("let value_3 = compute(source_3);", "let value_3 = other;"));
    agent.turn("go on").await;
    let requests = server.requests();
    let told = &requests[2].raw;
    assert!(
        told.contains("Changed on disk since you last saw it: a.rs:")
            && told.contains("+let value_3 = other;"),
        "{told}"
    );
    let before = requests[1].body["messages"].as_array().unwrap();
    assert_eq!(
        &requests[2].body["messages"].as_array().unwrap()[..before.len()],
        &before[..],
        "the prefix stays"
    );
    let behind = results(&requests[4].body).pop().unwrap();
    assert!(behind.contains("+let value_nine ="), "{behind}");
    let said = results(&requests[5].body).pop().unwrap();
    assert!(
        said.ends_with("Files you have seen that this command changed: a.rs</system-reminder>"),
        "its text stands in the call: {said}"
    );
    assert!(place.text("a.rs").contains("let value_3 = mine;"), "the edit needed no second Read");
    agent.turn("and now").await;
    let last =
        server.requests().pop().unwrap().body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(!last.contains("Changed on disk"), "told once: {last}");
}

#[tokio::test]
async fn what_returns_is_told_and_so_is_another_branch() {
    let read = |path: &str| answer().call("Read", json!({"path": path, "limit": 2}));
    let both = read("a.rs").call("Read", json!({"path": "big.log", "limit": 2}));
    let end = || answer().text("Seen.").into();
    let server = FakeServer::start(vec![both.into(), end(), end(), end(), end()]);
    let place = Workplace::new();
    place.file(".git/HEAD", "ref: refs/heads/main\n");
    place.file("a.rs", lines(20));
    place.file("big.log", "a line of a log\n".repeat(400_000));
    let mut agent = TestAgent::start(&place, &config(&server), false);
    agent.turn("read").await;
    std::fs::remove_file(place.project().join("a.rs")).unwrap();
    place.file(".git/HEAD", "ref: refs/heads/other\n");
    agent.turn("go on").await;
    place.file("a.rs", lines(20));
    agent.turn("and now").await;
    agent.turn("again").await;
    let requests = server.requests();
    let last = |at: usize| requests[at].body["messages"].as_array().unwrap().last().unwrap().to_string();
    let gone = "Changed on disk since you last saw it: a.rs no longer exists</system-reminder>";
    assert!(last(2).contains(gone) && last(2).contains("Branch: other."), "{}", last(2));
    let back = "Changed on disk since you last saw it: a.rs is again as you saw it</system-reminder>";
    assert!(last(3).contains(back) && !last(3).contains("Branch: "), "{}", last(3));
    assert!(!last(4).contains("system-reminder"), "{}", last(4));
}

#[test]
fn what_a_command_changed_is_no_news_in_the_next_turn() {
    let edit = json!({"path": "a.rs", "old_string": "compute(source_2);", "new_string": "own;"});
    let command = "cat >> a.rs <<E\nlet added = 1;\nE\ncat >> b.rs <<E\nlet added = 2;\nE";
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.rs"})).call("Read", json!({"path": "b.rs"})).into(),
        answer().call("Bash", json!({"command": command})).into(),
        answer().text("Done.").into(),
        answer().call("Edit", edit).into(),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.rs", lines(20)).file("b.rs", lines(30));
    place.file("home/config.toml", "nudges = false\n");
    assert!(place.exec(&server.base_url(), &["--permission", "full", "change it"]).status.success());
    let told = results(&server.requests()[2].body).pop().unwrap();
    assert!(told.contains("Files you have seen that this command changed: a.rs, b.rs<"), "{told}");
    assert!(place.exec(&server.base_url(), &["-c", "--permission", "full", "go on"]).status.success());
    let requests = server.requests();
    assert!(!requests[3].raw.contains("Changed on disk"), "{}", requests[3].raw);
    assert!(place.text("a.rs").contains("value_2 = own"), "{:?}", results(&requests[4].body).pop());
}

#[tokio::test]
async fn shell_view_counts_as_read() {
    let bench = Bench::new();
    bench.put("a.rs", lines(30));
    bench.put("b.rs", lines(30));
    let cat = bench.bash("cat a.rs").await;
    assert_eq!(cat.data.to_map()["view"]["end_line"], 30);
    let edit = json!({"path": "a.rs", "old_string": "let value_2 = ", "new_string": "let two = "});
    assert_ok(&bench.call("Edit", edit).await);
    let part = bench.bash("sed -n '3,9p' b.rs").await;
    assert_eq!(
        (&part.data.to_map()["view"]["start_line"], &part.data.to_map()["view"]["end_line"]),
        (&json!(3), &json!(9))
    );
    bench.put("c.rs", lines(30));
    assert!(!bench.bash("cat c.rs | tr a b").await.data.to_map().contains_key("view"));
    let edit = json!({"path": "c.rs", "old_string": "let value_2 = ", "new_string": "let two = "});
    assert_ok(&bench.call("Edit", edit).await);
}

/// What counts is what was shown, wherever it stood.
#[tokio::test]
async fn a_part_opens_only_its_part() {
    let bench = Bench::new();
    bench.put("a.rs", lines(39));
    bench.bash("head -2 a.rs").await;
    let late = json!({"path": "a.rs", "old_string": "let value_35 = ", "new_string": "let late = "});
    assert_error(&bench.call("Edit", late.clone()).await, "INVALID_PARAM", "was shown only in part");
    // The refusal shows it, and then it counts.
    assert_ok(&bench.call("Edit", late).await);
    // Several lines that stand there exactly once are known, also those of a long file.
    bench.put("b.rs", lines(400));
    bench.bash("head -2 b.rs").await;
    let text = lines(400);
    let old = text.lines().skip(300).take(2).collect::<Vec<_>>().join("\n");
    assert_ok(&bench.call("Edit", json!({"path": "b.rs", "old_string": old, "new_string": "// gone"})).await);
    let write = json!({"path": "b.rs", "content": "nothing"});
    assert_error(&bench.call("Write", write.clone()).await, "INVALID_PARAM", "was shown only in part");
    for command in ["cat *.rs", "for f in b.rs; do cat $f; done", "grep -n . b.rs", "tail -n +1 b.rs a.rs"] {
        let bench = Bench::new();
        bench.put("a.rs", lines(39));
        bench.put("b.rs", lines(400));
        bench.bash(command).await;
        assert_ok(&bench.call("Write", write.clone()).await);
    }
    // The refusal shows only what was not shown, each line once, however many places the call has.
    let bench = Bench::new();
    bench.put("b.rs", lines(400));
    bench.bash("head -50 b.rs").await;
    let rename =
        |at: u32| json!({"old_string": format!("let value_{at} = "), "new_string": format!("let n{at} = ")});
    let edits: Vec<Value> = [10, 12, 20, 30, 40, 360, 365].map(rename).to_vec();
    let many = json!({"path": "b.rs", "edits": edits});
    let refused = bench.call("MultiEdit", many.clone()).await;
    let refused = refused.wire();
    assert!(
        !refused.contains("let value_20 = ") && refused.matches("let value_362 = ").count() == 1,
        "{refused}"
    );
    assert_ok(&bench.call("MultiEdit", many).await);
    let bench = Bench::new();
    // A line that Grep has shown may be edited.
    bench.put("c.rs", lines(30).replace("value", "other"));
    bench.call("Grep", json!({"pattern": "other_7 "})).await;
    assert_ok(
        &bench
            .call("Edit", json!({"path": "c.rs", "old_string": "let other_7 = ", "new_string": "x = "}))
            .await,
    );
}

/// Behind the model's own command, what still stands exactly once is what it means.
#[tokio::test]
async fn an_edit_behind_ones_own_command() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.rs"})).into(),
        answer()
            .call("Bash", json!({"command": "sed -i 's/compute/count/' a.rs"}))
            .call(
                "Edit",
                json!({"path": "a.rs", "old_string": "let value_7 = ", "new_string": "let seven = "}),
            )
            .into(),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.rs", lines(300));
    TestAgent::start(&place, &config(&server), false).turn("go").await;
    assert!(
        place.text("a.rs").contains("let seven = count(source_7);"),
        "{}",
        server.requests().pop().unwrap().raw
    );
}

#[tokio::test]
async fn views_among_other_commands() {
    let edit = json!({"path": "src/a.rs", "old_string": "let value_2 = ", "new_string": "let two = "});
    for command in [
        "cd src && cat a.rs",
        "cd src; cat a.rs",
        "cd src\ncat a.rs 2>/dev/null",
        "cat -n src/a.rs",
        "nl -ba src/a.rs | sed -n '1,20p'",
        "cat src/a.rs | head -50",
        "head -n 20 src/a.rs | tail -5",
        "sed -n '1,9p' src/a.rs; echo ===; sed -n '20,22p' src/b.rs",
        "git status; ls -la && cat src/b.rs src/a.rs | cat",
        "cat missing src/a.rs 2>/dev/null",
        "cat missing; F=src/a.rs; cat \"$F\"",
        "head -3 src/b.rs src/a.rs",
        "awk 'NR>=4 && NR<=9' src/a.rs",
        "seq 100000; tail -3 src/a.rs",
        // What a command writes itself is known.
        "cat > src/a.rs <<'E'\n    let value_2 = 1;\nE",
    ] {
        let bench = Bench::new();
        bench.put("src/a.rs", lines(30));
        bench.put("src/b.rs", lines(40).replace("value", "other"));
        bench.bash(command).await;
        let refused = bench.call("Edit", edit.clone()).await;
        assert!(!refused.wire().contains("has not been read yet"), "{command}");
    }
    for command in [
        "cat src/a.rs > out",
        "cat src/a.rs | wc -l",
        "grep -c value src/a.rs",
        "false && cat src/a.rs",
        "cat src/a.rs; sed -i s/source/origin/ src/a.rs",
        "cd nowhere && cat a.rs",
        "head -0 src/a.rs",
        "seq 100000; cat src/a.rs; seq 100000",
    ] {
        let bench = Bench::new();
        bench.put("src/a.rs", lines(30));
        bench.bash(command).await;
        assert_error(&bench.call("Edit", edit.clone()).await, "INVALID_PARAM", "has not been read yet");
    }
}

#[tokio::test]
async fn edit_after_a_shell_view() {
    let edit = json!({"file_path": "src/a.rs", "old_str": "let value_2 = ", "new_str": "let two = "});
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "cd src && ls; cat -n a.rs | head -20"})).into(),
        answer().call("Edit", edit).into(),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    place.file("src/a.rs", lines(60));
    TestAgent::start(&place, &config(&server), false).turn("go").await;
    assert!(place.text("src/a.rs").contains("let two = compute(source_2);"));
}

#[tokio::test]
async fn one_view_is_told_as_such() {
    let bench = Bench::new();
    bench.put("src/a.rs", lines(30));
    let view = async |command: &str| bench.bash(command).await.data.to_map().get("view").cloned();
    let range = |view: Option<Value>| view.map(|view| (view["path"].clone(), view["start_line"].clone()));
    let told = Some((json!("src/a.rs"), json!(3)));
    assert_eq!(range(view("cd src && sed -n '3,9p' a.rs").await), told);
    assert_eq!(range(view("tail -n +3 a.rs | head -4").await), told, "the folder stays");
    assert_eq!(view("cat -n a.rs").await, None, "its lines are not the file's");
    assert_eq!(view("echo; sed -n '3,9p' a.rs").await, None, "there is more than the view");
}

#[tokio::test]
async fn own_changes_are_told_as_own() {
    let bash = |command: &str| answer().call("Bash", json!({"command": command})).into();
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.rs"})).call("Read", json!({"path": "b.rs"})).into(),
        bash("sed -i s/value_9/value_nine/ a.rs"),
        answer().call("bash", json!({"cmd": "rm b.rs"})).into(),
        bash("sed -i s/value_/v_/ a.rs"),
        bash("ls"),
        answer().text("Done.").into(),
        bash("sed -i s/v_1/v_one/ c.rs; ls"),
        answer().text("Done.").into(),
        answer().call("Read", json!({"path": "a.rs"})).into(),
        bash("sed -i s/v_/w_/ a.rs; printf '+++ b/a.rs\\n'; sed s/^/+/ a.rs"),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    for name in ["a.rs", "b.rs", "c.rs"] {
        place.file(name, lines(60));
    }
    let mut agent = TestAgent::start(&place, &config(&server), false);
    agent.turn("change them").await;
    let seen = results(&server.requests().pop().unwrap().body);
    let diff = "<system-reminder>Files you have seen that this command changed: a.rs:\n--- a/a.rs\n";
    assert!(seen[2].contains(diff) && seen[2].contains("+let value_nine ="), "{}", seen[2]);
    let gone =
        "<system-reminder>Files you have seen that this command changed: b.rs deleted</system-reminder>";
    assert!(seen[3].ends_with(&format!("{gone}]")) || seen[3].ends_with(gone), "{}", seen[3]);
    let much = "<system-reminder>Files you have seen that this command changed: a.rs; Read it again before you rely on it</system-reminder>";
    assert!(seen[4].contains(much), "{}", seen[4]);
    assert_eq!(std::fs::read_to_string(place.log()).unwrap().matches("\"outdated\":[\"a.rs\"]").count(), 1);
    assert!(!seen[5].contains("system-reminder"), "told once: {}", seen[5]);
    assert!(!seen.concat().contains("on disk"), "nobody else was there");
    agent.turn("and c").await;
    let last = server.requests().pop().unwrap().raw;
    assert!(!last.contains("on disk"), "{last}");
    agent.turn("and a").await;
    let shown = results(&server.requests().pop().unwrap().body).pop().unwrap();
    assert!(
        shown.ends_with("Files you have seen that this command changed: a.rs</system-reminder>"),
        "its diff was printed: {shown}"
    );
}

#[tokio::test]
async fn changes_of_others_beside_a_command() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.rs"})).call("Read", json!({"path": "b.rs"})).into(),
        answer().call("Bash", json!({"command": "rm b.r*"})).gated().into(),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.rs", lines(20));
    place.file("b.rs", lines(20));
    let mut agent = TestAgent::start(&place, &config(&server), false);
    agent.submit("go");
    for _ in 0..2 {
        agent.until(|event| matches!(event, Event::ToolDone { .. }).then_some(())).await;
    }
    place.file("a.rs", lines(21));
    server.release(100);
    agent.end().await;
    let seen = results(&server.requests().pop().unwrap().body).pop().unwrap();
    let (others, own) = seen.split_once("</system-reminder>").unwrap();
    assert!(others.contains("since you last saw it: a.rs:") && !others.contains("b.rs"), "{seen}");
    assert!(
        own.contains("Files you have seen that this command changed: b.rs deleted") && !own.contains("a.rs"),
        "{seen}"
    );
}

/// A file whose read a resumed session remembers is compared like any other.
#[test]
fn a_command_of_a_resumed_session_shows_what_it_changed() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.rs"})).into(),
        answer().text("Done.").into(),
        answer().call("Bash", json!({"command": "sed -i s/value_7/seven/ a.rs"})).into(),
        answer().text("Done.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.rs", lines(20));
    place.file("home/config.toml", "nudges = false\n");
    assert!(place.exec(&server.base_url(), &["--permission", "full", "read it"]).status.success());
    assert!(place.exec(&server.base_url(), &["-c", "--permission", "full", "change it"]).status.success());
    let told = results(&server.requests().pop().unwrap().body).pop().unwrap();
    assert!(told.contains("+let seven = ") || told.contains("+    let seven = "), "{told}");
}
