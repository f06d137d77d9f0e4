//! Converts the values of options where the table isn't enough.

use crate::cli::commands::work::exec::brought;
use base::config::mode::Mode;
use base::protocol::claude_tools;
use tools::registry;

/// The error is a reason.
pub fn translated(work: &str, value: &str) -> Result<Vec<String>, String> {
    let one = |ours: &str, value: &str| Ok(vec![format!("{ours}={value}")]);
    match work {
        "prompt" if value.trim().is_empty() => Ok(Vec::new()),
        "prompt" => one("--append-system-prompt", value),
        "prompt_file" => translated("prompt", &brought::text_in_file(value)?),
        "mode" => match claude_tools::of_permission_mode(value) {
            Some((Mode::Plan, _)) => one("--mode", "plan"),
            Some((_, level)) => one("--permission", level.into_str()),
            None => Err("use default, acceptEdits, plan, auto, dontAsk or bypassPermissions".to_owned()),
        },
        "allow" => one("--allow", &with_commas(value)),
        "deny" => one("--deny", &with_commas(value)),
        "tools" if value == "default" => Ok(Vec::new()),
        "tools" => Ok(all_but(value)),
        "images" => Ok(value.split(',').map(|file| format!("--image={file}")).collect()),
        "client" => one("--oauth", &serde_json::json!({"clientId": value}).to_string()),
        "resume" if value.is_empty() => Err("name the session; `mycode sessions` lists them".to_owned()),
        "resume" => one("--resume", value),
        "chat" => Ok(vec!["resume".to_owned(), value.to_owned()]),
        _ => Err("not known here".to_owned()),
    }
}

/// Rules are separated by commas or spaces outside of brackets.
fn with_commas(rules: &str) -> String {
    let mut depth = 0;
    let apart = rules.chars().map(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if c.is_whitespace() && depth == 0 { ',' } else { c }
    });
    apart.collect()
}

fn all_but(names: &str) -> Vec<String> {
    let wanted: Vec<&str> = names.split(',').map(str::trim).collect();
    let all = registry::all();
    let others = all
        .iter()
        .map(|tool| tool.name())
        .filter(|ours| !claude_tools::names(ours).iter().any(|name| wanted.contains(&name.as_str())));
    others.map(|ours| format!("--deny={ours}")).collect()
}
