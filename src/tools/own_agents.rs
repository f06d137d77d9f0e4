//! User-defined sub-agent types: Markdown files with front matter (name, description, tools, model).

use super::agent_types::{self, AgentType, PARENT_TOOLS};
use super::registry;
use base::config::trusted::agent_files::AgentFile;
use base::format::frontmatter;
use base::text::{elide, one_line};

const MAX_STEPS: u32 = 80;
const CHANGING: [&str; 5] = ["Write", "Edit", "MultiEdit", "Bash", "Job"];
const MAX_NAME_BYTES: usize = 40;
/// Characters of all descriptions, and of one: about 250 and 60 tokens.
const ALL_CHARS: usize = 1_000;
const ONE_CHARS: usize = 240;

/// The types, and a sentence for the user about each invalid file.
pub fn read(files: &[AgentFile]) -> (Vec<AgentType>, Vec<String>) {
    let (mut own, mut notices): (Vec<AgentType>, Vec<String>) = (Vec::new(), Vec::new());
    for file in files {
        match parse(file, &mut notices) {
            Ok(kind) if own.iter().all(|other| other.name != kind.name) => own.push(kind),
            Ok(kind) => notices.push(unused(file, &format!("another file defines '{}'", kind.name))),
            Err(why) => notices.push(unused(file, &why)),
        }
    }
    (own, notices)
}

fn unused(file: &AgentFile, why: &str) -> String {
    format!("{} defines no sub-agent: {why}. Correct the file, or remove it.", file.path.display())
}

fn parse(file: &AgentFile, notices: &mut Vec<String>) -> Result<AgentType, String> {
    let parts = frontmatter::split(file.text.trim_start_matches('\u{feff}'));
    let head = parts.head.unwrap_or_default();
    let map = frontmatter::read_lenient(head)?;
    let stem = file.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = frontmatter::text_of(head, &map, "name").unwrap_or(stem);
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(plain) {
        return Err("its name may have letters, digits, - and _ only, 40 at most".to_owned());
    }
    if agent_types::find(&name).is_some() {
        return Err(format!("'{name}' is a built-in type"));
    }
    let prompt = parts.body.trim();
    if prompt.is_empty() {
        return Err("no prompt follows its front matter".to_owned());
    }
    let builtin = registry::all();
    let tools = map.contains_key("tools").then(|| {
        let named = frontmatter::list_of(&map, "tools");
        let parts = named.iter().filter(|name| name.contains('('));
        notices.extend(parts.map(|name| {
            let file = file.path.display();
            format!("{file}: {name} is left out, because a sub-agent's tools take no patterns. Name the tool alone.")
        }));
        let known =
            named.iter().filter_map(|name| registry::find(&builtin, name).ok().map(|tool| tool.name()));
        known.filter(|name| !PARENT_TOOLS.contains(name)).collect::<Vec<&'static str>>()
    });
    if tools.as_ref().is_some_and(Vec::is_empty) {
        return Err("all of its tools are unknown".to_owned());
    }
    let model = frontmatter::text_of(head, &map, "model").unwrap_or_default();
    let description = frontmatter::text_of(head, &map, "description").unwrap_or_default();
    Ok(AgentType {
        name: name.into(),
        prompt: prompt.to_owned().into(),
        description: elide(&one_line(&description, ONE_CHARS), ONE_CHARS).into(),
        only_reads: tools.as_ref().is_some_and(|tools| !tools.iter().any(|tool| CHANGING.contains(tool))),
        tools,
        own_tree: frontmatter::text_of(head, &map, "isolation").as_deref() == Some("worktree"),
        light: matches!(model.to_lowercase().as_str(), "light" | "haiku"),
        max_steps: MAX_STEPS,
    })
}

/// The addition to the Task tool's description; empty if there are no types.
pub fn described(own: &[AgentType]) -> String {
    let mut told = String::new();
    for kind in own {
        let one = match kind.description.is_empty() {
            true => kind.name.to_string(),
            false => format!("{}: {}", kind.name, kind.description),
        };
        // The error for an unknown type names the rest.
        if told.chars().count() + one.chars().count() > ALL_CHARS {
            break;
        }
        let begin = if told.is_empty() { " Also: " } else { "; " };
        told.push_str(&format!("{begin}{}", one.trim_end_matches('.')));
    }
    if told.is_empty() { told } else { format!("{told}.") }
}
