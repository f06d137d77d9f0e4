//! The language server table (data in `language_servers.toml`, with its sources), and the changes that the user's
//! configuration makes to it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::trusted::agent_files::AgentFile;
use crate::{file, path};

const SHIPPED: &str = include_str!("language_servers.toml");

const PLUGIN_KEYS: [&str; 7] =
    ["command", "args", "extensionToLanguage", "env", "initializationOptions", "settings", "transport"];
const PROJECT_PROGRAMS: [&str; 3] = ["node_modules/.bin", ".venv/bin", "venv/bin"];
/// Trust in such a program is bound to its path and this many bytes of its beginning.
const LAUNCHER_BYTES: u64 = 64 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LanguageServer {
    /// Extensions or file names, with the protocol's language id.
    pub files: BTreeMap<String, String>,
    pub roots: Vec<String>,
    /// Programs with arguments, in order of preference.
    pub commands: Vec<Vec<String>>,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub options: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    pub settings: Value,
    pub environment: BTreeMap<String, String>,
    /// Files that the project needs for complete findings, and what to say if they are missing.
    pub needs: BTreeMap<String, String>,
}

impl LanguageServer {
    pub fn language(&self, path: &Path) -> Option<&str> {
        let of = |name: Option<&OsStr>| self.files.get(name?.to_str()?).map(String::as_str);
        of(path.extension()).or_else(|| of(path.file_name()))
    }
}

/// The `language_servers` key of a configuration: all on or off, or row by row.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ServersSetting {
    All(bool),
    Rows(BTreeMap<String, RowSetting>),
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum RowSetting {
    Used(bool),
    Row(Box<LanguageServer>),
}

pub type LanguageServers = BTreeMap<String, LanguageServer>;

/// `lspServers` of Claude Code's plugin manifest (its reference of 27 November 2026).
#[derive(Deserialize)]
struct PluginServer {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(rename = "extensionToLanguage")]
    languages: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default, rename = "initializationOptions")]
    options: Value,
    #[serde(default)]
    settings: Value,
}

/// A plugin's rows, and which parts of it aren't supported.
pub fn of_plugin(file: &AgentFile) -> (LanguageServers, Vec<String>) {
    let (mut rows, mut unknown) = (LanguageServers::new(), Vec::new());
    let parsed: Value = serde_json::from_str(&file.text).unwrap_or_default();
    for (name, value) in parsed["lspServers"].as_object().into_iter().flatten() {
        let keys = value.as_object().into_iter().flat_map(serde_json::Map::keys);
        let odd = keys.filter(|key| !PLUGIN_KEYS.contains(&key.as_str()));
        unknown.extend(odd.map(|key| format!("lspServers.{name}.{key}")));
        match PluginServer::deserialize(value) {
            Ok(given) => {
                let ending = |(ending, language): (String, String)| {
                    (ending.trim_start_matches('.').to_owned(), language)
                };
                let row = LanguageServer {
                    files: given.languages.into_iter().map(ending).collect(),
                    commands: vec![[vec![given.command], given.args].concat()],
                    options: given.options,
                    settings: given.settings,
                    environment: given.env,
                    ..LanguageServer::default()
                };
                rows.insert(name.clone(), row);
            }
            Err(error) => unknown.push(format!("lspServers.{name} ({error})")),
        }
    }
    (rows, unknown)
}

/// Puts a plugin's row before those for the same files, whose programs are used if the plugin's isn't installed.
fn put_before(rows: &mut LanguageServers, name: String, mut new: LanguageServer) {
    for known in rows.values_mut() {
        let before = known.files.len();
        known.files.retain(|ending, _| !new.files.contains_key(ending));
        if known.files.len() < before {
            new.commands.extend(known.commands.iter().cloned());
            new.roots.extend(known.roots.iter().cloned());
        }
    }
    if let Some(known) = rows.remove(&name) {
        new.files.extend(known.files);
    }
    rows.insert(name, new);
}

/// The table with plugins' rows and the configuration's changes; fields that a row leaves out keep their values.
pub fn rows(setting: Option<&ServersSetting>, plugins: &[AgentFile]) -> LanguageServers {
    let mut rows: LanguageServers = toml::from_str(SHIPPED).unwrap_or_default();
    for (name, row) in plugins.iter().flat_map(|file| of_plugin(file).0) {
        put_before(&mut rows, name, row);
    }
    match setting {
        Some(ServersSetting::All(false)) => rows.clear(),
        Some(ServersSetting::Rows(own)) => own.iter().for_each(|(name, own)| change(&mut rows, name, own)),
        _ => {}
    }
    rows
}

fn change(rows: &mut LanguageServers, name: &str, own: &RowSetting) {
    match own {
        RowSetting::Used(true) => {}
        RowSetting::Used(false) => drop(rows.remove(name)),
        RowSetting::Row(own) => {
            let row = rows.entry(name.to_owned()).or_default();
            let own = (**own).clone();
            row.environment.extend(own.environment);
            replace(&mut row.options, own.options);
            replace(&mut row.settings, own.settings);
            replace(&mut row.files, own.files);
            replace(&mut row.roots, own.roots);
            replace(&mut row.commands, own.commands);
            replace(&mut row.needs, own.needs);
        }
    }
}

fn replace<T: Default + PartialEq>(mine: &mut T, given: T) {
    if given != T::default() {
        *mine = given;
    }
}

/// Servers that a project ships as programs, each with the first bytes of its program.
pub fn of_project(workspace: &Path) -> Vec<AgentFile> {
    let folders = PROJECT_PROGRAMS.map(|folder| workspace.join(folder));
    let folders: Vec<PathBuf> = folders.into_iter().filter(|folder| folder.is_dir()).collect();
    if folders.is_empty() {
        return Vec::new();
    }
    let rows = rows(None, &[]);
    let programs = rows.values().flat_map(|row| &row.commands).filter_map(|command| command.first());
    let paths = programs.flat_map(|program| folders.iter().map(move |folder| folder.join(program)));
    let read = |launcher: PathBuf| {
        let target = path::follow(&launcher);
        let (opened, meta) = file::open(&target).ok()?;
        let bytes = file::read_all(opened, &meta, LAUNCHER_BYTES).unwrap_or_default();
        let text = format!("{} {} {}", target.display(), meta.len(), file::hash(&bytes));
        Some(AgentFile { path: launcher, text })
    };
    paths.filter_map(read).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn setting(text: &str) -> ServersSetting {
        let table: toml::Table = text.parse().unwrap();
        table["language_servers"].clone().try_into().unwrap()
    }

    #[test]
    fn shipped_rows_are_whole() {
        let rows = rows(None, &[]);
        assert!(rows.len() > 20);
        for (name, row) in &rows {
            assert!(!row.files.is_empty() && row.commands.iter().all(|words| !words.is_empty()), "{name}");
        }
        assert_eq!(rows["go"].language(Path::new("/w/go.mod")), Some("go.mod"));
        assert_eq!(rows["typescript"].language(Path::new("/w/a.tsx")), Some("typescriptreact"));
    }

    #[test]
    fn rows_are_switched_off_changed_and_added() {
        let text = "[language_servers]\nrust = false\n[language_servers.python]\ncommands = [[\"ty\", \"server\"]]\n\
                    [language_servers.mine]\nfiles = { x = \"x\" }\ncommands = [[\"xls\"]]";
        let rows = rows(Some(&setting(text)), &[]);
        assert!(!rows.contains_key("rust"));
        assert_eq!(rows["python"].commands, [["ty", "server"]]);
        assert_eq!(rows["python"].language(Path::new("a.py")), Some("python"));
        assert_eq!(rows["mine"].language(Path::new("a.x")), Some("x"));
        assert!(super::rows(Some(&setting("language_servers = false")), &[]).is_empty());
    }

    #[test]
    fn a_plugin_s_row_comes_first() {
        let text = r#"{"lspServers": {"gopls": {"command": "/p/gopls", "args": ["serve"], "restartOnCrash": false,
            "extensionToLanguage": {".go": "go"}}, "bad": {"command": "x"}}}"#;
        let file = AgentFile { path: PathBuf::new(), text: text.to_owned() };
        let rows = rows(None, std::slice::from_ref(&file));
        assert_eq!(rows["gopls"].commands[..2], [vec!["/p/gopls", "serve"], vec!["gopls"]]);
        assert_eq!(
            (rows["gopls"].language(Path::new("a.go")), rows["go"].language(Path::new("a.go"))),
            (Some("go"), None)
        );
        let mut unknown = of_plugin(&file).1;
        unknown.sort();
        assert!(unknown[0].starts_with("lspServers.bad (missing field"), "{unknown:?}");
        assert_eq!(unknown[1], "lspServers.gopls.restartOnCrash");
    }

    #[test]
    fn a_project_brings_servers() {
        let dir = tempfile::tempdir().unwrap();
        assert!(of_project(dir.path()).is_empty());
        let bin = dir.path().join("node_modules/.bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("vtsls"), "#!/bin/sh\n").unwrap();
        std::fs::write(bin.join("other"), "#!/bin/sh\n").unwrap();
        let found = of_project(dir.path());
        assert_eq!(found.len(), 1);
        std::fs::write(bin.join("vtsls"), "#!/bin/bad\n").unwrap();
        assert_ne!(of_project(dir.path()), found);
    }
}
