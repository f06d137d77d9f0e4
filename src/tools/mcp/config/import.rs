//! Imports servers that were set up for other agents. For sources see `entry`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::entry::{Entry, check_name, servers_of};
use base::file;
use base::format::settings_file;

/// Claude Code's file also contains the history of all projects.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Agents, and their files below the home folder.
const AGENTS: [(&str, &str); 4] = [
    ("claude", ".claude.json .config/Claude/claude_desktop_config.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    (
        "opencode",
        ".config/opencode/opencode.jsonc .config/opencode/opencode.json .config/opencode/config.json",
    ),
];

#[derive(Debug, Default)]
pub struct Import {
    pub path: PathBuf,
    pub servers: Vec<(String, Entry)>,
    /// Why some were left out, and which settings aren't supported.
    pub problems: Vec<String>,
}

pub fn agents() -> Vec<&'static str> {
    AGENTS.iter().map(|(name, _)| *name).collect()
}

pub fn files(agent: Option<&str>, home: &Path) -> Vec<PathBuf> {
    let meant = AGENTS.iter().filter(|(known, _)| agent.is_none_or(|name| name == *known));
    // The location of Codex's folder is configurable.
    let codex = std::env::var_os("CODEX_HOME").map_or_else(|| home.join(".codex"), PathBuf::from);
    let path =
        |file: &str| file.strip_prefix(".codex/").map_or_else(|| home.join(file), |file| codex.join(file));
    meant.flat_map(|(_, files)| files.split(' ')).map(path).filter(|path| path.is_file()).collect()
}

/// The servers in this file: global ones and those for `workspace`. Blocks.
pub fn read(path: &Path, workspace: &Path) -> Result<Import, String> {
    let text = file::small_text(path, MAX_BYTES)
        .ok_or_else(|| format!("{} cannot be read as text", path.display()))?;
    let config = settings_file::parse(path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    if !config.is_object() {
        return Err(format!("{}: it names no servers, such as {{\"mcpServers\": {{…}}}}", path.display()));
    }
    let of_project = config["projects"].get(workspace.to_string_lossy().as_ref()).and_then(servers_of);
    let others_variables = config.get("mcp").is_some() || path.to_string_lossy().contains(".gemini");
    let mut import = Import { path: path.to_owned(), ..Import::default() };
    for (name, value) in servers_of(&config).into_iter().chain(of_project).flatten() {
        let said = |what: &str| format!("'{name}' in {}: {what}", path.display());
        if config["mcp"]["excluded"].as_array().is_some_and(|all| all.iter().any(|one| one == name)) {
            import.problems.push(said("it is excluded there, so it was left out"));
            continue;
        }
        import.problems.extend(left_out(value).map(said));
        match check_name(name).and(Entry::read(value)) {
            Ok(entry) => {
                let entry = entry.over_http().with_variables_in_our_form(others_variables);
                import.servers.push((name.clone(), entry));
            }
            Err(what) => import.problems.push(said(&what)),
        }
    }
    Ok(import)
}

fn left_out(value: &Value) -> impl Iterator<Item = &'static str> {
    let has = |part: &str| value.to_string().contains(part);
    let all = [
        (value["type"] == "sse", "it uses SSE; only streamable HTTP is supported"),
        (value["headersHelper"].is_string(), "its headersHelper isn't supported; list its headers instead"),
        (has("{file:"), "{file:…} isn't supported; use a ${VARIABLE}"),
        (has("${input:"), "${input:…} isn't supported; use a ${VARIABLE}"),
    ];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, what)| what)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn servers_of_all_agents() {
        let home = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            ".claude.json",
            r#"{"mcpServers": {"a": {"command": "a", "env": {"K": "$V"}}},
               "projects": {"/w": {"mcpServers": {"b": {"type": "sse", "url": "http://b", "headersHelper": "h"}}},
                            "/other": {"mcpServers": {"c": {"command": "c"}}}}}"#,
        );
        write(".codex/config.toml", "[mcp_servers.d]\ncommand = \"d\"\n[mcp_servers.e]\nargs = []\n");
        write(
            ".gemini/settings.json",
            r#"{"mcpServers": {"f": {"command": "f", "env": {"K": "$V", "T": "${input:t}"}}, "off": {"command": "x"}},
               "mcp": {"excluded": ["off"]}}"#,
        );
        write("list.json", "[]");
        assert!(
            read(&home.path().join("list.json"), Path::new("/w")).unwrap_err().contains("names no servers")
        );
        write(
            ".config/opencode/opencode.jsonc",
            r#"{"mcp": {"g": {"type": "local", "command": ["g", "-x"]},}}"#,
        );
        let mut names = Vec::new();
        let mut problems = Vec::new();
        for path in files(None, home.path()) {
            let import = read(&path, Path::new("/w")).unwrap();
            problems.extend(import.problems);
            for (name, entry) in import.servers {
                let value = entry.env.get("K").cloned().unwrap_or_default();
                names.push(format!("{name} {} {value}", entry.command.concat() + &entry.args.concat()));
            }
        }
        assert_eq!(names, ["a a $V", "b  ", "d d ", "f f ${V}", "g g-x "]);
        assert!(problems.len() == 5 && problems[2].starts_with("'e' in"), "{problems:?}");
        assert!(problems[3].contains("${input:…}") && problems[4].contains("excluded"), "{problems:?}");
        assert!(
            problems[0].contains("streamable HTTP") && problems[1].contains("headersHelper"),
            "{problems:?}"
        );
        assert_eq!(files(Some("gemini"), home.path()).len(), 1);
    }
}
