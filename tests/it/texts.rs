//! Every text that a user sees, on a few pages to be read as one: `tests/fixtures/texts/*.txt`. After a change on
//! purpose, `UPDATE_TEXTS=1 cargo test --test it texts` writes the pages anew; review the diff.

use std::fmt::Write;
use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use mycode::cli::report::Failure;
use mycode::config::load::{self, Sources};
use mycode::config::paths::Paths;
use mycode::config::raw::Raw;
use mycode::config::settings::Permission;
use mycode::exec::human::Human;
use mycode::exec::printer::Printer;
use mycode::model::item::ItemId;
use mycode::note::error::NoteError;
use mycode::protocol::approval::{self, AskedQuestion, Question};
use mycode::protocol::event::{
    EndReason, Event, FailureCause, JobRow, Level, SessionInfo, SessionRow, TurnEnd,
};
use mycode::protocol::ledger::ItemHistory;
use mycode::protocol::notice;
use mycode::protocol::rewind::{
    FileAction, PointId, RewindDone, RewindPoint, RewindPreview, RewindRow, RewindScope,
};
use mycode::provider::api::ProviderError;
use mycode::provider::unconfigured;
use mycode::session::log::LogError;
use mycode::tui::app::App;
use mycode::tui::msg::{Cmd, Msg};
use mycode::tui::render::theme::Theme;
use mycode::tui::render::view;
use mycode::tui::update::on_message::update;

use crate::support::fake_engine as fake;
use crate::support::workplace::{Workplace, stderr, stdout};

/// Compares `text` with the stored page of that name.
fn page(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/texts").join(name);
    if std::env::var_os("UPDATE_TEXTS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (now, was)) in text.lines().zip(stored.lines()).enumerate() {
        assert_eq!(now, was, "{name}:{}; see this file's first lines", number + 1);
    }
    assert_eq!(text.lines().count(), stored.lines().count(), "{name} is longer or shorter");
}

#[test]
fn hook_notices() {
    use mycode::hook::event::HookEvent;
    use mycode::hook::notice;
    use mycode::hook::settings::NotRun;
    let limit = std::time::Duration::from_secs(600);
    let not_run = NotRun {
        what: "PreToolUse http://localhost/x".to_owned(),
        why: "hooks of type http are not supported; use a command".to_owned(),
        source: "/home/u/.claude/settings.json".into(),
    };
    let (stopped, blocked) =
        (notice::turn_stopped("guard.sh", "enough"), notice::prompt_blocked("guard.sh", "no secrets"));
    let notices = [
        notice::blocked("guard.sh", HookEvent::PreToolUse, "Bash", "rm -rf is not allowed"),
        notice::blocked("lint.sh", HookEvent::PostToolUse, "Edit", "2 errors"),
        notice::blocked("tests.sh", HookEvent::Stop, "", "run the tests first"),
        notice::blocked("keep.sh", HookEvent::PreCompact, "auto", "not now"),
        notice::allowed("guard.sh", "Bash"),
        notice::cannot_allow("guard.sh", "Write"),
        notice::asks("guard.sh", "Bash"),
        notice::changed("guard.sh", "Bash"),
        notice::added("context.sh", "branch: main"),
        notice::said("guard.sh", "be careful"),
        notice::failed("lint.sh", HookEvent::PostToolUse, "exit code 127: sh: eslint: not found", false),
        notice::failed("guard.sh", HookEvent::PreToolUse, &notice::too_slow(limit), true),
        notice::still_running("tests.sh", std::time::Duration::from_secs(5), limit, Some("Running tests")),
        notice::not_run(&[not_run.clone(), not_run]),
        format!("{}\n  hint: {}", stopped.0, stopped.1),
        format!("{}\n  hint: {}", blocked.0, blocked.1),
    ];
    page("hooks.txt", &format!("Notices about hooks\n===================\n\n{}\n", notices.join("\n")));
}

#[test]
fn agent_notices() {
    let rewound = |part, done: &[&str], left: &[(&str, &str)]| {
        notice::rewound(&RewindDone {
            part,
            done: done.iter().map(|&path| path.to_owned()).collect(),
            left: left.iter().map(|&(path, why)| (path.to_owned(), why.to_owned())).collect(),
            text: None,
            undo: "u1".to_owned(),
        })
    };
    let notices = [
        notice::compacted(98_000, 41_000),
        notice::nothing_to_compact(),
        notice::compaction_stopped(),
        notice::compaction_blocked(),
        notice::summary_not_smaller(),
        notice::summary_failed("the server timed out", false),
        notice::summary_failed("the server timed out", true),
        notice::uncompacted(98_000),
        notice::nothing_to_uncompact(),
        notice::uncompact_too_large(140_000, 115_000),
        notice::auto_compact(true),
        notice::auto_compact(false),
        notice::pin_too_large(ItemId(12), 70_000),
        notice::restore_too_large(ItemId(12), 9_000, 4_000),
        notice::unpinned_all(3),
        notice::context_limit("maximum context length is 8192 tokens"),
        notice::message_truncated(),
        notice::prompt_truncated_by_server(12_000, 4_096),
        notice::output_limit_with_calls(),
        notice::reply_filled_window(),
        notice::image_attached(&mycode::model::item::Image {
            path: "shots/a.png".into(),
            media_type: "image/png".into(),
            width: 800,
            height: 600,
            tokens: 640,
            data: "".into(),
        }),
        notice::rules_changed(),
        notice::rules_truncated(8_192),
        notice::rules_left_out("AGENTS.md", "has 2.0 MiB, more than the limit of 1.0 MiB"),
        notice::rules_hide_characters("AGENTS.md", 3),
        notice::rules_held_back("AGENTS.md"),
        notice::rules_not_imported("../private.md", "CLAUDE.md"),
        notice::skill_allows(
            "release",
            &["commands that begin with `git tag`".to_owned()],
            &["Bash(git:*)".to_owned()],
        ),
        notice::skill_allows("release", &[], &["Bash".to_owned()]),
        notice::init_choice_not_saved("disk full"),
        notice::session_not_opened("no session starts with 'abc'"),
        notice::session_busy("session 0198 is open in another mycode process"),
        notice::session_lines_skipped(1),
        notice::session_empty(),
        notice::session_stats("0198", "- Time: 5 min of work"),
        notice::log_unreadable("permission denied"),
        notice::no_such_item(ItemId(12)),
        notice::recall_no_match("parser"),
        notice::recall_more(),
        notice::model_failed("context_window is too small", "set it to 4096 or more"),
        notice::session_model_unavailable("claude-x", "anthropic", "gpt-x"),
        notice::session_model("gpt-y", "gpt-x"),
        notice::permission_changed(Permission::Auto),
        notice::rule_not_saved("disk full"),
        approval::denied(""),
        approval::denied("use ninja"),
        notice::sandbox_degraded("network isolation"),
        notice::sandbox_unavailable("The sandbox is unavailable: no user namespaces"),
        notice::no_such_job(3),
        notice::rewind_failed("there is no such point in this session"),
        rewound(RewindScope::Conversation, &[], &[]),
        rewound(RewindScope::Files, &[], &[]),
        rewound(RewindScope::Both, &["src/a.rs"], &[]),
        rewound(RewindScope::Files, &["src/a.rs", "src/b.rs"], &[("src/c.rs", "changed since")]),
    ];
    let mut text = "Notices from the agent\n======================\n".to_owned();
    for notice in notices {
        let _ = writeln!(text, "{notice}");
    }
    text.push_str("\nFailures that end a turn\n========================\n");
    for (message, hint) in [
        notice::output_limit(),
        notice::empty_reply(),
        notice::only_reasoning(),
        notice::content_filter(),
        notice::log_write_failed("the session log could not be written: disk full"),
        notice::request_too_large(5_200, 4_096, 3_000),
        notice::window_filled(),
        notice::tool_failed("the state folder is gone"),
    ] {
        let _ = writeln!(text, "error: {message}\nhint: {hint}");
    }
    page("notices.txt", &text);
}

/// The help of a command and of all its subcommands.
fn help(command: &mut clap::Command, text: &mut String) {
    let name = command.get_bin_name().unwrap_or("mycode").to_owned();
    let _ = writeln!(text, "{}\n$ {name} --help\n{}", "=".repeat(100), command.render_long_help());
    for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "help") {
        help(subcommand, text);
    }
}

#[test]
fn help_pages() {
    let mut command = mycode::cli::args::command().term_width(100);
    command.build();
    let mut text = String::new();
    help(&mut command, &mut text);
    page("help.txt", &text);
}

#[test]
fn errors() {
    let message = || "the server's own words".to_owned();
    let url = || "http://localhost:11434/v1".to_owned();
    let provider: Vec<ProviderError> = vec![
        ProviderError::Auth { status: 401, message: message() },
        ProviderError::NotFound { url: url(), message: message() },
        ProviderError::BadRequest { status: 400, message: message() },
        ProviderError::BadRequest { status: 402, message: message() },
        ProviderError::ContextFull { message: message() },
        ProviderError::WrongEndpoint { url: url(), message: message() },
        ProviderError::ReasoningRejected { message: message() },
        ProviderError::RateLimited { status: 429, message: message(), retry_after: None },
        ProviderError::Server { status: 500, message: message(), retry_after: None },
        ProviderError::Connect { url: url(), message: message() },
        ProviderError::Tls { url: url(), message: message() },
        ProviderError::Broken { message: message() },
        ProviderError::Stalled { seconds: 300 },
        ProviderError::TooLong { seconds: 3_600 },
        ProviderError::TooLarge { message: "it repeats the same words over and over".to_owned() },
        ProviderError::Protocol { message: message() },
        ProviderError::Script { message: "line 2: unknown field".to_owned() },
        ProviderError::Setup { message: format!("no model is configured; {}", unconfigured::ADVICE) },
    ];
    let mut text = "The model's server\n==================\n".to_owned();
    for error in provider {
        let kept = error.hint(true);
        let failure = Failure::from(error);
        let _ = write!(text, "{failure}");
        if kept != failure.hint {
            let _ = writeln!(text, "hint, where the message is kept: {kept}");
        }
        text.push('\n');
    }
    text.push_str("Sessions and notes\n==================\n");
    let denied = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    for failure in [
        Failure::from(LogError::Busy { id: "0198".to_owned() }),
        LogError::Io { path: "/state/0198.jsonl".into(), action: "written", source: denied() }.into(),
        NoteError::Outside("/project/.mycode/notes".into()).into(),
        NoteError::NotFolder("/project/.mycode/notes".into()).into(),
        NoteError::NoSuch { wanted: "login".to_owned(), near: String::new() }.into(),
        NoteError::Ambiguous { wanted: "log".to_owned(), candidates: "login, logout".to_owned() }.into(),
        NoteError::FrontMatter { name: "login.md".to_owned(), why: "a key appears twice".to_owned() }.into(),
        NoteError::Busy.into(),
        denied().into(),
    ] {
        let _ = writeln!(text, "{failure}");
    }
    text.push_str("Configuration\n=============\n");
    for (flags, vars) in [
        ("provider = \"scripted\"", &[][..]),
        ("base_url = \"localhost\"", &[]),
        ("api_key_env = \"MY_KEY\"\nprovider = \"openai\"", &[]),
        ("provider = \"anthropic\"", &[]),
        ("base_url = \"http://localhost:8080/v1\"", &[]),
        ("context_window = 100", &[]),
        ("low_water = 7.0", &[]),
        ("", &[("MYCODE_MAX_STEPS", "many")]),
        ("", &[("MYCODE_PERMISSION", "yolo")]),
    ] {
        let loaded = load::load(Sources {
            flags: Raw::parse(flags).unwrap(),
            vars: &|name| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
            paths: &Paths { config: "/nowhere".into(), state: "/nowhere".into() },
            workspace: Path::new("/nowhere/project"),
            trust: false,
            default_permission: Permission::Ask,
        });
        let error = loaded.map(|loaded| loaded.provider_error).unwrap_or_else(Some).expect(flags);
        let _ = writeln!(text, "{}", Failure::from(error));
    }
    page("errors.txt", &text);
}

#[test]
fn command_line_errors() {
    let place = Workplace::new();
    place.file("file.txt", "x").file(".mycode/config.toml", "model = \"m\"\npermission = \"full\"\n");
    let mut text = String::new();
    for args in [
        &["login"][..],
        &["sesions"],
        &["fix it"],
        &["-C", "nowhere", "sessions"],
        &["-C", "file.txt", "sessions"],
        &["exec"],
        &["exec", "--permission", "yolo", "fix it"],
        &["exec", "--provider", "x", "fix it"],
        &["exec", "--header", "x", "fix it"],
        &["exec", "--model"],
        &["exec", "-c", "fix it"],
        &["resume", "0198"],
        &["rewind"],
        &["context"],
        &["tool", "Read", "--args", "{"],
        &["notes", "show", "login"],
        &["sessions"],
        &["trust", "--revoke"],
        &["trust"],
        &["policy", "check"],
        &["no-such-command", "x"],
    ] {
        let output = place.command(args).env("MYCODE_BASE_URL", "").output().unwrap();
        let quoted =
            args.iter().map(|arg| if arg.contains(' ') { format!(" '{arg}'") } else { format!(" {arg}") });
        let _ = writeln!(text, "$ mycode{}", quoted.collect::<String>());
        let _ = write!(text, "{}{}", stdout(&output), stderr(&output));
        let _ = writeln!(text, "[exit code {}]\n", output.status.code().unwrap());
    }
    let project = place.project().display().to_string();
    page("command_line.txt", &text.replace(&project, "/project"));
}

/// A screen of 100 columns: what is printed into the scrollback, and what stands below it.
struct Stage {
    app: App,
    text: String,
}

impl Stage {
    fn new() -> Self {
        let mut stage = Self { app: App::new(Theme::new(false), (100, 24)), text: String::new() };
        stage.event(Event::Session(fake::session()));
        stage
    }

    fn take_in(&mut self, msg: Msg) {
        for command in update(&mut self.app, msg) {
            if let Cmd::Print(entry) = command {
                for line in entry.lines(None, 100, self.app.theme) {
                    let _ = writeln!(self.text, "{}", line.to_string().trim_end());
                }
            }
        }
    }

    fn event(&mut self, event: Event) {
        self.take_in(Msg::Event(event));
    }

    fn key(&mut self, code: KeyCode) {
        self.take_in(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn enter(&mut self, line: &str) {
        let _ = writeln!(self.text, "\n› {line}");
        self.take_in(Msg::Paste(line.to_owned()));
        self.key(KeyCode::Enter);
    }

    /// What stands below the scrollback.
    fn view(&mut self, title: &str) {
        let _ = writeln!(self.text, "\n[{title}]");
        for line in view::picture(&self.app, 100, 24).lines {
            let _ = writeln!(self.text, "{}", line.to_string().trim_end());
        }
    }
}

#[test]
fn screen() {
    let mut stage = Stage::new();
    for line in [
        "/help",
        "/hlep",
        "/nonsense",
        "/model",
        "/permission",
        "/permission yolo",
        "/context why",
        "/context pin x",
        "/jobs",
        "/jobs stop",
        "/recall",
        "/init no",
        "/init x",
    ] {
        stage.enter(line);
    }
    stage.text.push_str("\n# Events\n");
    let other = SessionInfo { id: "20260103-ef01".to_owned(), ..fake::session() };
    let model =
        SessionInfo { model: "other-model".to_owned(), permission: Permission::Auto, ..other.clone() };
    let job = |ended: Option<&str>| {
        Event::Jobs(vec![JobRow {
            id: 1,
            command: "npm run dev".to_owned(),
            ended: ended.map(str::to_owned),
        }])
    };
    for event in [
        Event::Session(other),
        Event::Session(model),
        Event::Sessions(Vec::new()),
        Event::RewindPoints(Vec::new()),
        job(None),
        job(Some("exited (code 1)")),
    ] {
        stage.event(event);
    }
    stage.enter("/jobs");
    stage.text.push_str("\n# During a turn\n");
    stage.enter("fix the sum");
    stage.event(Event::TurnStarted { text: "fix the sum".to_owned() });
    stage.view("working");
    for line in ["/clear", "/init", "/resume", "/rewind", "/context pin 12", "also the test"] {
        stage.enter(line);
    }
    stage.view("queued");
    stage.event(Event::Compacting { running: true });
    stage.view("compacting");
    stage.event(Event::Compacting { running: false });
    stage.event(Event::CallArriving { name: "Write".to_owned(), bytes: 12_000 });
    stage.view("call arriving");
    stage.event(Event::Silent { since_ms: 15_000, left_ms: 285_000 });
    stage.view("silent");
    stage.event(Event::TextDelta("Half an answer,\n\nand".to_owned()));
    let reason = "server error (HTTP 529): busy".to_owned();
    stage.event(Event::Retrying { attempt: 2, of: 6, wait_ms: 4_000, reason });
    stage.view("retrying");
    stage.event(Event::Ask { id: 1, question: fake::approval() });
    stage.view("approval");
    stage.key(KeyCode::Tab);
    stage.view("approval, with a note");
    stage.event(Event::AskClosed { id: 1 });
    stage.take_in(Msg::Paste("typing".to_owned()));
    stage.event(Event::Ask { id: 2, question: fake::approval() });
    stage.view("approval, while typing");
    stage.event(Event::AskClosed { id: 2 });
    let options = vec!["PostgreSQL".to_owned(), "SQLite".to_owned()];
    let ask = |options| Question::Ask {
        questions: vec![AskedQuestion { question: "Which database?".to_owned(), options, optional: false }],
    };
    stage.event(Event::Ask { id: 3, question: ask(options) });
    stage.key(KeyCode::Tab);
    stage.view("question");
    stage.event(Event::AskClosed { id: 3 });
    stage.event(Event::Ask { id: 4, question: ask(Vec::new()) });
    stage.key(KeyCode::Tab);
    stage.view("question without options");
    stage.event(Event::AskClosed { id: 4 });
    stage.key(KeyCode::Esc);
    stage.view("interrupting");

    stage.text.push_str("\n# Ends of a turn\n");
    let hint = || "nothing was lost; send the message again".to_owned();
    let message = || "server error (HTTP 500): oops".to_owned();
    for reason in [
        EndReason::Done,
        EndReason::Interrupted { prompt_returned: None },
        EndReason::Interrupted { prompt_returned: Some("fix the sum".to_owned()) },
        EndReason::StepLimit { limit: 500 },
        EndReason::ProviderFailed { message: message(), hint: hint(), prompt_returned: None },
        EndReason::Failed {
            message: notice::empty_reply().0,
            hint: notice::empty_reply().1,
            cause: FailureCause::Other,
            prompt_returned: None,
        },
    ] {
        stage.event(fake::turn_end(reason));
    }

    stage.text.push_str("\n# Popups\n");
    stage.take_in(Msg::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    stage.view("cleared");
    stage.take_in(Msg::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    stage.view("quit?");
    stage.key(KeyCode::Esc);
    stage.view("rewind?");
    stage.take_in(Msg::Paste("/".to_owned()));
    stage.view("commands");
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Backspace);
    stage.take_in(Msg::Paste("@".to_owned()));
    stage.view("files, not listed yet");
    stage.event(Event::Files(vec!["src/a.rs".to_owned()].into()));
    stage.take_in(Msg::Paste("zzz".to_owned()));
    stage.view("no files");
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    stage.enter("/context");
    stage.view("context, before it is there");
    stage.event(Event::Ledger(fake::ledger()));
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Char('p'));
    stage.view("context");
    stage.event(Event::ItemHistory(ItemHistory {
        id: "#12".to_owned(),
        origin: "Read src/a.rs:1-400".to_owned(),
        arrived_ms: None,
        full_tokens: 9_000,
        tokens: 9_000,
        form: "full".to_owned(),
        pinned: false,
        events: Vec::new(),
        recall: "Recall {\"id\":12}".to_owned(),
    }));
    stage.view("history of an item");
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    let now = mycode::base::clock::now_ms();
    let row = |title: &str, age_ms: u64, turns| SessionRow {
        id: "0198".to_owned(),
        title: title.to_owned(),
        turns,
        updated_ms: now - age_ms,
        workspace: "/w".to_owned(),
    };
    stage.event(Event::Sessions(vec![row("fix the sum", 120_000, 1), row("add a flag", 86_400_000 * 3, 12)]));
    stage.view("sessions");
    stage.key(KeyCode::Esc);
    let point = RewindPoint {
        id: PointId::Turn(ItemId(9)),
        name: "9".to_owned(),
        title: "fix the sum".to_owned(),
        ms: now - 120_000,
        files: 2,
        plus: 4,
        minus: 2,
        conversation: true,
    };
    stage.event(Event::RewindPoints(vec![point.clone()]));
    stage.view("rewind");
    let row = |path: &str, action, conflict: Option<&str>| RewindRow {
        path: path.to_owned(),
        action,
        plus: 1,
        minus: 2,
        differs: None,
        conflict: conflict.map(str::to_owned),
        impossible: None,
    };
    stage.event(Event::RewindPreview(RewindPreview {
        point,
        rows: vec![
            row("src/a.rs", FileAction::Restore, None),
            row("src/b.rs", FileAction::Delete, Some("changed since")),
        ],
        outside: vec!["/tmp/out.txt".to_owned()],
        items: 6,
    }));
    stage.view("rewind preview");
    page("screen.txt", &stage.text);
}

#[test]
fn headless() {
    let mut log = Vec::new();
    let mut human = Human::new(Vec::new(), &mut log, false);
    let reason = "server error (HTTP 529): busy".to_owned();
    for event in [
        Event::Retrying { attempt: 2, of: 6, wait_ms: 500, reason },
        Event::Silent { since_ms: 15_000, left_ms: 285_000 },
        Event::Compacting { running: true },
        Event::Notice { level: Level::Warning, text: notice::rules_changed() },
    ] {
        human.event(&event).unwrap();
    }
    human.denied(&fake::approval()).unwrap();
    let questions =
        vec![AskedQuestion { question: "Which database?".to_owned(), options: Vec::new(), optional: false }];
    human.denied(&Question::Ask { questions }).unwrap();
    for reason in [
        EndReason::Done,
        EndReason::Interrupted { prompt_returned: None },
        EndReason::StepLimit { limit: 500 },
    ] {
        let Event::TurnEnded(end) = fake::turn_end(reason) else { continue };
        human.end(&TurnEnd { denied: 1, ..end }, 0).unwrap();
    }
    drop(human);
    page("headless.txt", &String::from_utf8(log).unwrap());
}
