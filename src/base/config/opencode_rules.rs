//! opencode's permission rules, as ours. There the last rule that fits decides, and `*` is any text, `/` too. Sources, 2026-11-29:
//! opencode.ai/v1/docs/permissions, the types of `@opencode-ai/sdk` 1.19.3 for version 2, the program `opencode-ai` 1.18.33.

use serde_json::Value;

use crate::search::glob::like;
use crate::search::words::listed;

/// Their names in both versions, and ours.
const TOOLS: [(&str, &str); 12] = [
    ("bash shell", "Bash"),
    ("edit", "Edit"),
    ("read", "Read"),
    ("webfetch", "WebFetch"),
    ("websearch", "WebSearch"),
    ("glob", "Glob"),
    ("grep", "Grep"),
    ("list", "LS"),
    ("task subagent", "Task"),
    ("skill", "Skill"),
    ("todowrite", "TodoWrite"),
    ("question", "AskUser"),
];
/// They have no counterpart here.
const UNUSED: &str = "external_directory doom_loop lsp todoread codesearch plan_enter plan_exit";
/// The others only read, so a question about all tools doesn't include them.
const ASKED: &str = "Bash Edit WebFetch";

struct Rule {
    key: String,
    pattern: String,
    /// `allow`, `ask` or `deny`.
    effect: String,
}

pub fn lists(settings: &Value) -> [Vec<String>; 3] {
    let rules = rules(settings);
    let mut lists = [const { Vec::new() }; 3];
    for (names, tool) in TOOLS {
        let about = |rule: &&Rule| {
            names.split(' ').any(|name| like(&rule.key, name))
                && (rule.key != "*" || rule.effect != "ask" || listed(ASKED, tool))
        };
        let own: Vec<&Rule> = rules.iter().filter(about).collect();
        for (at, Rule { pattern, effect, .. }) in own.iter().enumerate() {
            let later = &own[at + 1..];
            if later.iter().any(|rule| covers(&rule.pattern, pattern)) {
                continue;
            }
            let milder = |rule: &&&Rule| is_milder(&rule.effect, effect) && covers(pattern, &rule.pattern);
            let except = later.iter().filter(milder).filter_map(|rule| ours(tool, &rule.pattern, true));
            let except: Vec<String> = except.map(|pattern| format!("({pattern})")).collect();
            let except =
                if except.is_empty() { String::new() } else { format!(" except {}", except.join(" ")) };
            let rule = match ours(tool, pattern, effect == "allow") {
                Some(pattern) => format!("{tool}({pattern}){except}"),
                None => continue,
            };
            list(&mut lists, effect).push(rule);
        }
    }
    // Tools of MCP servers are `server_tool` there.
    let is_ours = |key: &str| TOOLS.iter().any(|(names, _)| names.split(' ').any(|name| like(key, name)));
    let of_servers: Vec<&Rule> =
        rules.iter().filter(|rule| rule.pattern == "*" && !listed(UNUSED, &rule.key)).collect();
    for (at, Rule { key, effect, .. }) in of_servers.iter().enumerate() {
        let decided = of_servers[at + 1..].iter().any(|rule| covers(&rule.key, key));
        match (key.as_str(), effect.as_str()) {
            _ if decided => {}
            ("*", "deny") => list(&mut lists, effect).push("mcp__*".to_owned()),
            _ if is_ours(key) => {}
            (_, "allow") => list(&mut lists, effect).push(format!("mcp__{}", key.replacen('_', "__", 1))),
            // Which `_` ends the server's name isn't known.
            _ => list(&mut lists, effect).push(format!("mcp__{}", key.replace('_', "*"))),
        }
    }
    lists
}

pub fn unused(settings: &Value) -> impl Iterator<Item = String> {
    let unused = rules(settings).into_iter().filter(|rule| listed(UNUSED, &rule.key));
    let mut keys: Vec<String> = unused.map(|rule| format!("permission.{}", rule.key)).collect();
    keys.dedup();
    keys.into_iter()
}

fn rules(settings: &Value) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut add = |key: &str, pattern: &str, effect: &Value| {
        let effect = effect.as_str().filter(|effect| listed("allow ask deny", effect));
        let rule = |effect: &str| Rule { key: key.into(), pattern: pattern.into(), effect: effect.into() };
        rules.extend(effect.map(rule));
    };
    add("*", "*", &settings["permission"]);
    for (key, value) in settings["permission"].as_object().into_iter().flatten() {
        add(key, "*", value);
        value.as_object().into_iter().flatten().for_each(|(pattern, effect)| add(key, pattern, effect));
    }
    for rule in settings["permissions"].as_array().into_iter().flatten() {
        let text = |key: &str| rule[key].as_str().unwrap_or("*");
        add(text("action"), text("resource"), &rule["effect"]);
    }
    rules
}

fn list<'l>([allow, ask, deny]: &'l mut [Vec<String>; 3], effect: &str) -> &'l mut Vec<String> {
    match effect {
        "allow" => allow,
        "ask" => ask,
        _ => deny,
    }
}

fn is_milder(effect: &str, than: &str) -> bool {
    effect == "allow" && than != "allow" || effect == "ask" && than == "deny"
}

/// `git *` also covers `git`.
fn covers(pattern: &str, other: &str) -> bool {
    like(pattern, other) || pattern.strip_suffix(" *") == Some(other)
}

/// Converts a pattern. One that allows must not cover more than before.
fn ours(tool: &str, pattern: &str, allows: bool) -> Option<String> {
    let wider = if allows { pattern.to_owned() } else { pattern.replace('?', "*") };
    match tool {
        _ if pattern == "*" => Some(wider),
        "Edit" | "Read" => {
            let at_home = wider.strip_prefix("$HOME").map(|rest| format!("~{rest}"));
            let from_root = wider.starts_with('/').then(|| format!("/{wider}"));
            let path = at_home.or(from_root).unwrap_or(wider);
            let deep = path.replace("/**", "/*").replace("/*", "/**/*");
            Some(deep.strip_suffix("/**/*").map_or(deep.clone(), |folder| format!("{folder}/**")))
        }
        "WebFetch" => {
            let rest = wider.split_once("://").map_or(wider.as_str(), |(_, rest)| rest);
            let (host, path) = rest.split_once('/').unwrap_or((rest, "*"));
            (!allows || matches!(path, "" | "*" | "**")).then(|| host.to_owned())
        }
        _ => Some(wider),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_rule_decides() {
        let told = |settings: &Value| lists(settings).map(|list| list.join(", "));
        let v1 = json!({"permission": {
            "bash": {"rm *": "allow", "*": "ask", "git *": "allow", "git push *": "deny", "ls": "allow"},
            "edit": {"*": "deny", "docs/*.md": "allow"},
            "read": {"*.env.*": "deny", "*.env.example": "allow", "/etc/*": "deny"},
            "webfetch": {"https://docs.rs/*": "allow", "https://github.com/x/*": "allow", "https://*.evil.com/*": "deny"},
            "github_*": "deny", "db_query": "allow", "doom_loop": "allow"
        }});
        assert_eq!(
            told(&v1),
            [
                "Bash(git *), Bash(ls), Edit(docs/**/*.md), Read(*.env.example), WebFetch(docs.rs), mcp__db__query",
                "Bash(*) except (git *) (ls)",
                "Bash(git push *), Edit(*) except (docs/**/*.md), Read(*.env.*) except (*.env.example), Read(//etc/**), \
                 WebFetch(*.evil.com), mcp__github**",
            ]
        );
        let v2 = json!({"permissions": [
            {"action": "*", "resource": "*", "effect": "ask"},
            {"action": "shell", "resource": "make ?", "effect": "deny"},
        ]});
        assert_eq!(told(&v2), ["", "Bash(*), Edit(*), WebFetch(*)", "Bash(make *)"].map(str::to_owned));
        assert!(told(&json!({"permission": "deny"}))[2].ends_with("AskUser(*), mcp__*"));
        assert_eq!(told(&json!({"permissions": {"default": {}}})), ["", "", ""].map(str::to_owned));
    }
}
