//! A hook's `if`: it runs only for calls that match one rule. If in doubt, the hook runs.

use std::path::Path;

use serde_json::Value;

use guard::policy::tool_rule::{Match, ToolRule, is_about_command, is_about_path};
use guard::shell::interpret::interpreter;

#[derive(Clone, Copy, Debug)]
pub struct HookedCall<'a> {
    /// All names of the tool, with the one reported to hooks first.
    pub names: &'a [&'a str],
    pub input: &'a Value,
    pub workspace: &'a Path,
}

/// Whether the rule covers, or may cover, the call. A rule for Edit covers every tool that writes files.
pub fn holds(rule: &ToolRule, call: HookedCall<'_>) -> bool {
    let HookedCall { names, input, workspace } = call;
    let edits = rule.tool == "Edit" && names.iter().any(|name| matches!(*name, "Write" | "MultiEdit"));
    if !edits && !names.iter().any(|name| rule.names(name)) {
        return false;
    }
    let Some(pattern) = &rule.pattern else { return true };
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    if let Some(command) = text("command") {
        let calls = interpreter::calls(command, workspace, None).ok();
        return is_about_command(pattern, calls.as_ref()) != Match::No;
    }
    if let Some(path) = text("file_path").or_else(|| text("path")) {
        return is_about_path(pattern, Path::new(path), workspace);
    }
    let plain = pattern.strip_prefix("domain:").unwrap_or(pattern);
    match text("url").or_else(|| text("subagent_type")) {
        Some(told) => told.contains(plain.trim_matches('*')),
        None => true,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_and_calls() {
        let holds = |rule: &str, names: &[&str], input: Value| {
            super::holds(
                &ToolRule::parse(rule).unwrap(),
                HookedCall { names, input: &input, workspace: Path::new("/w") },
            )
        };
        assert!(holds("Bash(git *)", &["Bash"], json!({"command": "cd x && git push"})));
        assert!(!holds("Bash(git *)", &["Bash"], json!({"command": "ls"})));
        assert!(holds("Bash(git *)", &["Bash"], json!({"command": "if [ "})));
        assert!(holds("Edit(*.ts)", &["Write"], json!({"file_path": "/w/a/b.ts"})));
        assert!(!holds("Edit(*.ts)", &["Edit"], json!({"file_path": "/w/a/b.rs"})));
        assert!(!holds("Read(*.ts)", &["Edit"], json!({"file_path": "/w/b.ts"})));
        assert!(holds("WebFetch(domain:docs.rs)", &["WebFetch"], json!({"url": "https://docs.rs/x"})));
    }
}
