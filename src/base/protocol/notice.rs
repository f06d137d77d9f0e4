//! The agent's notices for users: what happened, why, and what to do next. In one file, so that they can be
//! reviewed as one page (`tests/fixtures/texts/notices.txt`).

use std::collections::BTreeSet;
use std::fmt::Display;

use super::rewind::{RewindDone, RewindScope};
use crate::config::mode::Mode;
use crate::config::settings::Permission;
use crate::model::item::{Image, ItemId};
use crate::path::on_one_line;
use crate::text::{human_tokens, one_line, plural};

/// A failure that ends a turn: what happened, and what to do next.
pub type Problem = (String, String);

fn problem(message: impl Into<String>, hint: impl Into<String>) -> Problem {
    (message.into(), hint.into())
}

/// anthropic.com/legal (read in November 2026).
pub const CHATGPT_PLAN: &str =
    "You're using your ChatGPT plan. Manage its use at https://chatgpt.com/settings/usage";
pub const NO_SUBSCRIPTIONS: &str = "`mycode login chatgpt` signs in with a ChatGPT Plus or Pro plan. Claude Free, Pro and Max plans can't be used here: Anthropic's terms allow them only in its own programs.";

// Compaction.

pub fn compacted(before: u64, after: u64) -> String {
    format!("Compacted: about {} → {} tokens.", human_tokens(before), human_tokens(after))
}

pub const NOTHING_TO_COMPACT: &str = "Nothing to compact: recent turns are kept.";
pub const COMPACTION_STOPPED: &str = "Compaction stopped; nothing changed.";
pub const COMPACTION_BLOCKED: &str = "Compaction was blocked by a hook; nothing changed.";
pub const SUMMARY_NOT_SMALLER: &str = "Nothing to compact: a summary would not save space.";

/// Only extracted facts replaced the older turns; `disabled`: auto-compaction gave up.
pub fn summary_failed(reason: impl Display, disabled: bool) -> String {
    let more =
        if disabled { " Auto-compaction is off after repeated failures; /compact tries again." } else { "" };
    format!("The summary failed ({reason}). Older turns were replaced by extracted facts instead.{more}")
}

pub fn uncompacted(size: u64) -> String {
    format!("Compaction undone: about {} tokens now.", human_tokens(size))
}

pub const NOTHING_TO_UNCOMPACT: &str =
    "Nothing to undo: no compaction in this session can be undone. /recall shows single items.";

pub fn uncompact_too_large(size: u64, limit: u64) -> String {
    format!(
        "Can't undo the compaction: the context would take about {} tokens, but only {} fit. Use /recall for single items, \
         or a model with a larger window (/model).",
        human_tokens(size),
        human_tokens(limit)
    )
}

pub fn auto_compact(on: bool) -> String {
    if on {
        "Auto-compaction is on: older turns are summarized when the window fills up."
    } else {
        "Auto-compaction is off: when the window fills up, older turns are reduced to extracted facts. /compact \
         writes a summary."
    }
    .to_owned()
}

// The context window.

pub fn pin_too_large(id: ItemId, pinned: u64) -> String {
    format!(
        "Can't pin {id}: {} tokens would be pinned, more than half of the window. Unpin something first.",
        human_tokens(pinned)
    )
}

pub fn restore_too_large(id: ItemId, needed: u64, free: u64) -> String {
    format!(
        "Can't restore {id}: it needs {} more tokens, but only {} are free (apart from the room for the reply). Drop something else \
         first.",
        human_tokens(needed),
        human_tokens(free)
    )
}

pub fn unpinned_all(items: usize) -> String {
    format!("The window is too small: unpinned {} to continue.", plural(items, "item"))
}

pub fn context_limit(server_message: &str) -> String {
    format!("The server reports a full context window ({server_message}). Making room and retrying.")
}

pub const MESSAGE_TRUNCATED: &str = "Your message is too long for the window: the model sees its beginning and end, and can recall the rest. Put \
     long text into a file and mention it with @ instead.";

pub fn prompt_truncated_by_server(sent: u64, kept: u64) -> String {
    format!(
        "The server truncated the prompt without an error: {} tokens were sent, it used {}. Requests stay within that \
         from now on. To use more, raise the server's context size (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH; \
         llama.cpp: --ctx-size) and restart mycode, or set context_window in config.toml to the server's size.",
        human_tokens(sent),
        human_tokens(kept)
    )
}

pub const DENIED_BY_WORDS_ONLY: &str = "this machine has no namespaces, so --deny rules about files are fully enforced only in the sandbox: commands that run outside it (because you approve them, or at full) are stopped if they name the files, but not if they reach them another way";
pub const OUTPUT_LIMIT_WITH_CALLS: &str =
    "The reply was cut off at the model's output limit; only complete tool calls were run.";
pub const REASONING_REJECTED: &str = "the server no longer accepts earlier reasoning; continuing without it";
pub const REPLY_FILLED_WINDOW: &str = "the reply filled the window; making room";

pub fn denies_no_server(rule: &str) -> String {
    format!("--deny {rule} names no MCP server that is set up here.")
}

// Additions to a message.

pub fn image_attached(image: &Image) -> String {
    let path = one_line(&image.path, 120);
    format!("Attached {path} ({}×{}, {} tokens)", image.width, image.height, image.tokens)
}

/// `what` belonged to the message: notes, earlier work.
pub fn sent_along(what: &[&str]) -> String {
    format!("Sent with your message: related {}", what.join(" and "))
}

// Project rules.

pub fn stays_read_only(change_with: &str) -> String {
    format!("This session started read-only and stays read-only; {change_with} changes that.")
}

pub fn stays_denied(rules: &str) -> String {
    format!("This session started with --deny {rules}, which stays; a new session is free of it.")
}

pub fn not_denied_here(rules: &str, session: &str) -> String {
    format!(
        "This session started with --deny {rules}, which this chat doesn't know; `mycode resume {session}` keeps it."
    )
}

pub fn command_model_unused(command: &str, wanted: &str, now: &str) -> String {
    format!("/{command} asks for the model {wanted}, which isn't available here; it runs with {now}.")
}

pub fn permission_locked(level: &str, place: &str) -> String {
    format!("The permission level is {level}: {place} doesn't allow a higher one.")
}

pub const RULES_CHANGED: &str = "The project rules changed on disk; the model sees the new version.";

pub fn rules_truncated(window: u64) -> String {
    format!(
        "The project rules take more than a tenth of the window ({} tokens), so the model gets their headings and \
         what fits, commands and tests first. Shorten them, or set a larger context_window.",
        human_tokens(window)
    )
}

pub fn rules_left_out(file: &str, why: &str) -> String {
    format!("{file} is not used as project rules, because it {why}. Replace it with a file, or remove it.")
}

pub fn rules_hide_characters(file: &str, count: usize) -> String {
    format!(
        "{file} has {} that hide or reorder text. The model sees them written out, such as <U+202E>. Look at the file: \
         rules that cannot be seen may not be yours.",
        plural(count, "character")
    )
}

pub fn rules_not_imported(file: &str, by: &str) -> String {
    format!(
        "{by} imports {file}, which is outside the project or contains secrets, so it is left out. Only your own rules \
         files may import it."
    )
}

pub fn rules_held_back(file: &str) -> String {
    format!(
        "{file} appeared or changed while a command ran, so it is not used as project rules. If you want it, read it and \
         run `mycode trust`."
    )
}

pub fn skill_allows(name: &str, allowed: &[String], unused: &[String]) -> String {
    let mut told = match allowed {
        [] => format!("{name} is active."),
        allowed => {
            format!("{name} may run these without asking this turn: {}.", allowed.join(", "))
        }
    };
    if !unused.is_empty() {
        told.push_str(&format!(
            " Ignored in its allowed-tools, as too broad or unknown: {}.",
            unused.join(", ")
        ));
    }
    told
}

pub fn init_choice_not_saved(error: impl Display) -> String {
    format!("Your choice could not be saved ({error}); mycode will ask again.")
}

// The session.

pub fn session_not_opened(error: impl Display) -> String {
    format!("Can't open the session: {error}.")
}

pub fn session_busy(error: impl Display) -> String {
    format!("Can't open the session: {error}. Close the other mycode, or copy it with Ctrl-F in /resume.")
}

pub fn forked(copy: &str, original: &str) -> String {
    format!("Forked: this is now session {copy}; the original is {original}.")
}

pub fn session_lines_skipped(lines: usize) -> String {
    format!("Skipped {} of the session log that could not be read.", plural(lines, "damaged line"))
}

pub const SESSION_WITHOUT_BEGINNING: &str = "The session log has lost its beginning: messages, and rules that the session started with, may be missing.";

pub fn session_from_newer(app: &str) -> String {
    format!(
        "This session was written by a newer version of mycode ({app}); what this one doesn't know is left out."
    )
}

pub const SESSION_EMPTY: &str = "The session is empty. Send a message first.";

pub fn session_stats(id: &str, figures: &str) -> String {
    format!("Session {id} so far:\n{figures}\n`mycode report` prints this and more.")
}

pub fn log_unreadable(error: impl Display) -> String {
    format!("Can't read the session log: {error}.")
}

pub fn no_such_item(id: ItemId) -> String {
    format!("There is no item {id} in this session. Use /recall WORDS to search.")
}

pub fn recall_no_match(query: &str) -> String {
    format!("No matches for '{query}' in this session.")
}

pub const RECALL_MORE: &str = "Use /recall ID to show an item in full.";

// The model.

pub fn model_failed(error: impl Display, hint: impl Display) -> String {
    format!("Can't switch the model: {error}; {hint}.")
}

pub fn model_unknown(wanted: &str, used: &str, nearest: Option<&str>) -> String {
    let meant = nearest.map(|name| format!(" Did you mean {name}?")).unwrap_or_default();
    if wanted == used {
        return format!("The server doesn't list the model '{wanted}'.{meant} /model lists models.");
    }
    format!(
        "Unknown model '{wanted}'; still using {used}.{meant} /model lists models; add others to models.toml."
    )
}

pub fn session_elsewhere(session: &str, folder: &str) -> String {
    format!(
        "That session belongs to another folder. Continue it with: mycode resume {session} --cd {}",
        on_one_line(folder)
    )
}

pub fn session_renamed(title: &str) -> String {
    format!("This session is now called \"{}\".", one_line(title, 100))
}

pub fn session_unchanged(why: impl Display) -> String {
    format!("Session unchanged: {why}.")
}

pub fn rule_not_removed(error: impl Display) -> String {
    format!("The rule is revoked for this session only: the rules file can't be written ({error}).")
}

pub fn session_model_unavailable(wanted: &str, provider: &str, used: &str) -> String {
    format!("This session used {wanted} ({provider}), which is not configured; using {used}.")
}

pub fn session_model(model: &str, configured: &str) -> String {
    format!("Using {model}, as chosen in this session. /model {configured} switches back.")
}

// Permissions and the sandbox.

pub fn permission_changed(permission: Permission) -> String {
    let means = match permission {
        Permission::Full => " No approvals, and commands run without a sandbox.",
        _ => "",
    };
    format!("Permission level: {}.{means}", permission.into_str())
}

pub fn mode_changed(mode: Mode) -> String {
    let means = match mode {
        Mode::Auto => "works within the permission level",
        Mode::Explore => "explains how things work; changes nothing",
        Mode::Analyze => "looks for problems; changes nothing",
        Mode::Plan => "writes a plan for you to accept; changes nothing",
    };
    format!("Mode: {} ({means}).", mode.into_str())
}

pub fn plan_written(path: &str, interactive: bool) -> String {
    if interactive {
        return format!("The plan is in {path}.");
    }
    format!(
        "The plan is in {path}. To carry it out: mycode exec -c --mode normal 'Carry out the plan in {path}'"
    )
}

pub fn open_notes(rows: &[String]) -> String {
    if rows.is_empty() {
        return "No open notes: no blockers, actions or unfinished tasks.".to_owned();
    }
    format!("Open notes:\n  {}", rows.join("\n  "))
}

pub const PLAN_NOT_ACCEPTED: &str = "Maintenance stopped before its last phase: the plan was not accepted. `/maintain --phase do` carries it out.";

pub fn plan_not_written(error: impl Display) -> String {
    format!("Couldn't save the plan ({error}); it's in the reply above.")
}

pub fn rule_not_saved(error: impl Display) -> String {
    format!("The rule could not be saved ({error}); it applies to this session only.")
}

pub const NO_WEB_SEARCH: &str = "web_search = \"provider\" has no effect: this model's server has no search that mycode knows. An MCP server with a \
     search tool does the same.";

pub fn sandbox_degraded(missing: &str) -> String {
    format!("Sandbox degraded: {missing} unavailable. `mycode doctor` shows why.")
}

pub fn sandbox_unavailable(why: impl Display) -> String {
    format!("{why}. At level auto, mycode asks before commands that may reach outside the workspace.")
}

pub fn no_such_job(id: u32) -> String {
    format!("There is no job {id}. /jobs lists background jobs.")
}

// Rewind.

pub fn rewind_failed(error: impl Display) -> String {
    format!("Can't rewind: {error}.")
}

const LISTED: usize = 20;

pub fn rewound(done: &RewindDone) -> String {
    let restored = plural(done.done.len(), "file");
    let mut text = match (done.part, done.done.len()) {
        (RewindScope::Conversation, _) => "Rewound the conversation.".to_owned(),
        (RewindScope::Files, 0) => "No files were changed.".to_owned(),
        (RewindScope::Both, 0) => "Rewound the conversation; no files were changed.".to_owned(),
        (part, _) => format!("Rewound {}: restored {restored}.", part.into_str()),
    };
    if !done.done.is_empty() || done.part.conversation() {
        text.push_str(" Another rewind can undo this.");
    }
    for (path, why) in done.left.iter().take(LISTED) {
        text.push_str(&format!("\n  skipped {}: {why}", on_one_line(path)));
    }
    if done.left.len() > LISTED {
        text.push_str(&format!("\n  and {} more", done.left.len() - LISTED));
    }
    text
}

// Failures that end a turn.

pub fn output_limit() -> Problem {
    problem(
        "the reply was cut off at the model's output limit",
        "say \"continue\", or raise max_output_tokens",
    )
}

pub fn deadline(limit: &str) -> Problem {
    problem(
        format!("stopped after {limit} (--max-minutes); the task may not be finished"),
        "continue with `mycode exec -c continue`, or give it more minutes",
    )
}

pub fn stuck(call: &str, times: usize) -> Problem {
    problem(
        format!("the model made the same failing call {times} times: {call}"),
        "say what to do instead, here or with `mycode exec -c`, or try another model",
    )
}

pub fn empty_reply() -> Problem {
    problem(
        "the model returned an empty response",
        "send the message again or rephrase it; if this happens often, try another model",
    )
}

pub fn only_reasoning() -> Problem {
    problem(
        "the model reached its output limit before it replied",
        "raise max_output_tokens or lower reasoning_effort (thinking counts as output), then send the message again",
    )
}

pub fn refused(why: &str) -> Problem {
    let why = if why.is_empty() { String::new() } else { format!(": {}", one_line(why, 400)) };
    problem(format!("the model declined to answer{why}"), "rephrase, use another model, or /rewind")
}

pub fn content_filter() -> Problem {
    problem("the server's content filter ended the reply", "rephrase the message, or use another model")
}

pub fn log_write_failed(error: impl Display) -> Problem {
    problem(
        error.to_string(),
        "free some disk space, or set MYCODE_HOME to a folder that you can write to, then send the message again",
    )
}

pub fn request_too_large(needed: u64, window: u64, rules: u64) -> Problem {
    problem(
        format!(
            "the smallest possible request takes up to {needed} tokens ({rules} of them project rules); with an \
             answer, that is too much for the window of {window}"
        ),
        "set a larger context_window, shorten the project rules, or unpin items in /context",
    )
}

pub fn exported(file: impl Display) -> String {
    format!("Wrote {}.", on_one_line(&file.to_string()))
}

pub fn not_exported(error: impl Display) -> String {
    format!("Nothing was exported: {}.", on_one_line(&error.to_string()))
}

pub fn hunk_reverted(path: &str) -> String {
    format!("Reverted a change in {}. /rewind can undo it.", on_one_line(path))
}

pub fn hunk_staged(path: &str) -> String {
    format!("Staged a change in {}.", on_one_line(path))
}

pub fn hunk_not_staged(path: &str, why: &str) -> String {
    format!("{} was not staged: {why}.", on_one_line(path))
}

pub fn hunk_not_reverted(path: &str, why: &str) -> String {
    format!("{} is unchanged: {why}.", on_one_line(path))
}

pub fn discarded(count: usize) -> String {
    format!(
        "A command that discards or removes files changed {}. `mycode rewind` lists how to get them back.",
        plural(count, "file")
    )
}

/// Files that other programs pick up by name.
pub fn changed_what_acts(files: &BTreeSet<String>) -> String {
    let shown: Vec<String> = files.iter().take(LISTED).map(|file| on_one_line(file)).collect();
    let more = files.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "Changed: {}{more}. Other programs may pick these up automatically, so look at them first.",
        shown.join(", ")
    )
}

pub fn kept_in(place: &str) -> String {
    format!("Saved in {place}.")
}

pub fn not_kept(why: &str) -> String {
    format!("Not saved: {why}. The text is back in the input; try again, or write the file yourself.")
}
