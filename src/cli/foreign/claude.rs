//! The options of `claude -p`, as its SDKs pass them (`@anthropic-ai/claude-agent-sdk` 0.3.332, `claude-agent-sdk` 0.2.189 for
//! Python, November 2026).

use std::ffi::OsString;
use std::path::Path;

use super::rewrite::{Here, NOT_USED, OptionRow, Rewritten, Takes, rewrite, row};
use crate::cli::report::Failure;
use base::config::mode::Mode;
use base::file;
use base::protocol::claude_tools;
use tools::registry;

#[rustfmt::skip]
pub const ROWS: &[OptionRow] = &[
    row(&["--print", "-p"], Takes::Nothing, Here::Nothing, "as mycode exec"),
    row(&["--output-format"], Takes::One, Here::Of(output_format), "text, json (one result) or stream-json (Claude's messages)"),
    row(&["--input-format"], Takes::One, Here::Of(input_format), "text or stream-json (messages and control requests)"),
    row(&["--include-partial-messages"], Takes::Nothing, Here::Args(&["--partial"]), "stream_event messages, too"),
    row(&["--replay-user-messages"], Takes::Nothing, Here::Args(&["--replay"]), "user messages are repeated in the output"),
    row(&["--verbose"], Takes::Nothing, Here::Nothing, "stream-json is always complete"),
    row(&["--model"], Takes::One, Here::As("--model"), "a model of your server; sonnet, opus and haiku mean the configured one"),
    row(&["--system-prompt"], Takes::One, Here::Of(prompt), "added to mycode's own instructions, which stay"),
    row(&["--append-system-prompt"], Takes::One, Here::Of(prompt), "--append-system-prompt"),
    row(&["--system-prompt-file", "--append-system-prompt-file"], Takes::One, Here::Of(prompt_file), "likewise, from a file"),
    row(&["--permission-mode"], Takes::One, Here::Of(mode), "--permission (see above); plan is --mode plan"),
    row(&["--dangerously-skip-permissions"], Takes::Nothing, Here::Args(&["--permission", "full"]), "--permission full"),
    row(&["--allow-dangerously-skip-permissions"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--permission-prompt-tool"], Takes::One, Here::Of(prompt_tool), "stdio: the program on standard input is asked; nothing else"),
    row(&["--allowedTools", "--allowed-tools"], Takes::Many, Here::Of(allow), "--allow"),
    row(&["--disallowedTools", "--disallowed-tools"], Takes::Many, Here::Of(deny), "--deny"),
    row(&["--tools"], Takes::Many, Here::Of(tools), "--deny for all other tools"),
    row(&["--mcp-config"], Takes::Many, Here::As("--mcp-config"), "--mcp-config"),
    row(&["--json-schema"], Takes::One, Here::As("--output-schema"), "--output-schema, which takes the schema itself, too"),
    row(&["--resume", "-r"], Takes::Maybe, Here::Of(resume), "--resume ID"),
    row(&["--continue", "-c"], Takes::Nothing, Here::Args(&["--continue"]), "--continue"),
    row(&["--fork-session"], Takes::Nothing, Here::Args(&["--fork"]), "--fork"),
    row(&["--session-id"], Takes::One, Here::As("--session-id"), "--session-id"),
    row(&["--max-turns"], Takes::One, Here::As("--max-steps"), "--max-steps"),
    row(&["--max-budget-usd"], Takes::One, Here::As("--max-cost"), "--max-cost"),
    row(&["--add-dir"], Takes::Many, Here::As("--add-dir"), "--add-dir"),
    row(&["--settings"], Takes::One, Here::As("--settings"), "its permissions and hooks; a file or JSON"),
    row(&["--setting-sources"], Takes::One, Here::Nothing, "mycode reads its config.toml, and .claude/ of a trusted project"),
    row(&["--agents"], Takes::One, Here::As("--agents"), "sub-agents for this run, as JSON"),
    row(&["--agent"], Takes::One, Here::As("--agent"), "the sub-agent that does the task, with its tools"),
    row(&["--fallback-model"], Takes::One, Here::Note, "no second model is tried; --wait 1h waits for a busy server"),
    row(&["--thinking"], Takes::One, Here::Nothing, "--effort says how long the model may think"),
    row(&["--thinking-display"], Takes::One, Here::Nothing, "thinking is shown as the server sends it"),
    row(&["--max-thinking-tokens"], Takes::One, Here::Nothing, "--effort says how long the model may think"),
    row(&["--task-budget"], Takes::One, Here::Note, "--max-cost limits what a run costs"),
    row(&["--betas"], Takes::Many, Here::Nothing, NOT_USED),
    row(&["--debug", "-d"], Takes::Maybe, Here::Nothing, NOT_USED),
    row(&["--debug-file"], Takes::One, Here::Nothing, NOT_USED),
    row(&["--include-hook-events"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--permission-prompts"], Takes::One, Here::Nothing, NOT_USED),
    row(&["--await-initialize"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--name", "-n"], Takes::One, Here::Nothing, "sessions are named after their first message"),
    row(&["--no-session-persistence"], Takes::Nothing, Here::Note, "sessions are always saved; /resume in the chat deletes one"),
    row(&["--plugin-dir", "--plugin-dir-no-mcp"], Takes::One, Here::As("--plugin-dir"), "a plugin for this run"),
    row(&["--plugin-url"], Takes::One, Here::Note, "not read; `mycode plugin add` adds a plugin"),
    row(&["--worktree", "-w"], Takes::Maybe, Here::Of(worktree), "--worktree, which names its branch itself"),
    row(&["--bare"], Takes::Nothing, Here::Note, "rules, skills, hooks and servers are read as always"),
    row(&["--disable-slash-commands"], Takes::Nothing, Here::Note, "commands and skills stay available"),
    row(&["--channels"], Takes::Many, Here::Note, "messages from other programs aren't taken"),
    row(&["--from-pr", "--teleport", "--remote"], Takes::Maybe, Here::Refused, "sessions stay on this machine; --resume ID continues one"),
    row(&["--exclude-dynamic-system-prompt-sections"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--chrome", "--no-chrome", "--ide"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--init", "--maintenance"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--enable-auto-mode"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--teammate-mode"], Takes::One, Here::Nothing, NOT_USED),
    row(&["--tmux"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--project-config-root"], Takes::One, Here::Note, "the project's own files are read from the working folder"),
    row(&["--managed-settings"], Takes::One, Here::Refused, "an administrator's rules are read from /etc/mycode/config.toml"),
    row(&["--session-mirror"], Takes::Nothing, Here::Refused, "sessions stay on this machine; `mycode export` copies one"),
    row(&["--resume-session-at"], Takes::One, Here::Refused, "`mycode rewind` takes a session back"),
    row(&["--resume-drops-turn"], Takes::One, Here::Refused, "`mycode rewind` takes a session back"),
];

/// Names of Claude Code's own models, which another server doesn't have.
const ALIASES: [&str; 6] = ["default", "sonnet", "opus", "haiku", "opusplan", "inherit"];

/// Whether the line is meant for `claude -p`: the SDKs don't pass `-p`, but formats.
pub fn is_meant<'a>(mut args: impl Iterator<Item = &'a str>) -> bool {
    let formats = ["--output-format", "--input-format"];
    args.any(|arg| {
        let name = arg.split_once('=').map_or(arg, |(name, _)| name);
        ["-p", "--print"].contains(&arg) || formats.contains(&name)
    })
}

/// The line in options of `mycode exec`.
pub fn translated(
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<Rewritten, Failure> {
    let mut done = rewrite(&[ROWS], args, takes_value)?;
    for model in done.take("--model") {
        if ALIASES.contains(&model.as_str()) {
            done.notes.push(format!(
                "--model {model}: your server has no model of this name; the configured one is used"
            ));
        } else {
            done.add(&["--model", &model]);
        }
    }
    let levels = done.take("--permission");
    let careful = ["--allowedTools", "--disallowedTools", "--tools", "--permission-prompt-tool"];
    let by_default =
        careful.iter().any(|name| done.uses(name)) || done.options.iter().any(|arg| arg == "--host");
    match levels.iter().find(|level| *level == "full").or(levels.last()) {
        Some(level) => done.add(&["--permission", level]),
        None if by_default && !done.uses("--permission-mode") => done.add(&["--permission", "ask"]),
        None => {}
    }
    if done.uses("--allowedTools") || done.uses("--disallowedTools") {
        done.add(&["--foreign-rules"]);
    }
    Ok(done)
}

fn args(ours: &str, value: &str) -> Result<Vec<String>, String> {
    Ok(vec![format!("{ours}={value}")])
}

fn output_format(format: &str) -> Result<Vec<String>, String> {
    match format {
        "text" => args("--format", "text"),
        "json" => args("--format", "claude-result"),
        "stream-json" => args("--format", "claude"),
        _ => Err("use text, json or stream-json".to_owned()),
    }
}

fn input_format(format: &str) -> Result<Vec<String>, String> {
    match format {
        "text" => Ok(Vec::new()),
        "stream-json" => Ok(vec!["--host".to_owned()]),
        _ => Err("use text or stream-json".to_owned()),
    }
}

fn prompt(text: &str) -> Result<Vec<String>, String> {
    if text.trim().is_empty() { Ok(Vec::new()) } else { args("--append-system-prompt", text) }
}

fn prompt_file(path: &str) -> Result<Vec<String>, String> {
    const MOST: u64 = 1024 * 1024;
    let text = file::small_text(Path::new(path), MOST);
    prompt(&text.ok_or("it must be text of at most 1 MiB")?)
}

pub fn mode(mode: &str) -> Result<Vec<String>, String> {
    match claude_tools::of_permission_mode(mode) {
        Some((Mode::Plan, _)) => args("--mode", "plan"),
        Some((_, level)) => args("--permission", level.into_str()),
        None => Err("use default, acceptEdits, plan, auto, dontAsk or bypassPermissions".to_owned()),
    }
}

fn worktree(_name: &str) -> Result<Vec<String>, String> {
    Ok(vec!["--worktree".to_owned()])
}

fn prompt_tool(tool: &str) -> Result<Vec<String>, String> {
    match tool {
        "stdio" => Ok(vec!["--ask-host".to_owned()]),
        _ => {
            Err("only stdio is known; --allow and --deny, or a PermissionRequest hook, decide as well"
                .to_owned())
        }
    }
}

fn allow(rules: &str) -> Result<Vec<String>, String> {
    args("--allow", &with_commas(rules))
}

fn deny(rules: &str) -> Result<Vec<String>, String> {
    args("--deny", &with_commas(rules))
}

/// Rules stand apart by commas or spaces, outside of brackets.
fn with_commas(rules: &str) -> String {
    let mut depth = 0;
    let apart = rules.chars().map(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c.is_whitespace() && depth == 0 { ',' } else { c }
    });
    apart.collect()
}

fn tools(names: &str) -> Result<Vec<String>, String> {
    if names == "default" {
        return Ok(Vec::new());
    }
    let wanted: Vec<&str> = names.split(',').map(str::trim).collect();
    let mut all = registry::builtin();
    all.extend(registry::on_demand(true));
    let others = all
        .iter()
        .map(|tool| tool.name())
        .filter(|ours| !claude_tools::names(ours).iter().any(|name| wanted.contains(&name.as_str())));
    Ok(others.map(|ours| format!("--deny={ours}")).collect())
}

fn resume(id: &str) -> Result<Vec<String>, String> {
    if id.is_empty() {
        return Err("name the session; `mycode sessions` lists them".to_owned());
    }
    args("--resume", id)
}
