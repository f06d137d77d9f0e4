//! Plugins: bundles of skills, commands, sub-agents, hooks, MCP and language servers, in Claude Code's format (its plugin
//! manifest reference of 27 November 2026, and the manifests of anthropics/claude-plugins-official). In the user's state, `NAME/`
//! has a plugin's files and `NAME.json` their source. A plugin is inactive until the user trusts exactly this version.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::agent_files::{self, AgentFile, CommandFile};
use super::own_files::OwnFiles;
use super::skill_files;
use super::trust::{Definition, Trust};
use crate::{file, path};

/// The variable with the plugin's folder, for its texts, hooks and servers.
pub const ROOT: &str = "CLAUDE_PLUGIN_ROOT";
/// The variable with the plugin's data folder, which is kept across updates.
const DATA: &str = "CLAUDE_PLUGIN_DATA";
/// Only the skills named in the manifest belong to the plugin.
pub const ONLY_NAMED: &str = "onlyNamedSkills";
pub const MANIFEST: &str = ".claude-plugin/plugin.json";
const MAX_BYTES: u64 = 1024 * 1024;
/// A command's keys in the manifest, and their names in a command's front matter.
const COMMAND_KEYS: [(&str, &str); 4] = [
    ("description", "description"),
    ("argumentHint", "argument-hint"),
    ("model", "model"),
    ("allowedTools", "allowed-tools"),
];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PluginRecord {
    pub name: String,
    pub source: String,
    /// The commit, or a hash of the copied files.
    pub version: String,
    /// `plugin.json`, merged over what a marketplace says.
    pub manifest: Value,
}

#[derive(Clone, Debug)]
pub struct Plugin {
    pub record: PluginRecord,
    pub root: PathBuf,
    pub files: OwnFiles,
    trust: Trust,
}

pub fn installed(folder: &Path) -> Vec<Plugin> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_record = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "json") && path.with_extension("").is_dir()
    };
    let mut records: Vec<PathBuf> = entries.filter(is_record).collect();
    records.sort();
    if records.is_empty() {
        return Vec::new();
    }
    let trust = trust_of(folder);
    let read = |path: PathBuf| {
        let record: PluginRecord = serde_json::from_str(&file::small_text(&path, MAX_BYTES)?).ok()?;
        Some(Plugin::new(record, &path.with_extension(""), trust.clone()))
    };
    records.into_iter().filter_map(read).collect()
}

pub fn trust_of(folder: &Path) -> Trust {
    Trust::read(&folder.join(".trust"))
}

impl Plugin {
    fn new(record: PluginRecord, root: &Path, trust: Trust) -> Self {
        let root = path::follow(root);
        Self {
            files: Bundle { root: &root, name: &record.name, manifest: &record.manifest }.files(),
            record,
            root,
            trust,
        }
    }

    /// The plugin in this folder; `None` if there is none.
    pub fn in_folder(folder: &Path) -> Option<Self> {
        let root = path::follow(folder);
        let manifest = file::small_text(&root.join(MANIFEST), MAX_BYTES).unwrap_or_default();
        let manifest: Value = serde_json::from_str(&manifest).unwrap_or_default();
        let name = manifest["name"].as_str().or(root.file_name()?.to_str())?.to_owned();
        let plugin =
            Self::new(PluginRecord { name, manifest, ..PluginRecord::default() }, &root, trust_of(&root));
        (!plugin.files.definitions(&plugin.root).is_empty()).then_some(plugin)
    }

    /// What the user trusts: the version and the texts of all loaded files.
    pub fn definition(&self) -> Definition {
        let files = self.files.definitions(&self.root);
        let texts = files.iter().map(|one| format!("{} {}\n{}\n", one.kind, one.name, one.text));
        let text = format!("{} {}\n{}", self.record.source, self.record.version, texts.collect::<String>());
        Definition { kind: "plugins", name: self.record.name.clone(), text }
    }

    pub fn is_trusted(&self) -> bool {
        self.trust.holds(&self.definition())
    }
}

/// The plugin's data folder, which is kept across updates.
pub fn data_of(root: &Path) -> PathBuf {
    root.with_extension("data")
}

struct Bundle<'a> {
    root: &'a Path,
    name: &'a str,
    manifest: &'a Value,
}

impl Bundle<'_> {
    fn files(&self) -> OwnFiles {
        let mut files = OwnFiles::default();
        // Names in the manifest replace these two folders, and add to all others.
        let unless_named = |name| self.manifest[name].is_null().then_some(name);
        for place in self.places("agents", unless_named("agents")) {
            files.agents.extend(agent_files::agents(&place));
        }
        for place in self.places("commands", unless_named("commands")) {
            files.commands.extend(agent_files::commands(&place));
        }
        files.commands.extend(self.named_commands());
        for command in &mut files.commands {
            command.name = format!("{}:{}", self.name, command.name);
        }
        let all = self.manifest[ONLY_NAMED] != true;
        for place in self.places("skills", all.then_some("skills")) {
            files.skills.extend(skill_files::of_plugin(&place, self.name));
        }
        // A bundle that consists of one skill.
        if files.skills.is_empty() && all {
            let root = skill_files::of_plugin(self.root, self.name);
            files.skills.extend(root.into_iter().filter(|file| file.path.parent() == Some(self.root)));
        }
        files.hooks = self.json("hooks", "hooks/hooks.json", "hooks");
        files.mcp = self.json("mcpServers", ".mcp.json", "mcpServers");
        files.servers = self.json("lspServers", ".lsp.json", "lspServers");
        let inside = |path: &Path| path::follow(path).starts_with(self.root);
        files.agents.retain(|file| inside(&file.path));
        files.commands.retain(|file| inside(&file.path));
        // Several named folders may contain the same file.
        let mut seen = HashSet::new();
        files.skills.retain(|file| inside(&file.path) && seen.insert(file.path.clone()));
        let texts = files.agents.iter_mut().map(|file| &mut file.text);
        let texts = texts.chain(files.commands.iter_mut().map(|file| &mut file.text));
        for text in texts.chain(files.skills.iter_mut().map(|file| &mut file.text)) {
            *text = self.placed(text);
        }
        files
    }

    /// The default place and those named in the manifest: one or several paths inside the folder.
    fn places(&self, key: &str, default: Option<&str>) -> Vec<PathBuf> {
        let named = match &self.manifest[key] {
            Value::String(path) => vec![path.as_str()],
            Value::Array(paths) => paths.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let mut places: Vec<PathBuf> = Vec::new();
        for place in default.into_iter().chain(named).map(|name| path::follow(&self.root.join(name))) {
            if place.starts_with(self.root) && !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Commands by name: `{"about": {"source": "./about.md"}}`, or with their text as `content`.
    fn named_commands(&self) -> Vec<CommandFile> {
        let command = |(name, given): (&String, &Value)| {
            let source = given["source"].as_str().map(|source| path::follow(&self.root.join(source)));
            let text = match &source {
                Some(path) if path.starts_with(self.root) => file::small_text(path, MAX_BYTES)?,
                Some(_) => return None,
                None => given["content"].as_str()?.to_owned(),
            };
            // JSON values are valid YAML.
            let head: String = COMMAND_KEYS
                .iter()
                .filter(|(key, _)| !given[*key].is_null() && !text.starts_with("---"))
                .map(|(key, ours)| format!("{ours}: {}\n", given[*key]))
                .collect();
            let text = if head.is_empty() { text } else { format!("---\n{head}---\n{text}") };
            Some(CommandFile {
                name: name.clone(),
                path: source.unwrap_or_else(|| self.root.join(MANIFEST)),
                text,
            })
        };
        self.manifest["commands"].as_object().into_iter().flatten().filter_map(command).collect()
    }

    /// Objects in files and in the manifest itself, each in the format of our own files.
    fn json(&self, key: &str, default: &str, within: &str) -> Vec<AgentFile> {
        let mut found = Vec::new();
        let is_json = |place: &PathBuf| place.extension().is_some_and(|ending| ending == "json");
        let places = self.places(key, Some(default)).into_iter().filter(is_json);
        for place in places.filter(|place| place.is_file()) {
            let text = file::small_text(&place, MAX_BYTES).unwrap_or_default();
            // Invalid JSON is kept, so that it can be reported.
            let text = match serde_json::from_str(&text) {
                Ok(value) => self.completed(value, within),
                Err(_) => text,
            };
            found.push(AgentFile { path: place, text });
        }
        let inline = match &self.manifest[key] {
            Value::Array(all) => all.iter().filter(|one| one.is_object()).collect(),
            one if one.is_object() => vec![one],
            _ => Vec::new(),
        };
        let path = self.root.join(MANIFEST);
        found.extend(
            inline
                .into_iter()
                .map(|value| AgentFile { path: path.clone(), text: self.completed(value.clone(), within) }),
        );
        found
    }

    /// Adds the outer key that our own files have, and fills in the plugin's folder.
    fn completed(&self, value: Value, within: &str) -> String {
        let mut value =
            if value.get(within).is_some_and(Value::is_object) { value } else { json!({within: value}) };
        self.place_in(&mut value);
        if within == "hooks" {
            value[ROOT] = json!(self.root);
        } else if let Some(servers) = value[within].as_object_mut() {
            let programs = servers.values_mut().filter(|server| server.get("command").is_some());
            for server in programs.filter_map(Value::as_object_mut) {
                if within == "mcpServers" {
                    server.entry("sandbox").or_insert_with(|| json!({"folders": [self.data()]}));
                }
                let env = server.entry("env").or_insert_with(|| Value::Object(Map::new()));
                if env.is_object() {
                    env[ROOT] = json!(self.root);
                    env[DATA] = json!(self.data());
                }
            }
        }
        value.to_string()
    }

    fn place_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.placed(text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.place_in(one)),
            Value::Object(all) => all.values_mut().for_each(|one| self.place_in(one)),
            _ => {}
        }
    }

    fn placed(&self, text: &str) -> String {
        let named = |name: &str| format!("${{{name}}}");
        text.replace(&named(ROOT), &self.root.to_string_lossy())
            .replace(&named(DATA), &self.data().to_string_lossy())
    }

    fn data(&self) -> PathBuf {
        data_of(self.root)
    }
}
