//! What the host program supplies for one run of `mycode exec`: servers, sub-agents and plugins; and the tools that remain.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::report::{Failure, OrFail};
use agent::assemble::Setup;
use base::config::trusted::agent_files::AgentFile;
use base::config::trusted::own_files::OwnFiles;
use base::config::trusted::plugin::Plugin;
use base::file;
use base::protocol::claude_tools;
use guard::policy::rules::Rules;
use guard::policy::tool_rule::ToolRule;
use tools::{own_agents, registry};

const MAX_TEXT: u64 = 1024 * 1024;

pub fn bring_plugin(own: &mut OwnFiles, folder: &Path) -> Result<(), Failure> {
    let hint = "name a folder with skills, commands, agents, hooks or servers in it";
    let plugin = Plugin::in_folder(folder)
        .ok_or_else(|| Failure::usage(format!("--plugin-dir {}: no plugin", folder.display()), hint))?;
    own.add_plugin(plugin.files, plugin.root);
    Ok(())
}

pub fn plugins(folders: &[PathBuf]) -> Vec<Value> {
    let plugins = folders.iter().filter_map(|folder| Plugin::in_folder(folder));
    plugins.map(|plugin| json!({"name": plugin.record.name, "path": plugin.root})).collect()
}

/// Claude's names of the tools that aren't denied completely.
pub fn tools(setup: &Setup) -> Vec<String> {
    let rules = Rules::new(setup.limits.rules.clone(), &setup.project_state);
    let names = registry::builtin().into_iter().map(|tool| claude_tools::names(tool.name()));
    names.filter(|names| !rules.removes(names)).filter_map(|names| names.into_iter().next()).collect()
}

/// The session works as this sub-agent: with its instructions, and only its tools.
pub fn lead(setup: &mut Setup, name: &str) -> Result<(), Failure> {
    let (kinds, _) = own_agents::read(&setup.loaded.own.agents);
    let kind = kinds.into_iter().find(|kind| kind.name == name).ok_or_else(|| {
        let hint = "define it with --agents, or in .claude/agents of a trusted project";
        Failure::usage(format!("--agent {name}: there is no such sub-agent"), hint)
    })?;
    setup.instructions = format!("{}\n\n{}", setup.instructions, kind.prompt).trim().to_owned();
    if let Some(tools) = kind.tools {
        let all = registry::all();
        let others = all.iter().map(|tool| tool.name()).filter(|name| !tools.contains(name));
        let denied = others.filter_map(|name| ToolRule::parse(name).ok());
        setup.limits.rules.denied.extend(denied);
    }
    Ok(())
}

pub fn brought(option: &str, value: &Value) -> AgentFile {
    AgentFile { path: PathBuf::from(option), text: value.to_string() }
}

/// Converts Claude's `{"name": {"description", "prompt", "tools", "model"}}` to our files.
pub fn agents(all: &Value) -> Vec<AgentFile> {
    let agents = all.as_object().into_iter().flatten();
    let file = |(name, agent): (&String, &Value)| {
        let mut head = format!("name: {name}\n");
        for key in ["description", "model", "tools"].into_iter().filter(|key| !agent[*key].is_null()) {
            // The values are valid YAML, because JSON is a subset.
            head.push_str(&format!("{key}: {}\n", agent[key]));
        }
        let prompt = agent["prompt"].as_str().unwrap_or_default();
        AgentFile { path: PathBuf::from(format!("{name}.md")), text: format!("---\n{head}---\n{prompt}\n") }
    };
    agents.map(file).collect()
}

pub fn json(option: &str, written: &str) -> Result<Value, Failure> {
    let parsed =
        |text: String| serde_json::from_str(&text).map_err(|error| format!("it isn't valid JSON: {error}"));
    written_or_in_file(written)
        .and_then(parsed)
        .or_usage(format!("{option} {written}"), "name a file, or write {…}")
}

/// `written` is JSON or the path of a file with it.
pub fn written_or_in_file(written: &str) -> Result<String, String> {
    if written.trim_start().starts_with('{') {
        return Ok(written.to_owned());
    }
    text_in_file(written)
}

pub fn text_in_file(path: &str) -> Result<String, String> {
    let why = if Path::new(path).exists() { "it must be text of at most 1 MiB" } else { "no such file" };
    file::small_text(Path::new(path), MAX_TEXT).ok_or(why.to_owned())
}
