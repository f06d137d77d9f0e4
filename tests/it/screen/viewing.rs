//! What is seen: themes, the pager, the review of changes, copying. The real binary in a terminal.

use std::sync::Arc;

use base::config::paths::Paths;
use base::model::item::{Item, ItemId, UserMessage};
use context::session::log::SessionLog;
use context::session::record::{ItemRecord, Record};
use serde_json::json;

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

const EXPAND: &str = "\u{f}";
const TRANSCRIPT: &str = "\u{14}";

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n");
    place
}

fn chat(place: &Workplace, server: &FakeServer, size: (u16, u16), vars: &[(&str, &str)]) -> Screen {
    let url = server.base_url();
    let args = ["--base-url", &url, "--model", "m", "--permission", "full"];
    Screen::start_with(place, &args, size, vars)
}

fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("line number {number}\n")).collect()
}

#[test]
fn the_theme_follows_the_background() {
    for (color, accent) in [("ffff/ffff/ffff", "38;2;0;95;118"), ("0000/0000/0000", "38;2;108;207;230")] {
        let server = FakeServer::start(vec![answer().text("`code`").into()]);
        let place = place();
        let mut screen = chat(&place, &server, (80, 24), &[("COLORTERM", "truecolor")]);
        screen.keys(&format!("\u{1b}]11;rgb:{color}\u{1b}\\\u{1b}[1;1R"));
        screen.wait("ask");
        let (red, rest) = accent.trim_start_matches("38;2;").split_once(';').unwrap();
        let wanted = format!("38;2;{red};{rest}");
        screen.keys("x");
        screen.wait("› x");
        assert!(screen.raw().contains(&wanted), "{color}: {:?}", screen.raw());
        assert!(!screen.wait("› x").contains("rgb"), "the answer is not typed");
    }
}

#[test]
fn a_late_answer_is_not_typed() {
    let server = FakeServer::start(vec![]);
    let place = place();
    let mut screen = chat(&place, &server, (80, 24), &[("COLORTERM", "truecolor")]);
    screen.wait("ask");
    screen.keys("a\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\b");
    screen.wait("› ab");
    assert!(screen.raw().contains("38;2;0;95;118"), "the light theme");
}

#[test]
fn a_chosen_theme_is_kept() {
    let server = FakeServer::start(vec![]);
    let place = place();
    let mut screen = chat(&place, &server, (80, 24), &[("COLORTERM", "truecolor")]);
    screen.wait("ask");
    screen.keys("/theme\r");
    screen.wait("high-contrast");
    screen.keys("\u{1b}[B");
    screen.wait("▸ dark");
    screen.keys("\r");
    screen.wait("theme: dark");
    let config = place.home().join("config.toml");
    while !std::fs::read_to_string(&config).unwrap_or_default().contains("theme = \"dark\"") {
        std::thread::yield_now();
    }
    screen.keys("\u{4}");
    screen.end();
    let screen = chat(&place, &server, (80, 24), &[("COLORTERM", "truecolor")]);
    screen.wait("ask");
    assert!(screen.raw().contains("38;2;169;177;189"), "gray of the dark theme");
}

#[test]
fn links_where_they_are_taken() {
    for (vars, linked) in [(&[("TERM", "xterm-kitty")][..], true), (&[("TERM", "xterm-256color")][..], false)]
    {
        let server = FakeServer::start(vec![
            answer().text("See [the page](https://x.example/a) and https://y.example.").into(),
        ]);
        let place = place();
        let mut screen = chat(&place, &server, (80, 24), vars);
        screen.wait("ask");
        screen.keys("go\r");
        screen.wait("Done");
        let raw = screen.raw();
        assert_eq!(raw.contains(";https://x.example/a\u{1b}\\the page"), linked, "{raw:?}");
        assert_eq!(raw.contains(";https://y.example\u{1b}\\"), linked, "{raw:?}");
    }
}

#[test]
fn the_last_output_in_full() {
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "seq -f 'line number %g' 1 300"})).into(),
        answer().call("Bash", json!({"command": "echo short"})).into(),
        answer().text("Listed.").into(),
    ]);
    let place = place();
    let mut screen = chat(&place, &server, (80, 24), &[]);
    screen.wait("ask");
    screen.keys("list\r");
    screen.wait("Done");
    screen.keys(EXPAND);
    screen.wait("2 of 2");
    screen.keys("\u{1b}[D");
    let first = screen.wait("1 of 2");
    assert!(first.contains("line number 1\n") && first.contains("exit 0"), "{first}");
    screen.keys("\u{1b}[F");
    screen.wait("line number 300");
    screen.keys("/NUMBER 123\r");
    screen.wait("line number 123");
    screen.keys("/no such words\r");
    screen.wait("not found");
    screen.keys("y");
    screen.wait("copied");
    assert!(screen.raw().contains("\u{1b}]52;c;bGluZSBudW1iZXIgMQps"), "the whole output is copied");
    screen.keys("q");
    let shown = screen.wait("Listed.");
    assert!(!shown.contains("line number 123"), "{shown}");
}

#[test]
fn an_open_transcript_follows_the_turn() {
    let server = FakeServer::start(vec![answer().text("The answer is forty-two.").gated().into()]);
    let place = place();
    let mut screen = chat(&place, &server, (80, 24), &[]);
    screen.wait("full");
    screen.keys(TRANSCRIPT);
    screen.wait("Nothing to show yet");
    screen.keys("qthe question\r");
    server.wait_for_requests(1);
    screen.keys(TRANSCRIPT);
    screen.wait_for("the question", |screen| screen.contains("1 turn") && !screen.contains("forty-two"));
    server.release(10_000);
    screen.wait_for("the answer", |screen| screen.contains("Transcript") && screen.contains("forty-two"));
}

#[test]
fn what_the_user_ran_is_shown_again() {
    let server = FakeServer::start(vec![]);
    let place = place();
    let mut screen = chat(&place, &server, (80, 24), &[]);
    screen.wait("full");
    screen.keys("!echo $((6 * 7)); echo over\r");
    screen.wait("    over");
    screen.keys("\u{4}");
    screen.end();
    let url = server.base_url();
    let mut screen = Screen::start_with(&place, &["-c", "--base-url", &url, "--model", "m"], (80, 24), &[]);
    let shown = screen.wait("    over");
    assert!(shown.contains("● Bash echo $((6 * 7)); echo over\n  └ 2 lines\n    42\n    over"), "{shown}");
    screen.keys(EXPAND);
    screen.wait("1 of 1");
}

#[test]
fn the_transcript_is_searched_and_copied() {
    let code = "Here:\n\n```rust\nfn main() {}\n```\n\nand\n\n```sh\nls\n```\n";
    let server = FakeServer::start(vec![
        answer().text(&lines(60).replace('\n', " ")).into(),
        answer().text(code).into(),
        answer().text("Third.").into(),
    ]);
    let place = place();
    let mut screen = chat(&place, &server, (100, 30), &[]);
    screen.wait("ask");
    for task in ["first task", "second task", "third task"] {
        screen.keys(&format!("{task}\r"));
        screen.wait_for("the turn", |screen| {
            let at = screen.rfind(task);
            at.is_some_and(|at| screen[at..].contains("✓ Done")) && screen.contains("/help")
        });
    }
    screen.keys(TRANSCRIPT);
    screen.wait("3 turns");
    screen.wait("▌ Third.");
    screen.keys("[[");
    screen.wait("▌ › second task");
    screen.keys("\t");
    screen.wait("▌ Here:");
    screen.keys("c");
    screen.wait("copied 13 B");
    assert!(screen.raw().contains("]52;c;Zm4gbWFpbigpIHt9Cg=="), "the first block");
    screen.keys("c");
    screen.wait("copied 3 B");
    screen.keys("/line NUMBER 42\r");
    screen.wait("line number 42");
    screen.keys("q");
    screen.wait("Third.");
    screen.keys("/copy\r");
    screen.wait("copied 6 B");
    assert!(screen.raw().contains("]52;c;VGhpcmQu"), "the last answer");
    screen.keys("/export talk.html\r");
    screen.wait("Wrote");
    assert!(place.text("talk.html").contains("<h1>first task</h1>"));
    screen.keys("/export talk.html\r");
    screen.wait("already exists");
    screen.keys("/export talk.pdf\r");
    screen.wait("'pdf' is not a format");
    screen.keys("/export none/talk.html\r");
    screen.wait("there is no folder for it");
}

#[test]
fn help_is_searched() {
    let server = FakeServer::start(vec![]);
    let place = place();
    let mut screen = chat(&place, &server, (80, 24), &[]);
    screen.wait("ask");
    screen.keys("/help\r");
    screen.wait("/permission [level]");
    screen.keys("/paste what\r");
    screen.wait("Ctrl-Y");
    screen.keys("q");
    screen.wait("Type a task");
    screen.keys("?");
    screen.wait("Ctrl-Y");
}

#[test]
fn hunks_are_reverted_and_the_revert_undone() {
    let server = FakeServer::start(vec![
        answer().call("Read", json!({"path": "a.txt"})).into(),
        answer()
            .call(
                "Edit",
                json!({"path": "a.txt", "old_string": "line number 3\n", "new_string": "changed three\n"}),
            )
            .into(),
        answer()
            .call(
                "Edit",
                json!({"path": "a.txt", "old_string": "line number 25\n", "new_string": "changed 25\n"}),
            )
            .call("Write", json!({"path": "new.txt", "content": "new\n"}))
            .into(),
        answer().text("Changed.").into(),
        answer().text("I see.").into(),
    ]);
    let place = place();
    place.file("a.txt", lines(30));
    let place = place.repository();
    let mut screen = chat(&place, &server, (100, 40), &[]);
    screen.wait("ask");
    screen.keys("change it\r");
    screen.wait("Done");
    screen.keys("/diff\r");
    let shown = screen.wait("2 files");
    assert!(shown.contains("a.txt  +2 -2") && shown.contains("new.txt  +1 -0, created"), "{shown}");
    screen.keys("\t\u{1b}[Zr");
    screen.wait("Revert this change in a.txt? y/n");
    screen.keys("n");
    assert!(place.text("a.txt").contains("changed three"), "nothing happens without a yes");
    screen.keys("ry");
    screen.wait("a.txt  +1 -1");
    let text = place.text("a.txt");
    assert!(text.contains("line number 3\n") && text.contains("changed 25"), "{text}");
    screen.keys("s");
    screen.wait("Staged a change in a.txt.");
    let staged = place.git(&["diff", "--cached"]);
    assert!(staged.contains("+changed 25") && !staged.contains("changed three"), "{staged}");
    screen.keys("\t");
    screen.keys("s");
    screen.wait("Staged a change in new.txt.");
    assert_eq!(place.git(&["show", ":new.txt"]), "new\n");
    screen.keys("\u{1b}[Z");
    // Somebody else changes the file: what was shown is not what stands there.
    place.file("a.txt", format!("{text}and more\n"));
    screen.keys("ry");
    screen.wait("another program changed it since");
    assert!(place.text("a.txt").ends_with("and more\n"));
    place.file("a.txt", &text);
    screen.keys("q");
    screen.wait("Changed.");
    screen.keys("/rewind\r");
    screen.wait("before reverting a change in a.txt");
    screen.keys("\u{1b}");
    screen.wait_for("the end of the list", |screen| !screen.contains("Rewind to before"));
    screen.keys("look again\r");
    screen.wait("I see.");
    let requests = server.requests();
    let last = requests.last().unwrap().body.to_string();
    assert!(last.contains("rewound these files") && last.contains("a.txt"), "{last}");
}

#[test]
fn a_million_tokens_are_opened_and_searched() {
    let server = FakeServer::start(vec![]);
    let place = place();
    let paths = Paths { config: place.home(), state: place.home().join("state") };
    let workspace = place.project().canonicalize().unwrap();
    let mut log =
        SessionLog::create(&paths.project(&workspace), "20260101-000000-aaaa", &workspace, |_| ()).unwrap();
    for n in 0..4_000_u64 {
        let word = if n == 80 { "needle" } else { "hay" };
        let text = format!("item {n} {word}: {}", "some words of an answer, ".repeat(40));
        let item = if n % 8 == 0 { Item::User(UserMessage::new(&text)) } else { Item::assistant(text) };
        let record = ItemRecord { id: ItemId(n + 1), ms: 1, tokens: 250, item: Arc::new(item) };
        log.append(&Record::Item(record)).unwrap();
    }
    drop(log);
    let url = server.base_url();
    let args = ["--base-url", &url, "--model", "m", "-c"];
    let mut screen = Screen::start(&place, &args, 200, 50);
    screen.wait_for("the session", |screen| screen.contains("item 3999") && screen.contains("· ask"));
    screen.keys(TRANSCRIPT);
    screen.wait("500 turns · 100%");
    screen.keys("/NEEDLE\r");
    screen.wait("item 80 needle");
    screen.keys("g");
    screen.wait("item 0 hay");
    let status = std::fs::read_to_string(format!("/proc/{}/status", screen.process_id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib < 150 * 1024, "{kib} KiB");
}

#[test]
fn sessions_are_exported() {
    let answer_text = "It is **this**:\n\n```rust\nfn main() {}\n```\n\n<script>alert(1)</script>";
    let server = FakeServer::start(vec![
        answer().call("Bash", json!({"command": "echo out"})).into(),
        answer().text(answer_text).into(),
    ]);
    let place = place();
    let output = place.exec(&server.base_url(), &["--permission", "full", "what is it?"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let export = |args: &[&str]| {
        let output = place.command(&[&["export"], args].concat()).output().unwrap();
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let (_, markdown, _) = export(&[]);
    assert!(markdown.starts_with("# what is it?\n"), "{markdown}");
    assert!(markdown.contains("- `Bash echo out` — exit 0 · 1 line\n"), "{markdown}");
    assert!(markdown.contains("```rust\nfn main() {}\n```"), "{markdown}");
    let (_, html, _) = export(&["--format", "html"]);
    assert!(html.contains("<span class=\"keyword\">fn</span>") && !html.contains("<script>"), "{html}");
    assert!(html.contains("<pre>out\n</pre>") || html.contains("<pre>out</pre>"), "{html}");
    let (_, text, _) = export(&["-f", "json"]);
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(whole["format"], "mycode-session");
    assert_eq!(whole["items"][0]["item"]["user"]["text"], "what is it?");
    assert_eq!(whole["turns"].as_array().unwrap().len(), 1);
    let (code, _, _) = export(&["--svg", "--columns", "60", "--out", "picture.svg"]);
    assert_eq!(code, Some(0));
    let svg = place.text("picture.svg");
    assert!(svg.starts_with("<svg xmlns") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(svg.contains(">fn</tspan>") && svg.contains("&lt;script&gt;") && svg.contains("✓ Done"), "{svg}");
    let (code, _, error) = export(&["--out", "picture.svg"]);
    assert!(code == Some(1) && error.contains("already exists"), "{error}");
    assert_eq!(place.text("picture.svg"), svg);
    assert_eq!(export(&["--out", "picture.svg", "--force", "-f", "md"]).0, Some(0));
    assert!(place.text("picture.svg").starts_with("# what is it?"));
}

#[test]
fn a_sub_agents_work_is_opened_from_its_call() {
    let server = FakeServer::start(vec![
        answer()
            .call("Task", json!({"description": "count", "prompt": "count them", "type": "explore"}))
            .into(),
        answer().call("Bash", json!({"command": "echo seven swans"})).into(),
        answer().text("There are seven.").into(),
        answer().text("Seven, it says.").into(),
    ]);
    let place = place();
    let mut screen = chat(&place, &server, (80, 24), &[]);
    screen.wait("ask");
    screen.keys("how many?\r");
    screen.wait("Done");
    screen.keys(EXPAND);
    screen.wait("o sub-agent's work");
    screen.keys("o");
    let work = screen.wait("seven swans");
    assert!(work.contains("Sub-agent") && work.contains("count them"), "{work}");
    screen.keys("q");
    screen.wait_for("the call again", |screen| {
        screen.contains("o sub-agent") && !screen.contains("seven swans")
    });
    screen.keys("q");
    screen.wait("Type a task");
}

#[test]
fn the_mouse_scrolls_and_copies() {
    let server = FakeServer::start(vec![answer().text(&lines(60)).into()]);
    let place = place();
    std::fs::write(place.home().join("config.toml"), "mouse = true\n").unwrap();
    let mut screen = chat(&place, &server, (100, 30), &[]);
    screen.wait("ask");
    screen.keys("go\r");
    screen.wait("Done");
    screen.keys("\u{1b}[<64;9;9M");
    screen.wait("1 turn · 100%");
    screen.keys("\u{1b}[<0;3;5M\u{1b}[<0;3;7m");
    screen.wait("copied");
    screen.keys("q");
    screen.wait("Type a task");
    assert!(screen.raw().contains("\u{1b}[?1002h"));
}
