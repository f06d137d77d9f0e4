//! `mycode plugin`: adds, lists and removes bundles of skills, commands, sub-agents, hooks and servers. A bundle is copied at
//! one version, and it is not active before the user has seen what it brings.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::fetch::{self, FetchedPlugin, PluginSource};
use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure};
use crate::cli::setup::ask;
use base::config::language_servers;
use base::config::paths::Paths;
use base::config::trusted::plugin::{self, MANIFEST, ONLY_NAMED, Plugin, PluginRecord};
use base::config::trusted::trust::Definition;
use base::{file, path, sanitize};

const MARKETPLACE: &str = ".claude-plugin/marketplace.json";
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Keys of a manifest or a list's entry that we use or that are only descriptive.
const UNDERSTOOD: &str = "$schema name displayName version description author homepage repository license keywords metadata \
    category tags source strict relevance defaultEnabled headers headersHelper experimental commands agents skills hooks \
    mcpServers lspServers onlyNamedSkills";
const COMPONENTS: &str = "commands agents skills hooks mcpServers lspServers";
const OTHER_FILES: &str = "output-styles workflows themes monitors bin settings.json";
/// A list may name another repository, but not a list of lists.
const MAX_STEPS: usize = 3;

#[derive(Args, Debug)]
pub struct PluginArgs {
    #[command(subcommand)]
    pub command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Copy a plugin, show what it brings, and activate it if you trust it (in scripts: with --trust)
    #[command(alias = "install")]
    Add {
        /// A folder, npm:PACKAGE or npm:PACKAGE@VERSION, or a git URL or OWNER/REPO on GitHub, with #BRANCH, #TAG or #COMMIT at the end
        source: String,
        /// Which plugin, if the repository lists several
        name: Option<String>,
    },
    /// List the plugins, their versions, and what is active
    List,
    /// Remove a plugin
    Remove {
        /// Its name
        name: String,
    },
}

pub async fn run(cli: &SharedArgs, args: &PluginArgs) -> Result<(), Failure> {
    let folder = Paths::from_env().plugins();
    match &args.command {
        PluginCommand::Add { source, name } => add(&folder, source, name.as_deref(), cli.model.trust).await,
        PluginCommand::List => list(&folder),
        PluginCommand::Remove { name } => remove(&folder, name),
    }
}

async fn add(folder: &Path, written: &str, name: Option<&str>, trust: bool) -> Result<(), Failure> {
    file::create_private_folder(folder)?;
    let new = folder.join(format!(".new-{:08x}", fastrand::u32(..)));
    file::create_private_folder(&new)?;
    let found = find(&PluginSource::read(written)?, name, &new).await;
    let placed = found.and_then(|found| place(folder, written, found));
    let _ = fs::remove_dir_all(&new);
    let plugin = placed?;
    report::print(&format!("Added {}\n", sanitize::reveal(&described(&plugin))))?;
    let unused = unused(&plugin).join(", ");
    if !unused.is_empty() {
        let unused = sanitize::reveal(&unused);
        report::print(&format!(
            "  not used, because mycode has nothing like it or can't find it: {unused}\n"
        ))?;
    }
    if plugin.is_trusted() {
        return report::print("It is active: you trusted this version before.\n");
    }
    let definition = plugin.definition();
    let known = plugin::trust_of(folder);
    let changes = known.difference(&definition);
    if !changes.is_empty() {
        report::print(&format!("Changed since you trusted it:\n{}", sanitize::reveal(&changes)))?;
    }
    let question = "Its hooks and servers run on this machine. Activate it? [y] yes   [n] no (default): ";
    let yes = trust || io::stdin().is_terminal() && ask::yes(question)?;
    if !yes {
        return report::print("It is not active. To activate it, add it again with --trust.\n");
    }
    known.give(&[definition])?;
    report::print("It is active from the next session on.\n")
}

struct Found {
    root: PathBuf,
    version: String,
    name: String,
    manifest: Value,
}

/// Fetches a plugin, through a marketplace's list if needed.
async fn find(source: &PluginSource, name: Option<&str>, into: &Path) -> Result<Found, Failure> {
    let (mut source, mut entry) = (source.clone(), json!({}));
    for step in 0..MAX_STEPS {
        let FetchedPlugin { root, version } = fetch::fetch(&source, &into.join(step.to_string())).await?;
        let own = read(&root.join(MANIFEST))?;
        let listed = if entry["name"].is_null() { read(&root.join(MARKETPLACE))? } else { None };
        let wanted = listed.filter(|_| own.is_none() || name.is_some());
        let Some(market) = wanted else {
            let manifest = merged(own.unwrap_or_default(), &entry);
            let named = manifest["name"].as_str().map_or_else(|| source.last_name(), str::to_owned);
            return Ok(Found { root, version, name: named, manifest });
        };
        entry = chosen(&market, name)?;
        match PluginSource::of_entry(&entry["source"], &market, &source) {
            Err(why) => return Err(unusable(&why)),
            Ok(next) => match next.within(&source) {
                // In another folder of what was just fetched.
                Some(below) => {
                    let below = fetch::inside(&root, &below)?;
                    let own = read(&below.join(MANIFEST))?;
                    let manifest = merged(own.unwrap_or_default(), &entry);
                    let named = manifest["name"].as_str().unwrap_or_default().to_owned();
                    return Ok(Found { root: below, version, name: named, manifest });
                }
                None => source = next,
            },
        }
    }
    Err(unusable("its list points to another list"))
}

/// The manifest, completed by the marketplace's entry, which may replace it.
fn merged(own: Value, entry: &Value) -> Value {
    let mut manifest = entry.as_object().cloned().unwrap_or_default();
    if manifest.contains_key("skills") {
        manifest.insert(ONLY_NAMED.to_owned(), true.into());
    }
    manifest.extend(own.as_object().cloned().unwrap_or_default());
    manifest.into()
}

fn chosen(market: &Value, name: Option<&str>) -> Result<Value, Failure> {
    let all = market["plugins"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
    let named = |name: &str| all.iter().find(|one| one["name"] == name).cloned();
    let (found, what) = match (name, all) {
        (Some(name), _) => (named(name), format!("it lists no plugin '{name}'")),
        (None, [one]) => (Some(one.clone()), String::new()),
        (None, _) => (None, "it lists several plugins".to_owned()),
    };
    let hint = format!("add one of their names after the source: {}", sanitize::reveal(&names.join(", ")));
    found.ok_or_else(|| Failure::usage(what, hint))
}

fn read(path: &Path) -> Result<Option<Value>, Failure> {
    let Some(text) = file::small_text(path, MAX_BYTES) else { return Ok(None) };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| unusable(&format!("its {name} is not valid JSON: {error}")))
}

/// Moves a fetched plugin to its place, replacing an earlier version.
fn place(folder: &Path, written: &str, found: Found) -> Result<Plugin, Failure> {
    let Found { root, version, name, manifest } = found;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(unusable("its name may have letters, digits, - and _ only"));
    }
    let target = folder.join(&name);
    // Outside the checkout: a plugin is active only once its record exists.
    let record = PluginRecord { name: name.clone(), source: written.to_owned(), version, manifest };
    let kept = folder.join(format!("{name}.json"));
    file::remove(&kept)?;
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    fs::rename(&root, &target)?;
    file::create_private_folder(&plugin::data_of(&target))?;
    fs::write(&kept, serde_json::to_vec(&record).map_err(io::Error::other)?)?;
    let added = plugin::installed(folder).into_iter().find(|plugin| plugin.record.name == name);
    match added {
        Some(plugin) if !plugin.files.definitions(&plugin.root).is_empty() => Ok(plugin),
        _ => {
            discard(folder, &name)?;
            Err(unusable("it has no skills, commands, sub-agents, hooks, MCP or language servers"))
        }
    }
}

fn unusable(why: &str) -> Failure {
    Failure::task(
        format!("this can't be added as a plugin: {}", sanitize::reveal(why)),
        "a plugin is a folder with .claude-plugin/plugin.json, or with skills, commands, agents, hooks or .mcp.json in it",
    )
}

fn described(plugin: &Plugin) -> String {
    let record = &plugin.record;
    let version = record.version.get(..12).unwrap_or(&record.version);
    let mut lines = format!("{} {version} from {}", record.name, record.source);
    if let Some(about) = record.manifest["description"].as_str() {
        lines.push_str(&format!("\n  {}", base::text::one_line(about, 200)));
    }
    let files = plugin.files.definitions(&plugin.root);
    let mut kinds: Vec<&str> = files.iter().map(|one| one.kind).collect();
    kinds.dedup();
    for kind in kinds {
        let names: Vec<&str> =
            files.iter().filter(|one: &&Definition| one.kind == kind).map(|one| one.name.as_str()).collect();
        lines.push_str(&format!("\n  {kind}: {}", names.join(", ")));
    }
    lines
}

/// What a plugin has that we don't support.
fn unused(plugin: &Plugin) -> Vec<String> {
    let (root, manifest) = (&plugin.root, &plugin.record.manifest);
    let keys = |value: &Value| value.as_object().into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>();
    let mut unused = keys(manifest);
    unused.retain(|key| !UNDERSTOOD.split_whitespace().any(|known| known == key));
    unused.extend(keys(&manifest["experimental"]).iter().map(|key| format!("experimental.{key}")));
    unused.extend(OTHER_FILES.split_whitespace().filter(|name| root.join(name).exists()).map(str::to_owned));
    for key in COMPONENTS.split(' ') {
        let named = match &manifest[key] {
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect::<Vec<_>>(),
        };
        let lost = |path: &&str| {
            let place = path::follow(&root.join(path));
            !place.starts_with(root) || !place.exists() || path.ends_with(".mcpb") || path.ends_with(".dxt")
        };
        unused.extend(named.into_iter().filter(lost).map(|path| format!("{key} {path}")));
    }
    unused.extend(plugin.files.servers.iter().flat_map(|file| language_servers::of_plugin(file).1));
    let package = read(&root.join("package.json")).ok().flatten().unwrap_or_default();
    if !keys(&package["dependencies"]).is_empty() && !root.join("node_modules").exists() {
        unused.push(format!(
            "npm dependencies (`npm install --ignore-scripts` in {} gets them)",
            root.display()
        ));
    }
    unused
}

fn list(folder: &Path) -> Result<(), Failure> {
    let plugins = plugin::installed(folder);
    if plugins.is_empty() {
        return report::print("No plugins. `mycode plugin add SOURCE` adds one.\n");
    }
    for plugin in plugins {
        let state = if plugin.is_trusted() { "active" } else { "not active: this version isn't trusted" };
        report::say(&format!("{}\n  {state}\n", described(&plugin)))?;
    }
    Ok(())
}

fn remove(folder: &Path, name: &str) -> Result<(), Failure> {
    let plugins = plugin::installed(folder);
    if !plugins.iter().any(|plugin| plugin.record.name == name) {
        let hint = "`mycode plugin list` lists them";
        return Err(Failure::usage(format!("there is no plugin '{}'", sanitize::reveal(name)), hint));
    }
    discard(folder, name)?;
    report::print(&format!("Removed {name}.\n"))
}

fn discard(folder: &Path, name: &str) -> io::Result<()> {
    file::remove(&folder.join(format!("{name}.json")))?;
    for gone in [folder.join(name), plugin::data_of(&folder.join(name))] {
        if gone.is_dir() {
            fs::remove_dir_all(gone)?;
        }
    }
    Ok(())
}
