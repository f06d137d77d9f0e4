//! The output of `mycode hooks` and `/hooks`: every hook with its source, and which ones don't run and why.

use std::path::Path;

use super::settings::{self, HookSettings};
use base::config::trusted::agent_files::AgentFile;
use base::config::trusted::json_files;
use base::path::{display, on_one_line};
use base::text::one_line;

/// `files` are the active ones; other files of the project aren't trusted.
pub fn text(files: &[AgentFile], workspace: &Path) -> String {
    let untrusted: Vec<AgentFile> =
        json_files::hooks_of_project(workspace).into_iter().filter(|file| !files.contains(file)).collect();
    if files.is_empty() && untrusted.is_empty() {
        return "No hooks. Hooks are read from ~/.config/mycode/hooks.json and .mycode/hooks.json, or in Claude Code's \
                ~/.claude/settings.json and .claude/settings.json.\n"
            .to_owned();
    }
    let used = settings::parse(files, workspace);
    let off = used.off.iter().map(|file| shown(file, workspace));
    let mut lines: Vec<String> =
        off.map(|file| format!("{file} switches hooks off (disableAllHooks).")).collect();
    rows(&used, "", workspace, &mut lines);
    rows(&settings::parse(&untrusted, workspace), ", not trusted", workspace, &mut lines);
    if !untrusted.is_empty() {
        lines.push("Untrusted hooks don't run. `mycode trust` trusts the current version.".to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

fn shown(path: &Path, workspace: &Path) -> String {
    on_one_line(&display(workspace, path))
}

fn rows(settings: &HookSettings, more: &str, workspace: &Path, lines: &mut Vec<String>) {
    for hook in &settings.hooks {
        let matcher = if hook.matched.is_empty() { "" } else { " " };
        let words = std::iter::once(&hook.program.command).chain(hook.program.args.iter().flatten());
        let command = words.map(String::as_str).collect::<Vec<_>>().join(" ");
        let seconds = hook.timeout.as_secs_f64();
        let how = if hook.in_background { "in the background".to_owned() } else { format!("{seconds} s") };
        lines.push(format!(
            "{:?}{matcher}{}: {} ({how}; {}{more})",
            hook.event,
            on_one_line(&hook.matched),
            one_line(&command, 160),
            shown(&hook.source, workspace)
        ));
    }
    for row in &settings.not_run {
        let (what, why) = (on_one_line(row.what.trim_end()), one_line(&row.why, 160));
        lines.push(format!("not run: {what}: {why} ({})", shown(&row.source, workspace)));
    }
}
