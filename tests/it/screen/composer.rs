//! Writing in the composer: what was cut comes back, the editor, earlier prompts, drafts, pictures.

use std::os::unix::fs::PermissionsExt;

use crate::support::answer::answer;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;

fn place() -> Workplace {
    let place = Workplace::new();
    place.file("CODE_LAW.md", "Be kind.\n");
    place
}

fn chat_with(place: &Workplace, server: &FakeServer, vars: &[(&str, &str)]) -> Screen {
    let url = server.base_url();
    let screen = Screen::start_with(place, &["--base-url", &url, "--model", "test-model"], (80, 24), vars);
    screen.wait("· ask");
    screen
}

fn chat(place: &Workplace, server: &FakeServer) -> Screen {
    chat_with(place, server, &[])
}

/// An executable script in the project.
fn script(place: &Workplace, name: &str, text: &str) -> String {
    place.file(name, format!("#!/bin/sh\n{text}\n"));
    let path = place.project().join(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn cut_put_back_undone_and_redone() {
    let (place, server) = (place(), FakeServer::start(vec![]));
    let mut screen = chat(&place, &server);
    screen.keys("see src/a-b.rs");
    screen.wait("› see src/a-b.rs");
    // Ctrl-W cuts to a space, Alt-Backspace only a word; Ctrl-Y and Alt-Y put back.
    screen.keys("\u{17}");
    screen.wait_for("the cut word", |screen| screen.contains("› see") && !screen.contains("src"));
    screen.keys("x y\u{1b}\u{7f}\u{19}\u{1b}y");
    screen.wait("› see x src/a-b.rs");
    screen.keys("\u{1f}");
    screen.wait_for("undo", |screen| screen.contains("› see x y"));
    screen.keys("\u{1b}r");
    screen.wait("› see x src/a-b.rs");
    // Words: Esc b, Ctrl-Left as xterm sends it.
    screen.keys("\u{1b}b\u{1b}[1;5D!");
    screen.wait("› see x src/!a-b.rs");
}

#[test]
fn the_text_is_written_in_an_editor() {
    let server = FakeServer::start(vec![answer().text("Done so.").into()]);
    let place = place();
    let editor =
        script(&place, "editor.sh", "sed -i 's/draft/text of the editor/' \"$1\"; cp \"$1\" seen.txt");
    let mut screen = chat_with(&place, &server, &[("EDITOR", &editor)]);
    screen.keys(&format!("\u{1b}[200~{}\u{1b}[201~ my draft\u{7}", "line\n".repeat(30)));
    screen.wait("my text of the editor");
    assert!(place.text("seen.txt").starts_with("line\nline\n"), "a folded paste is shown whole");
    screen.keys("\r");
    screen.wait("Done so.");
    assert!(server.requests()[0].raw.contains("line\\n my text of the editor"));
}

#[test]
fn folded_pastes_open() {
    let (place, server) = (place(), FakeServer::start(vec![]));
    let mut screen = chat(&place, &server);
    screen.keys(&format!("\u{1b}[200~{}last\u{1b}[201~", "line\n".repeat(12)));
    screen.wait("[Pasted 13 lines]");
    screen.keys("\u{1b}e");
    screen.wait_for("the open paste", |screen| screen.contains("  last") && !screen.contains("[Pasted"));
    screen.keys("\u{1f}");
    screen.wait("[Pasted 13 lines]");
}

#[test]
fn earlier_prompts_of_all_projects_are_found() {
    let server = FakeServer::start(vec![answer().text("One.").into(), answer().text("Two.").into()]);
    let place = place();
    let mut screen = chat(&place, &server);
    screen.keys("mend the parser, key sk-ant-REDACTED\r");
    screen.wait("One.");
    screen.keys("write the docs\r");
    screen.wait("Two.");
    screen.keys("/quit\r");
    assert_eq!(screen.end(), 0);
    let file = place.home().join("state/prompts.jsonl");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("abcdefghijklmnop"), "secrets stay out");

    let other = Workplace::new();
    other.file("CODE_LAW.md", "Be kind.\n");
    std::fs::create_dir_all(other.home().join("state")).unwrap();
    std::fs::copy(&file, other.home().join("state/prompts.jsonl")).unwrap();
    let mut screen = chat(&other, &server);
    screen.keys("half\u{12}");
    screen.wait("▸ write the docs");
    screen.keys("parser");
    screen.wait_for("one found", |screen| screen.contains("search: parser") && !screen.contains("docs"));
    // Esc keeps what stood there.
    screen.keys("\u{1b}");
    screen.wait_for("closed", |screen| screen.contains("› half") && !screen.contains("Earlier prompts"));
    screen.keys("\u{12}");
    screen.wait("▸ write the docs");
    screen.keys("\u{12}\r");
    screen.wait("› mend the parser");
}

#[test]
fn a_draft_survives_a_crash_and_not_a_sent_message() {
    let server = FakeServer::start(vec![answer().text("Sent.").into()]);
    let place = place();
    let mut screen = chat(&place, &server);
    screen.keys("half a thought");
    screen.wait("half a thought");
    let drafts = || {
        let files = std::fs::read_dir(place.home().join("state/projects")).into_iter().flatten().flatten();
        let inside = |entry: std::fs::DirEntry| std::fs::read_dir(entry.path().join("drafts")).ok();
        files
            .filter_map(inside)
            .flatten()
            .flatten()
            .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
            .collect()
    };
    let kept = |wanted: &[&str]| {
        while {
            let found: Vec<String> = drafts();
            found != wanted
        } {
            std::thread::yield_now();
        }
    };
    kept(&["half a thought"]);
    let process = rustix::process::Pid::from_raw(screen.process_id().cast_signed()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    screen.end();
    let mut screen = chat(&place, &server);
    screen.wait("› half a thought");
    screen.keys("\r");
    screen.wait("Sent.");
    kept(&[]);
    screen.keys("\u{4}");
    assert_eq!(screen.end(), 0);
    let mut screen = chat(&place, &server);
    screen.keys("new");
    screen.wait("› new");
}

#[test]
fn a_picture_is_pasted_from_the_clipboard() {
    let server = FakeServer::start(vec![answer().text("A dot.").into()]);
    let place = place();
    let dot =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    script(&place, "bin/xclip", &format!("echo {dot} | base64 -d"));
    let path = format!("{}:{}", place.project().join("bin").display(), std::env::var("PATH").unwrap());
    let mut screen = chat_with(&place, &server, &[("DISPLAY", ":0"), ("PATH", &path)]);
    screen.keys("what is \u{16}");
    screen.wait(".png");
    screen.keys("\r");
    screen.wait("A dot.");
    assert!(server.requests()[0].raw.contains("data:image/png;base64"), "{}", server.requests()[0].raw);
    let mut screen = chat_with(&place, &server, &[]);
    screen.keys("\u{16}");
    screen.wait("no clipboard here");
}
