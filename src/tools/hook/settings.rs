//! Parses the hook settings, and collects the reasons why hooks don't run: nothing is dropped silently, because a
//! guard that silently doesn't run is worse than none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fancy_regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::event::HookEvent;
use base::config::trusted::agent_files::AgentFile;
use base::config::trusted::plugin;
use base::text::one_line;
use guard::policy::tool_rule::ToolRule;

const NAME_CHARS: usize = 48;
/// Used as the path of a settings file; only that one can name callbacks.
pub const CALLBACKS: &str = "the SDK";

#[derive(Clone, Debug, PartialEq)]
pub struct HookProgram {
    /// A shell command line; with `args`, the program.
    pub command: String,
    pub args: Option<Vec<String>>,
    /// The command is the id of a function in the host program.
    pub is_callback: bool,
    pub plugin: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct Hook {
    pub event: HookEvent,
    pub matcher: Matcher,
    pub matched: String,
    pub condition: Option<ToolRule>,
    pub program: HookProgram,
    pub timeout: Duration,
    /// Nobody waits for it, and it can't decide.
    pub in_background: bool,
    pub fails_closed: bool,
    pub status: Option<String>,
    /// The name for users: the script, or the start of the command.
    pub name: String,
    pub source: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun {
    pub what: String,
    pub why: String,
    pub source: PathBuf,
}

#[derive(Clone, Debug, Default)]
pub struct HookSettings {
    pub hooks: Vec<Hook>,
    pub not_run: Vec<NotRun>,
    /// Files that disable hooks: a user's file disables all, a project's file only the project's.
    pub off: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Group {
    matcher: Option<String>,
    hooks: Vec<Value>,
}

#[derive(Deserialize)]
struct Handler {
    #[serde(rename = "type")]
    kind: String,
    command: Option<String>,
    args: Option<Vec<String>>,
    #[serde(rename = "if")]
    condition: Option<String>,
    timeout: Option<f64>,
    #[serde(default, rename = "async")]
    in_background: bool,
    #[serde(default, rename = "asyncRewake")]
    wakes: bool,
    #[serde(rename = "onFailure")]
    on_failure: Option<String>,
    #[serde(rename = "statusMessage")]
    status: Option<String>,
    shell: Option<String>,
}

/// Files of the project, which are below `workspace`, must be trusted already.
pub fn parse(files: &[AgentFile], workspace: &Path) -> HookSettings {
    let mut settings = HookSettings::default();
    for file in files {
        let all: Value = match serde_json::from_str(&file.text) {
            Ok(all) => all,
            Err(error) => {
                settings.leave_out(file, "all hooks", format!("the file isn't valid JSON: {error}"));
                continue;
            }
        };
        if all["disableAllHooks"] == true {
            settings.off.push(file.path.clone());
        }
        let Some(events) = all["hooks"].as_object() else { continue };
        for (event, groups) in events {
            settings.take_event(file, event, groups, all[plugin::ROOT].as_str());
        }
    }
    let off = std::mem::take(&mut settings.off);
    let all_off = off.iter().any(|path| !path.starts_with(workspace));
    let off_here = |hook: &Hook| !off.is_empty() && hook.source.starts_with(workspace);
    settings.hooks.retain(|hook| !all_off && !off_here(hook));
    HookSettings { off, ..settings }
}

impl HookSettings {
    fn leave_out(&mut self, file: &AgentFile, what: &str, why: impl Into<String>) {
        let what = one_line(what, 2 * NAME_CHARS);
        self.not_run.push(NotRun { what, why: why.into(), source: file.path.clone() });
    }

    fn take_event(&mut self, file: &AgentFile, name: &str, groups: &Value, plugin: Option<&str>) {
        let Some(event) = HookEvent::parse(name) else {
            return self.leave_out(file, name, "mycode has no such event");
        };
        let Ok(groups) = Vec::<Group>::deserialize(groups) else {
            return self.leave_out(file, name, "it must be a list of {\"matcher\", \"hooks\": […]}");
        };
        for group in groups {
            let matched = group.matcher.filter(|_| !event.ignores_matcher()).unwrap_or_default();
            for handler in group.hooks {
                match hook(event, &matched, &handler, file, plugin) {
                    // The same hook in two files runs once.
                    Ok(hook) if self.hooks.iter().any(|known| known.is_same(&hook)) => {}
                    Ok(hook) => self.hooks.push(hook),
                    Err(why) => {
                        let what =
                            ["command", "url", "prompt", "tool"].iter().find_map(|key| handler[key].as_str());
                        self.leave_out(file, &format!("{name} {}", what.unwrap_or_default()), why);
                    }
                }
            }
        }
    }
}

fn hook(
    event: HookEvent,
    matched: &str,
    handler: &Value,
    file: &AgentFile,
    plugin: Option<&str>,
) -> Result<Hook, String> {
    let matcher = Matcher::parse(matched).map_err(|why| format!("invalid matcher {matched}: {why}"))?;
    let handler = Handler::deserialize(handler).map_err(|error| error.to_string())?;
    let is_callback = handler.kind == "callback" && file.path == Path::new(CALLBACKS);
    if handler.kind != "command" && !is_callback {
        return Err(format!("hooks of type {} are not supported; use a command", handler.kind));
    }
    if handler.shell.is_some_and(|shell| shell != "bash") {
        return Err("it needs a shell other than bash".to_owned());
    }
    let condition = handler.condition.as_deref().map(ToolRule::parse).transpose()?;
    if condition.is_some() && !event.is_about_tool() {
        return Err(format!("`if` works only for tool events, not for {event:?}"));
    }
    let command = handler.command.filter(|command| !command.trim().is_empty()).ok_or("it has no command")?;
    let asked = handler.timeout.filter(|seconds| *seconds > 0.0);
    let asked = asked.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let plugin = plugin.map(PathBuf::from);
    let program = HookProgram { command, args: handler.args, is_callback, plugin };
    Ok(Hook {
        event,
        matcher,
        matched: matched.to_owned(),
        condition,
        name: program.name(),
        program,
        timeout: asked.unwrap_or(event.timeout()).min(event.most()),
        in_background: handler.in_background || handler.wakes,
        fails_closed: handler.on_failure.as_deref() == Some("block") && event.can_fail_closed(),
        status: handler.status,
        source: file.path.clone(),
    })
}

impl Hook {
    fn is_same(&self, other: &Self) -> bool {
        (self.event, &self.matched, &self.condition, &self.program)
            == (other.event, &other.matched, &other.condition, &other.program)
    }
}

impl HookProgram {
    /// The file name of the first word that is a path, or else the start of the command.
    fn name(&self) -> String {
        let words = self.command.split_whitespace().chain(self.args.iter().flatten().map(String::as_str));
        let plain = |word: &str| word.replace(['"', '\''], "").trim_matches([';', '(', ')']).to_owned();
        let is_path = |c: char| c.is_alphanumeric() || "/._-+@~$:{}".contains(c);
        let is_script = |word: &String| {
            word.contains('/')
                && word.chars().all(is_path)
                && !word.contains("://")
                && !["/bin/", "/usr/bin/", "/dev/"].iter().any(|system| word.starts_with(system))
        };
        let script = words.map(plain).find(is_script);
        let name = script.as_deref().and_then(|path| path.rsplit('/').find(|part| !part.is_empty()));
        one_line(name.unwrap_or(&self.command), NAME_CHARS)
    }
}

/// A pattern that needs more backtracking counts as not matching.
const MAX_BACKTRACKS: usize = 100_000;

#[derive(Clone, Debug)]
pub enum Matcher {
    All,
    Names(Vec<String>),
    Pattern(Box<Regex>),
}

impl Matcher {
    /// Letters, digits, `_`, `-`, spaces, `,` and `|` form a list of names; anything else is a pattern.
    fn parse(text: &str) -> Result<Self, String> {
        if matches!(text.trim(), "" | "*") {
            return Ok(Self::All);
        }
        if text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | ',' | '|')) {
            let names = text.split(['|', ',']).map(|name| name.trim().to_owned());
            return Ok(Self::Names(names.filter(|name| !name.is_empty()).collect()));
        }
        let built = RegexBuilder::new(text).backtrack_limit(MAX_BACKTRACKS).build();
        built.map(|regex| Self::Pattern(Box::new(regex))).map_err(|error| error.to_string())
    }

    pub fn is_for(&self, names: &[&str]) -> bool {
        match self {
            Self::All => true,
            Self::Names(wanted) => wanted.iter().any(|wanted| names.contains(&wanted.as_str())),
            Self::Pattern(regex) => names.iter().any(|name| regex.is_match(name).unwrap_or(false)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(path: &str, text: Value) -> AgentFile {
        AgentFile { path: path.into(), text: text.to_string() }
    }

    #[test]
    fn hooks_and_what_is_left_out() {
        let text = json!({"hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [
                    {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh", "timeout": 5},
                    {"type": "http", "url": "http://localhost/x"},
                    {"type": "command", "if": "Bash(git *)", "command": "node", "args": ["${CLAUDE_PROJECT_DIR}/a.js"]},
                ]},
                {"matcher": "(", "hooks": [{"type": "command", "command": "true"}]},
            ],
            "Stop": [{"hooks": [{"type": "command", "command": "true", "if": "Bash"}]}],
            "WorktreeCreate": [],
        }});
        let settings = parse(
            &[file("/h/.claude/settings.json", text.clone()), file("/w/.mycode/hooks.json", text)],
            Path::new("/w"),
        );
        let names: Vec<&str> = settings.hooks.iter().map(|hook| hook.name.as_str()).collect();
        assert_eq!(names, ["guard.sh", "a.js"]);
        let name = |command: &str| {
            HookProgram { command: command.to_owned(), args: None, is_callback: false, plugin: None }.name()
        };
        assert_eq!(name("node \"${CLAUDE_PLUGIN_ROOT}\"/scripts/run.cjs x"), "run.cjs");
        assert_eq!(name("node -e \"require('a/b.js');x()\""), "node -e \"require('a/b.js');x()\"");
        assert_eq!(settings.hooks[0].timeout, Duration::from_secs(5));
        assert_eq!(settings.hooks[1].timeout, Duration::from_secs(600));
        let why: Vec<&str> = settings.not_run.iter().map(|row| row.why.as_str()).collect();
        assert_eq!(why.len(), 8);
        assert!(why[0].contains("type http") && why.contains(&"mycode has no such event"));
    }

    #[test]
    fn switched_off() {
        let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}});
        let other = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "false"}]}]}, "disableAllHooks": true});
        let of = |user: &Value, project: &Value| {
            let files = [
                file("/h/.claude/settings.json", user.clone()),
                file("/w/.claude/settings.json", project.clone()),
            ];
            parse(&files, Path::new("/w")).hooks.len()
        };
        assert_eq!((of(&hooks, &other), of(&other, &hooks), of(&hooks, &hooks)), (1, 0, 1));
    }

    #[test]
    fn names_lists_and_patterns() {
        let is_for = |matcher: &str, name: &str| Matcher::parse(matcher).unwrap().is_for(&[name]);
        for (matcher, name) in [
            ("", "Bash"),
            ("*", "Bash"),
            ("Edit|Write", "Write"),
            ("Edit, Write", "Edit"),
            ("code-reviewer", "code-reviewer"),
            ("^Notebook", "NotebookEdit"),
            ("Edit.*", "NotebookEdit"),
            ("mcp__memory__.*", "mcp__memory__add"),
            ("^(?!Bash$).*", "Read"),
        ] {
            assert!(is_for(matcher, name), "{matcher} {name}");
        }
        for (matcher, name) in [
            ("Edit", "MultiEdit"),
            ("mcp__memory", "mcp__memory__add"),
            ("^Edit$", "Edits"),
            ("bash", "Bash"),
            ("^(?!Bash$).*", "Bash"),
        ] {
            assert!(!is_for(matcher, name), "{matcher} {name}");
        }
        assert!(Matcher::parse("(").is_err());
    }
}
