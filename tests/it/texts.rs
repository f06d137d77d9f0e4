//! Every text that a user sees, on a few pages to be read as one: `tests/fixtures/texts/*.txt`. After a change on
//! purpose, `UPDATE_TEXTS=1 cargo test --test it texts` writes the pages anew; review the diff.

use std::fmt::Write;
use std::path::Path;

use mycode::config::settings::Permission;
use mycode::model::item::ItemId;
use mycode::protocol::approval;
use mycode::protocol::notice;
use mycode::protocol::rewind::{RewindDone, RewindScope};

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
        notice::rules_changed(),
        notice::rules_truncated(8_192),
        notice::init_choice_not_saved("disk full"),
        notice::session_not_opened("no session starts with 'abc'"),
        notice::session_busy("another mycode is using this session"),
        notice::session_lines_skipped(1),
        notice::session_empty(),
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
