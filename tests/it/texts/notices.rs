//! What the agent and the hooks tell the user.

use std::fmt::Write;

use base::config::settings::Permission;
use base::model::item::ItemId;
use base::protocol::approval::{self, AskedQuestion, Question};
use base::protocol::event::{EndReason, Event, Level, TurnEnd};
use base::protocol::notice;
use base::protocol::rewind::{RewindDone, RewindScope};
use frontend::exec::human::Human;
use frontend::exec::printer::{ModelAnswer, Printer};

use super::page::page;
use crate::support::fake_engine as fake;

#[test]
fn hook_notices() {
    use tools::hook::event::HookEvent;
    use tools::hook::notice;
    use tools::hook::settings::NotRun;
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
        notice::NOTHING_TO_COMPACT.to_owned(),
        notice::COMPACTION_STOPPED.to_owned(),
        notice::COMPACTION_BLOCKED.to_owned(),
        notice::SUMMARY_NOT_SMALLER.to_owned(),
        notice::summary_failed("the server timed out", false),
        notice::summary_failed("the server timed out", true),
        notice::uncompacted(98_000),
        notice::NOTHING_TO_UNCOMPACT.to_owned(),
        notice::uncompact_too_large(140_000, 115_000),
        notice::auto_compact(true),
        notice::auto_compact(false),
        notice::pin_too_large(ItemId(12), 70_000),
        notice::restore_too_large(ItemId(12), 9_000, 4_000),
        notice::unpinned_all(3),
        notice::context_limit("maximum context length is 8192 tokens"),
        notice::MESSAGE_TRUNCATED.to_owned(),
        notice::prompt_truncated_by_server(12_000, 4_096),
        notice::OUTPUT_LIMIT_WITH_CALLS.to_owned(),
        notice::REPLY_FILLED_WINDOW.to_owned(),
        notice::image_attached(&base::model::item::Image {
            path: "shots/a.png".into(),
            media_type: "image/png".into(),
            width: 800,
            height: 600,
            tokens: 640,
            data: "".into(),
        }),
        notice::sent_along(&["notes", "earlier work"]),
        notice::RULES_CHANGED.to_owned(),
        notice::rules_truncated(8_192),
        notice::rules_left_out("AGENTS.md", "has 2.0 MiB, more than the limit of 1.0 MiB"),
        notice::rules_hide_characters("AGENTS.md", 3),
        notice::rules_held_back("AGENTS.md"),
        notice::rules_not_imported("../private.md", "CLAUDE.md"),
        notice::skill_allows(
            "Skill release",
            &["commands that begin with `git tag`".to_owned()],
            &["Bash(git:*)".to_owned()],
        ),
        notice::skill_allows("Skill release", &[], &["Bash".to_owned()]),
        notice::init_choice_not_saved("disk full"),
        notice::session_not_opened("no session starts with 'abc'"),
        notice::session_busy("session 0198 is open in another mycode process"),
        notice::forked("0199", "0198"),
        notice::stays_denied("Edit(migrations/**)"),
        notice::not_denied_here("Edit(migrations/**)", "0198"),
        notice::session_lines_skipped(1),
        notice::SESSION_WITHOUT_BEGINNING.to_owned(),
        notice::session_from_newer("0.2.0"),
        notice::SESSION_EMPTY.to_owned(),
        notice::session_stats("0198", "- Time: 5 min of work"),
        notice::log_unreadable("permission denied"),
        notice::no_such_item(ItemId(12)),
        notice::recall_no_match("parser"),
        notice::RECALL_MORE.to_owned(),
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
        notice::changed_what_acts(&[".npmrc", "sub/CLAUDE.md"].map(str::to_owned).into()),
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
    ] {
        let _ = writeln!(text, "error: {message}\nhint: {hint}");
    }
    page("notices.txt", &text);
}

#[test]
fn headless() {
    let mut log = Vec::new();
    let mut human = Human::new(Vec::new(), &mut log, false);
    let reason = "server error (HTTP 529): busy".to_owned();
    for event in [
        Event::Retrying { attempt: 2, of: 6, wait_ms: 500, reason },
        Event::Silent { since_ms: 15_000, left_ms: Some(285_000), alive: false },
        Event::Compacting { running: true },
        Event::Notice { level: Level::Warning, text: notice::RULES_CHANGED.to_owned() },
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
        human.end(&TurnEnd { denied: 1, ..end }, &ModelAnswer::default(), 0).unwrap();
    }
    drop(human);
    page("headless.txt", &String::from_utf8(log).unwrap());
}
