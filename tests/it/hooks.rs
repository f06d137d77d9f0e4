//! Hooks: what is set up for Claude Code runs here, is told what its scripts look for, and decides.

use serde_json::{Value, json};

use crate::support::answer::{Reply, answer};
use crate::support::replies::call;
use crate::support::screen::Screen;
use crate::support::server::FakeServer;
use crate::support::workplace::{Workplace, stderr, stdout};

/// A project with these hooks in Claude Code's settings.
fn place(hooks: Value) -> Workplace {
    let place = Workplace::new();
    place.file("a.txt", "alpha\n").file(".claude/settings.json", json!({"hooks": hooks}).to_string());
    place
}

fn command(command: &str) -> Value {
    json!({"type": "command", "command": command})
}

fn on(matcher: &str, handler: Value) -> Value {
    json!([{"matcher": matcher, "hooks": [handler]}])
}

/// Runs a task in the trusted project; what the model was told, all requests as one text, and standard error.
fn run(place: &Workplace, replies: Vec<Reply>, args: &[&str]) -> (Vec<String>, String) {
    let server = FakeServer::start(replies);
    let out = place.exec(&server.base_url(), &[&["--trust", "--permission", "auto", "do it"], args].concat());
    (server.requests().iter().map(|request| request.raw.clone()).collect(), stderr(&out))
}

fn done() -> Reply {
    answer().text("Done.").into()
}

fn told(place: &Workplace, name: &str) -> Vec<Value> {
    place.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const KEEP: &str = "cat >> told.jsonl; echo >> told.jsonl";

#[test]
fn scripts_find_the_fields_that_they_look_for() {
    let place = place(json!({
        "SessionStart": on("startup", command("cat >> told.jsonl; echo >> told.jsonl; echo branch is main")),
        "UserPromptSubmit": on("", command(KEEP)),
        "PreToolUse": on("Edit|Write", command(KEEP)),
        "PostToolUse": on("Edit|Write|Bash", command(KEEP)),
        "PostToolUseFailure": on("Bash", command(KEEP)),
        "Stop": on("", command(KEEP)),
        "SessionEnd": on("", command(KEEP)),
    }));
    let replies = vec![
        call("Write", json!({"path": "b.txt", "content": "beta\n"})),
        call("Bash", json!({"cmd": "exit 3"})),
        done(),
    ];
    let (requests, said) = run(&place, replies, &[]);
    let told = told(&place, "told.jsonl");
    let events: Vec<&str> = told.iter().map(|told| told["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(
        events,
        [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "SessionEnd"
        ]
    );
    assert_eq!((&told[0]["source"], &told[1]["prompt"]), (&json!("startup"), &json!("do it")));
    let file = place.project().join("b.txt");
    for told in &told[2..4] {
        assert_eq!(
            (&told["tool_name"], told["tool_input"]["file_path"].as_str()),
            (&json!("Write"), file.to_str())
        );
    }
    assert_eq!(told[3]["tool_response"]["filePath"].as_str(), file.to_str());
    assert_eq!(told[4]["tool_input"]["command"], "exit 3");
    assert!(told[4]["error"].as_str().unwrap().starts_with("Exit code 3"));
    assert_eq!(told[5]["last_assistant_message"], "Done.");
    for told in &told {
        assert_eq!(told["cwd"].as_str(), place.project().to_str());
        assert_eq!(
            told["session_id"],
            told["transcript_path"]
                .as_str()
                .map(|path| { std::path::Path::new(path).file_stem().unwrap().to_str().unwrap().to_owned() })
                .unwrap()
        );
        assert_eq!(told["permission_mode"], "acceptEdits");
    }
    assert!(requests[0].contains("branch is main"), "{}", requests[0]);
    assert!(
        said.contains("hook cat >> told.jsonl; echo") && said.contains("added 14 characters to the context"),
        "{said}"
    );
    assert_eq!(said.matches("hook ").count(), 1, "the silent ones are not shown: {said}");
}

#[test]
fn a_no_before_a_tool() {
    let script = r#"c=$(jq -r .tool_input.command 2>/dev/null || sed -n 's/.*"command":"\([^"]*\)".*/\1/p'); echo "never $c" >&2; exit 2"#;
    let place = place(json!({"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "if": "Bash(touch *)", "command": script}
    ]}]}));
    let replies = vec![
        call("Bash", json!({"command": "echo x && touch made"})),
        call("Bash", json!({"command": "echo fine"})),
        done(),
    ];
    let (requests, said) = run(&place, replies, &[]);
    assert!(!place.project().join("made").exists());
    assert!(requests[1].contains("denied this call: never"), "{}", requests[1]);
    assert!(requests[2].contains("fine"));
    assert!(said.contains("blocked Bash: never"), "{said}");
}

#[test]
fn other_arguments_context_and_yes() {
    let answer_of = |specific: Value| format!("echo '{}'", json!({"hookSpecificOutput": specific}));
    let changes =
        answer_of(json!({"hookEventName": "PreToolUse", "updatedInput": {"command": "echo changed"},
        "additionalContext": "mind the gap"}));
    let allows = answer_of(json!({"hookEventName": "PreToolUse", "permissionDecision": "allow"}));
    let place = place(json!({"PreToolUse": [
        {"matcher": "^Bash$", "hooks": [command(&changes)]},
        {"matcher": "Write", "hooks": [command(&allows)]},
    ]}));
    let server = FakeServer::start(vec![
        call("Bash", json!({"command": "echo original"})),
        call("Write", json!({"path": "b.txt", "content": "x"})),
        call("Write", json!({"path": ".git/hooks/pre-commit", "content": "x"})),
        done(),
    ]);
    let out = place.exec(&server.base_url(), &["--trust", "--permission", "ask", "do it"]);
    let requests = server.requests();
    let last = requests[1].body["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(
        last.contains("changed") && last.contains("mind the gap") && !last.contains("original"),
        "{last}"
    );
    assert!(place.project().join("b.txt").exists(), "{}", stderr(&out));
    assert!(
        !place.project().join(".git").exists(),
        "a hook's yes does not open what controls other programs"
    );
    let said = stderr(&out);
    assert!(said.contains("allowed Write") && said.contains("can't allow Write; only you can"), "{said}");
}

#[test]
fn failures_and_time_limits_are_told_and_stop_nothing() {
    let place = place(json!({"PreToolUse": [{"matcher": "Read", "hooks": [
        {"type": "command", "command": "sleep 600 & sleep 600", "timeout": 0.2},
        command("no-such-program-here"),
        {"type": "http", "url": "http://localhost:1/x"},
    ]}, {"matcher": "Bash", "hooks": [
        {"type": "command", "command": "exit 1", "onFailure": "block"},
    ]}]}));
    let replies =
        vec![call("Read", json!({"path": "a.txt"})), call("Bash", json!({"command": "touch made"})), done()];
    let (requests, said) = run(&place, replies, &[]);
    assert!(requests[1].contains("alpha"), "the call ran");
    assert!(said.contains("timed out after 0.2 s, its limit; continuing without it"), "{said}");
    assert!(said.contains("failed: exit code 127"), "{said}");
    assert!(said.contains("hooks of type http are not supported"), "{said}");
    assert!(!place.project().join("made").exists() && said.contains("that counts as a denial"), "{said}");
}

#[test]
fn a_hook_that_fails_at_every_call_is_told_of_once() {
    let throws = "echo 'node:internal/x:1\n\nError: Cannot find module' >&2; exit 1";
    let place = place(json!({"PreToolUse": on("", command(&throws.replace("\\n", "'; echo '")))}));
    let read = || call("Read", json!({"path": "a.txt"}));
    let (_, said) = run(&place, vec![read(), read(), done()], &[]);
    assert_eq!(said.matches("failed: exit code 1").count(), 1, "{said}");
}

#[test]
fn a_question_is_answered_by_a_hook_and_the_user_is_notified_of_others() {
    let place = place(json!({
        "PermissionRequest": [
            {"matcher": "Write", "hooks": [command("echo not today >&2; exit 2")]},
            {"matcher": "Edit", "hooks": [command(
                r#"echo '{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}'"#
            )]},
        ],
        "Notification": on("permission_prompt", command(KEEP)),
    }));
    let server = FakeServer::start(vec![
        call("Write", json!({"path": "b.txt", "content": "x"})),
        call("Read", json!({"path": "a.txt"})),
        call("Edit", json!({"path": "a.txt", "edits": [{"old_string": "alpha", "new_string": "beta"}]})),
        call("Bash", json!({"command": "touch made"})),
        done(),
    ]);
    let url = server.base_url();
    let args = ["--trust", "--permission", "ask", "--base-url", &url, "--model", "test-model"];
    let mut screen = Screen::start(&place, &args, 100, 30);
    screen.wait("test-model");
    screen.keys("work\r");
    screen.wait("blocked Write: not today");
    screen.wait("allowed Edit");
    screen.wait("touch made");
    while !place.project().join("told.jsonl").exists() {
        std::thread::yield_now();
    }
    screen.keys("y");
    screen.wait("Done.");
    let told = told(&place, "told.jsonl");
    assert_eq!(told[0]["notification_type"], "permission_prompt");
    assert!(told[0]["message"].as_str().unwrap().contains("touch made"), "{told:?}");
    assert_eq!((place.text("a.txt").as_str(), place.project().join("b.txt").exists()), ("beta\n", false));
}

#[test]
fn compaction_is_told_and_can_be_refused() {
    let compacted = |exit: &str| {
        let script = format!("{KEEP}; echo keep all >&2; {exit}");
        let place =
            place(json!({"PreCompact": on("auto", command(&script)), "PostCompact": on("", command(KEEP))}));
        let replies = (0..20).map(|_| answer().text(&"Yes. ".repeat(400)).into()).collect();
        let server = FakeServer::start(replies);
        let mut said = String::new();
        for turn in 0..7 {
            let text = "And then what follows from that? ".repeat(150);
            let more: &[&str] = if turn == 0 { &[&text] } else { &["-c", &text] };
            let out =
                place.exec(&server.base_url(), &[&["--trust", "--context-window", "16000"], more].concat());
            said.push_str(&stderr(&out));
        }
        let events = told(&place, "told.jsonl").into_iter().map(|told| {
            assert_eq!(told["trigger"], "auto");
            told["hook_event_name"].as_str().unwrap().to_owned()
        });
        (events.collect::<Vec<_>>(), said)
    };
    let (events, said) = compacted("exit 0");
    assert_eq!(events[..2], ["PreCompact", "PostCompact"], "{said}");
    let (events, said) = compacted("exit 2");
    assert!(events.iter().all(|event| event == "PreCompact"), "{events:?}");
    assert!(said.contains("blocked compaction: keep all"), "{said}");
}

#[test]
fn what_runs_in_the_background_has_a_moment_at_the_end() {
    let background = |command: &str| json!({"type": "command", "command": command, "async": true});
    let place = place(json!({
        "Stop": on("", background("sleep 0.2; touch heard")),
        "SessionEnd": on("", command("echo so long >&2; exit 1")),
    }));
    let (_, said) = run(&place, vec![done()], &[]);
    assert!(place.project().join("heard").exists());
    assert!(said.contains("(SessionEnd) failed: exit code 1: so long"), "{said}");
}

#[test]
fn a_prompt_can_be_refused_and_a_turn_kept_going() {
    let blocked = place(json!({"UserPromptSubmit": on("", command("echo no secrets >&2; exit 2"))}));
    let (requests, said) = run(&blocked, vec![], &[]);
    assert!(requests.is_empty() && said.contains("blocked the prompt: no secrets"), "{said}");
    let script =
        r#"if grep -q '"stop_hook_active":true'; then exit 0; fi; echo run the tests first >&2; exit 2"#;
    let going = place(json!({"Stop": on("", command(script))}));
    let (requests, said) = run(&going, vec![done(), answer().text("Tested.").into()], &[]);
    assert_eq!(requests.len(), 2, "{said}");
    assert!(requests[1].contains("run the tests first"), "{}", requests[1]);
    assert!(said.contains("keeps the turn going: run the tests first"), "{said}");
    let always = place(json!({"Stop": on("", command("echo never >&2; exit 2"))}));
    let (requests, said) = run(&always, (0..9).map(|_| done()).collect(), &[]);
    assert!(requests.len() == 9 && said.contains("kept the turn going 8 times"), "{said}");
    let stopped = place(
        json!({"PostToolUse": on("Read", command(r#"echo '{"continue": false, "stopReason": "enough"}'"#))}),
    );
    let (requests, said) = run(&stopped, vec![call("Read", json!({"path": "a.txt"})), done()], &[]);
    assert_eq!(requests.len(), 1, "{said}");
    assert!(said.contains("ended the turn: enough"), "{said}");
}

#[test]
fn a_hook_replaces_a_result() {
    for output in [json!("[gone]"), json!({"stdout": "[gone]", "stderr": "", "interrupted": false})] {
        let said =
            json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}});
        let place = place(json!({"PostToolUse": on("Bash", command(&format!("echo '{said}'")))}));
        let (requests, said) =
            run(&place, vec![call("Bash", json!({"command": "rev <<< 3-yek"})), done()], &[]);
        assert!(requests[1].contains("[gone]") && !requests[1].contains("key-3"), "{said}{}", requests[1]);
    }
}

#[test]
fn what_a_formatter_changes_is_told_and_can_be_undone() {
    let place =
        place(json!({"PostToolUse": on("Write", command("tr a-z A-Z < b.txt > b.new; mv b.new b.txt"))}));
    let replies = vec![call("Write", json!({"path": "b.txt", "content": "beta\n"})), done()];
    let (requests, _) = run(&place, replies, &[]);
    assert_eq!(place.text("b.txt"), "BETA\n");
    assert!(requests[1].contains("+BETA"), "{}", requests[1]);
    let out = place.command(&["rewind", "--to", "1", "--files", "--yes"]).output().unwrap();
    assert!(!place.project().join("b.txt").exists(), "{}{}", stdout(&out), stderr(&out));
}

#[test]
fn sub_agents_and_their_tools_have_the_same_hooks() {
    let place = place(
        json!({"PreToolUse": on("Read|Agent", command(KEEP)), "SubagentStop": on("Explore", command(KEEP))}),
    );
    let replies = vec![
        call("Task", json!({"type": "explore", "prompt": "look"})),
        call("Read", json!({"path": "a.txt"})),
        answer().text("Found.").into(),
        done(),
    ];
    run(&place, replies, &[]);
    let told = told(&place, "told.jsonl");
    let of = |at: usize| (told[at]["tool_name"].as_str(), told[at]["agent_type"].as_str());
    assert_eq!((of(0), of(1)), ((Some("Agent"), None), (Some("Read"), Some("Explore"))));
    assert_eq!(
        (&told[2]["hook_event_name"], &told[2]["last_assistant_message"]),
        (&json!("SubagentStop"), &json!("Found."))
    );
    assert_eq!(told[0]["session_id"], told[1]["session_id"]);
}

#[test]
fn only_what_is_trusted_runs_and_all_is_listed() {
    let place = place(json!({"Stop": on("", command("touch ran")), "WorktreeCreate": []}));
    std::fs::write(
        place.home().join("hooks.json"),
        json!({"hooks": {"PreToolUse": on("Bash", command("true"))}}).to_string(),
    )
    .unwrap();
    let server = FakeServer::start(vec![done(), done()]);
    let said = stderr(&place.exec(&server.base_url(), &["do it"]));
    assert!(!place.project().join("ran").exists());
    assert!(said.contains("This project defines hooks (.claude/settings.json). Ignored"), "{said}");
    let list = |args: &[&str]| stdout(&place.command(args).output().unwrap());
    let listed = list(&["hooks"]);
    assert!(listed.contains("PreToolUse Bash: true (600 s;"), "{listed}");
    assert!(listed.contains("Stop: touch ran (600 s; .claude/settings.json, not trusted"), "{listed}");
    assert!(listed.contains("not run: WorktreeCreate: mycode has no such event"), "{listed}");
    list(&["trust"]);
    assert!(!list(&["hooks"]).contains("not trusted"));
    place.exec(&server.base_url(), &["do it"]);
    assert!(place.project().join("ran").exists());
}

#[test]
fn our_keys_are_not_handed_on_and_an_interrupt_ends_a_hook() {
    let place = place(json!({"UserPromptSubmit": on("", command("env > env.txt")),
        "PreToolUse": on("Read", command("touch begun; sleep 600"))}));
    let server = FakeServer::start(vec![call("Read", json!({"path": "a.txt"})), done()]);
    let url = server.base_url();
    let mut screen = Screen::start(&place, &["--trust", "--base-url", &url, "--model", "test-model"], 80, 24);
    screen.wait("test-model");
    screen.keys("look\r");
    screen.wait("Read a.txt");
    while !place.project().join("begun").exists() {
        std::thread::yield_now();
    }
    screen.keys("\u{1b}");
    screen.wait("nterrupted");
    let environment = place.text("env.txt");
    assert!(environment.contains("CLAUDE_PROJECT_DIR=") && !environment.contains("MYCODE_"), "{environment}");
    screen.keys("/hooks\r");
    screen.wait("PreToolUse Read: touch begun");
}

#[test]
fn hooks_hear_of_every_file_of_a_patch() {
    let script = r#"cat > last.json; grep -q '"file_path":"[^"]*secret.txt"' last.json && { echo "not this file" >&2; exit 2; }; cat last.json >> told.jsonl; echo >> told.jsonl"#;
    let place = place(json!({"PreToolUse": on("Edit", command(script))}));
    place.file("a.txt", "a\n").file("secret.txt", "b\n");
    let both = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+x\n*** Update File: secret.txt\n@@\n-b\n+x\n*** End Patch";
    let one = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+y\n*** End Patch";
    let replies = vec![
        call("Read", json!({"path": "a.txt"})),
        call("Read", json!({"path": "secret.txt"})),
        call("apply_patch", json!({"input": both})),
        call("Bash", json!({"command": format!("apply_patch <<'EOF'\n{both}\nEOF")})),
        call("apply_patch", json!({"input": one})),
        done(),
    ];
    let (requests, said) = run(&place, replies, &[]);
    assert!(requests[3].contains("denied this call: not this file"), "{} {said}", requests[3]);
    assert!(requests[4].contains("denied this call: not this file"), "{}", requests[4]);
    assert_eq!((place.text("a.txt"), place.text("secret.txt")), ("y\n".into(), "b\n".into()));
    let files: Vec<Value> =
        told(&place, "told.jsonl").iter().map(|one| one["tool_input"]["file_path"].clone()).collect();
    let a = json!(place.project().join("a.txt"));
    assert_eq!(files, [a.clone(), a.clone(), a]);
}
