//! What a newcomer does in the first hour and other agents get right: pipes that close early, a task from a pipe, the
//! demo that is typed on into, a file of megabytes.

use std::io::Read;
use std::process::Stdio;

use serde_json::json;

use crate::support::answer::answer;
use crate::support::answer::status;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::Workplace;
use crate::support::workplace::stderr;
use crate::support::workplace::stdout;

#[test]
fn closed_pipe() {
    let place = Workplace::new();
    for args in [&["completions", "bash"][..], &["doctor", "--config"], &["sessions"]] {
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
}

#[test]
fn task_from_pipe() {
    let server = FakeServer::start(vec![answer().text("It was piped.").into()]);
    let place = Workplace::new();
    place.file("task.txt", "what came through the pipe?\n");
    let task = std::fs::File::open(place.project().join("task.txt")).unwrap();
    let output = place
        .command(&["--base-url", &server.base_url(), "--model", "m", "exec"])
        .stdin(task)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "It was piped.");
    let nothing = place.command(&["exec"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    assert!(stderr(&nothing).contains("the task is empty"), "{}", stderr(&nothing));
}

#[test]
fn typing_after_the_demo() {
    let place = Workplace::new();
    let mut screen = Screen::start(&place, &["demo"], 100, 30);
    for question in ["Allow Bash", "Allow Edit", "Allow Bash"] {
        screen.wait(question);
        screen.keys("1");
    }
    screen.wait("✓ Done");
    screen.keys("hello there\r");
    screen.wait("End of the demo");
    screen.keys("and more?\r");
    screen.wait_for("the second answer", |screen| screen.matches("End of the demo").count() == 2);
    assert!(!screen.raw().contains("No answer from the model"));
}

#[test]
fn large_file_diff_count() {
    let content = "世界 line of some text\n".repeat(60_000);
    let server = FakeServer::start(vec![
        answer().call("Write", json!({"path": "big.txt", "content": content})).into(),
        answer().text("Written.").into(),
    ]);
    let place = Workplace::new();
    let output = place.exec(&server.base_url(), &["--permission", "full", "write it"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(place.text("big.txt"), content);
    let shown = stderr(&output);
    let more = shown.lines().find_map(|line| line.trim().strip_prefix("… ")?.strip_suffix(" more lines"));
    let listed = shown.lines().filter(|line| line.starts_with("    +") || line.starts_with("    @@")).count();
    let more: usize = more.unwrap_or_else(|| panic!("{shown}")).parse().unwrap();
    assert_eq!(more + listed, 60_001, "all lines and the hunk's head");
}

#[test]
fn impossible_change_is_not_asked() {
    let unread = json!({"path": "a.txt", "old_string": "alpha", "new_string": "omega"});
    let server = FakeServer::start(vec![
        answer().call("Edit", unread).into(),
        answer().call("Write", json!({"path": "b.txt", "content": "new\n"})).into(),
        answer().text("All right.").into(),
    ]);
    let place = Workplace::new();
    place.file("a.txt", "alpha\n");
    let mut screen =
        Screen::start(&place, &["--base-url", &server.base_url(), "--model", "m", "change it"], 100, 30);
    let shown = screen.wait("Allow Write b.txt");
    assert!(shown.contains("a.txt has not been read yet"), "{shown}");
    screen.keys("1");
    screen.wait("All right.");
    assert_eq!(place.text("b.txt"), "new\n");
    assert_eq!(place.text("a.txt"), "alpha\n");
}

#[test]
fn doctor_tests_the_model() {
    let server = FakeServer::start(vec![answer().text("ok").into(), status(401, "no such key")]);
    let place = Workplace::new();
    let url = server.base_url();
    let doctor = || place.command(&["--base-url", &url, "--model", "m", "doctor"]).output().unwrap();
    let well = doctor();
    assert_eq!(well.status.code(), Some(0), "{}", stdout(&well));
    assert!(stdout(&well).contains("answers         yes, in"), "{}", stdout(&well));
    assert!(stdout(&well).contains("model facts as of 20"), "{}", stdout(&well));
    let refused = doctor();
    assert_ne!(refused.status.code(), Some(0));
    assert!(
        stdout(&refused).contains("answers         no: ")
            && stdout(&refused).contains("check that the API key")
    );
}

#[test]
fn help_options() {
    let place = Workplace::new();
    let help = |args: &[&str]| {
        let output = place.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        stdout(&output)
    };
    let exec = help(&["help", "exec"]);
    assert_eq!(exec, help(&["exec", "--help"]));
    for option in ["--model", "--continue", "--max-steps", "--permission", "--json"] {
        assert!(exec.contains(option), "{option}: {exec}");
    }
    for command in [&["sessions"][..], &["trust"], &["locate"], &["notes", "list"], &["rewind"]] {
        let text = help(&[command, &["--help"]].concat());
        assert!(text.contains("--cd") && !text.contains("--model") && !text.contains("--continue"), "{text}");
    }
    let demo = help(&["demo", "--help"]);
    assert!(!demo.contains("--cd") && !demo.contains("Model"), "{demo}");
    // What does not act is still accepted, in front and behind.
    help(&["--model", "m", "sessions", "--max-steps", "3"]);
}

#[test]
fn mistyped_command() {
    let server = FakeServer::start(vec![answer().text("You are in.").into()]);
    let place = Workplace::new();
    let url = server.base_url();
    let run = |args: &[&str]| {
        place.command(&[&["--base-url", &url, "--model", "m"][..], args].concat()).output().unwrap()
    };
    let output = run(&["deploy"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("unknown command 'deploy'"), "{}", stderr(&output));
    assert!(stderr(&output).contains("mycode -- deploy"), "{}", stderr(&output));
    assert!(stderr(&run(&["sesions"])).contains("did you mean `mycode sessions`?"));
    for args in [&["--modle", "x"][..], &["exec", "--modle=x", "y"]] {
        assert!(stderr(&run(args)).contains("a similar argument exists: '--model'"), "{args:?}");
    }
    for prompt in [&["--", "deploy"][..], &["-c", "continue"], &["Deploy"], &["src/a.rs"]] {
        let said = stderr(&run(prompt));
        assert!(said.contains("needs a terminal"), "{prompt:?}: {said}");
    }
    assert!(server.requests().is_empty());
    let sent = run(&["exec", "deploy"]);
    assert_eq!(stdout(&sent).trim(), "You are in.");
}

#[test]
fn print_flag() {
    let server = FakeServer::start(vec![]);
    server.on_body("from a pipe", answer().text("Piped."));
    server.on_body("say it", answer().text("Headless."));
    let place = Workplace::new();
    let url = server.base_url();
    let output = place.command(&["--base-url", &url, "--model", "m", "-p", "say it"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "Headless."), "{}", stderr(&output));
    place.file("task.txt", "from a pipe\n");
    let task = std::fs::File::open(place.project().join("task.txt")).unwrap();
    let output = place.command(&["-p", "--base-url", &url, "--model", "m"]).stdin(task).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "Piped."), "{}", stderr(&output));
    // Without a terminal, as Claude Code does.
    let config = format!("nudges = false\nmodel = \"m\"\nbase_url = \"{url}\"\n");
    std::fs::write(place.home().join("config.toml"), config).unwrap();
    let task = std::fs::File::open(place.project().join("task.txt")).unwrap();
    let output = place.command(&[]).stdin(task).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "Piped."), "{}", stderr(&output));
    // With options, too, and where there is no session to continue.
    let task = std::fs::File::open(place.project().join("task.txt")).unwrap();
    let elsewhere = Workplace::new();
    let options = ["--dangerously-skip-permissions", "--continue", "--base-url", &url, "--model", "m"];
    let output = elsewhere.command(&options).stdin(task).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "Piped."), "{}", stderr(&output));
    assert!(stderr(&output).contains("so a new one starts"), "{}", stderr(&output));
    assert_eq!(stdout(&place.command(&["say it"]).output().unwrap()).trim(), "Headless.");
    let old = place.command(&["exec", "-p", "full", "task"]).output().unwrap();
    assert_eq!(old.status.code(), Some(2), "-p no longer means --permission");
}

/// With keys of several vendors the chat asks which is meant, once; where no one can be asked, the first is used and said.
#[test]
fn several_keys_are_asked_about_once() {
    let place = Workplace::new();
    std::fs::write(place.home().join("config.toml"), "nudges = false\n").unwrap();
    // Nobody is reached.
    let keys = [("OPENAI_API_KEY", "ko"), ("DEEPSEEK_API_KEY", "kd"), ("HTTPS_PROXY", "http://127.0.0.1:9")];
    let out = place.command(&["exec", "--wait", "1s", "go"]).envs(keys).output().unwrap();
    let said = stderr(&out);
    assert!(said.contains("Using openai/gpt-6.2-sol, the first of 2 vendors with a key"), "{said}");
    let mut screen = Screen::start_with(&place, &[], (100, 24), &keys);
    let asked = screen.wait("chooses another:");
    assert!(
        asked.contains("[1] openai/gpt-6.2-sol") && asked.contains("[2] deepseek/deepseek-flash"),
        "{asked}"
    );
    screen.keys("2\r");
    screen.wait("/help");
    drop(screen);
    let kept = std::fs::read_to_string(place.home().join("config.toml")).unwrap();
    assert_eq!(kept, "model = \"deepseek/deepseek-flash\"\nnudges = false\n");
    let screen = Screen::start_with(&place, &[], (100, 24), &keys);
    let shown = screen.wait("deepseek-flash");
    assert!(!shown.contains("Several vendors"), "{shown}");
}
