//! Fetches a plugin: copies a folder, gets one commit of a repository, or unpacks an npm package without running its scripts
//! (Claude Code's marketplace reference, read on 27 November 2026).

use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use std::{fs, io};

use serde_json::Value;
use tokio::process::Command;
use walkdir::WalkDir;

use crate::cli::report::Failure;
use base::process::git;
use base::text::one_line;
use base::{file, path, secret};

const LIMIT: Duration = Duration::from_secs(300);
const MAX_FILES: usize = 10_000;
const MAX_BYTES: u64 = 200 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginSource {
    at: At,
    /// The plugin's folder in it.
    below: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    Folder(PathBuf),
    Repository {
        url: String,
        commit: Option<String>,
    },
    /// With `@VERSION` if one is wanted.
    Package {
        spec: String,
        registry: Option<String>,
    },
}

pub struct FetchedPlugin {
    pub root: PathBuf,
    pub version: String,
}

impl PluginSource {
    pub fn read(text: &str) -> Result<Self, Failure> {
        let folder = Path::new(text);
        if folder.is_dir() {
            return Ok(Self { at: At::Folder(folder.canonicalize()?), below: String::new() });
        }
        if let Some(spec) = text.strip_prefix("npm:") {
            return Self::package(spec.to_owned(), None);
        }
        let (url, commit) = text.split_once('#').map_or((text, None), |(url, commit)| (url, Some(commit)));
        let plain =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
        let on_github = url
            .split_once('/')
            .is_some_and(|(owner, repo)| plain(owner) && plain(repo) && !owner.starts_with('.'));
        let url = if on_github { format!("https://github.com/{url}") } else { url.to_owned() };
        let is_url =
            ["https://", "http://", "ssh://", "file://", "git@"].iter().any(|start| url.starts_with(start));
        if !is_url {
            let hint = "name a folder, a git URL such as https://…, OWNER/REPO on GitHub, or npm:PACKAGE";
            return Err(Failure::usage(format!("there is no folder {text}"), hint));
        }
        Ok(Self { at: At::Repository { url, commit: commit.map(str::to_owned) }, below: String::new() })
    }

    /// Accepts only names and versions, not npm's addresses, folders and options.
    fn package(spec: String, registry: Option<String>) -> Result<Self, Failure> {
        let (name, version) = match spec.rsplit_once('@') {
            Some((name, version)) if !name.is_empty() => (name, version),
            _ => (spec.as_str(), ""),
        };
        let (scope, base) = name.split_once('/').map_or((None, name), |(scope, base)| (Some(scope), base));
        let plain = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric())
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~".contains(c))
        };
        let scoped = scope.is_none_or(|scope| scope.strip_prefix('@').is_some_and(plain));
        let versioned = version.chars().all(|c| c.is_ascii_alphanumeric() || " .-+~^<>=*|".contains(c));
        let at_url =
            registry.as_deref().is_none_or(|url| url.starts_with("https://") || url.starts_with("http://"));
        if plain(base) && scoped && versioned && at_url {
            return Ok(Self { at: At::Package { spec, registry }, below: String::new() });
        }
        let hint = "write npm:NAME, npm:@SCOPE/NAME or npm:NAME@VERSION";
        Err(Failure::usage(format!("'{spec}' isn't an npm package"), hint))
    }

    /// The source that an entry of a marketplace's list names; `market` was found in `here`.
    pub fn of_entry(entry: &Value, market: &Value, here: &Self) -> Result<Self, String> {
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        let local =
            entry.as_str().map(str::to_owned).or_else(|| text("path").filter(|_| entry["source"] == "local"));
        if let Some(below) = local {
            let base = market["metadata"]["pluginRoot"].as_str().filter(|_| !below.starts_with("./"));
            return Ok(Self { below: format!("{}/{below}", base.unwrap_or(".")), ..here.clone() });
        }
        if let (Some("npm"), Some(name)) = (entry["source"].as_str(), text("package")) {
            let spec = text("version").map_or(name.clone(), |version| format!("{name}@{version}"));
            return Self::package(spec, text("registry")).map_err(|failure| failure.to_string());
        }
        let url = match (entry["source"].as_str(), text("url"), text("repo")) {
            (Some("github"), _, Some(repo)) => format!("https://github.com/{repo}"),
            (Some("url" | "git" | "git-subdir"), Some(url), _) => url,
            (kind, ..) => {
                let kind = kind.unwrap_or("unknown");
                return Err(format!("its source kind '{kind}' isn't supported"));
            }
        };
        let mut source = Self::read(&url).map_err(|failure| failure.to_string())?;
        if let At::Repository { commit, .. } = &mut source.at {
            *commit = text("sha").or_else(|| text("ref"));
        }
        Ok(Self { below: text("path").unwrap_or_default(), ..source })
    }

    /// The folder, if both are in the same repository.
    pub fn within(&self, other: &Self) -> Option<String> {
        (self.at == other.at).then(|| self.below.clone())
    }

    pub fn last_name(&self) -> String {
        let whole = match &self.at {
            At::Folder(folder) => folder.to_string_lossy().into_owned(),
            At::Repository { url, .. } => url.trim_end_matches('/').trim_end_matches(".git").to_owned(),
            At::Package { spec, .. } => spec
                .rsplit_once('@')
                .map_or(spec.as_str(), |(name, _)| if name.is_empty() { spec } else { name })
                .to_owned(),
        };
        let named = if self.below.is_empty() { whole } else { self.below.clone() };
        named.rsplit(['/', ':']).next().unwrap_or_default().to_owned()
    }
}

pub async fn fetch(source: &PluginSource, into: &Path) -> Result<FetchedPlugin, Failure> {
    fs::create_dir_all(into)?;
    let version = match &source.at {
        At::Folder(folder) => {
            let names = copy(folder, into)?;
            file::hash(names.as_bytes())
        }
        At::Repository { url, commit } => commit_of(url, commit.as_deref(), into).await?,
        At::Package { spec, registry } => package(spec, registry.as_deref(), into).await?,
    };
    Ok(FetchedPlugin { root: inside(into, &source.below)?, version })
}

/// A folder named in a list; it must be inside `root`.
pub fn inside(root: &Path, below: &str) -> Result<PathBuf, Failure> {
    let named = Path::new(below);
    let stays = named.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let place = path::normalize(&root.join(named));
    if stays && place.is_dir() {
        return Ok(place);
    }
    let hint = "its list of plugins is invalid; tell its author";
    Err(Failure::task(format!("the repository has no folder {below}"), hint))
}

/// Skips `.git` and links. Returns the name and hash of each file, in order.
fn copy(from: &Path, to: &Path) -> Result<String, Failure> {
    let (mut names, mut files, mut bytes) = (String::new(), 0, 0);
    let entries = WalkDir::new(from).sort_by_file_name().into_iter();
    for entry in entries.filter_entry(|entry| entry.file_name() != ".git") {
        let entry = entry.map_err(io::Error::from)?;
        let name = entry.path().strip_prefix(from).unwrap_or(entry.path());
        let target = to.join(name);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target)?;
        } else if entry.file_type().is_file() {
            (files, bytes) = (files + 1, bytes + entry.metadata().map_err(io::Error::from)?.len());
            if files > MAX_FILES || bytes > MAX_BYTES {
                let hint = "name the plugin's own folder";
                return Err(Failure::usage("the folder is too large for a plugin", hint));
            }
            fs::copy(entry.path(), &target)?;
            names.push_str(&format!("{} {}\n", name.display(), file::hash(&fs::read(&target)?)));
        }
    }
    Ok(names)
}

/// Returns the version, with a hash of its files.
async fn package(spec: &str, registry: Option<&str>, into: &Path) -> Result<String, Failure> {
    let work = into.with_extension("package");
    let unpacked = work.join("unpacked");
    fs::create_dir_all(&unpacked)?;
    let mut npm = Command::new("npm");
    npm.args(["pack", "--json", "--ignore-scripts", "--pack-destination"]).arg(&work).current_dir(&work);
    npm.args(registry.map(|url| format!("--registry={url}"))).arg(spec);
    let packed: Value = serde_json::from_str(&output(npm, "npm").await?).unwrap_or_default();
    let text = |key: &str| packed[0][key].as_str().unwrap_or_default().to_owned();
    // For scoped names, npm may report a file name with a slash.
    let named = text("filename").replace('@', "").replace('/', "-");
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(work.join(named)).args(["--strip-components=1", "-C"]).arg(&unpacked);
    output(tar, "tar").await?;
    let names = copy(&unpacked, into)?;
    fs::remove_dir_all(&work)?;
    Ok(format!("{} {}", text("version"), file::hash(names.as_bytes())))
}

async fn output(mut command: Command, name: &str) -> Result<String, Failure> {
    for variable in secret::own_variables() {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null()).kill_on_drop(true);
    let ran = tokio::time::timeout(LIMIT, command.output()).await;
    let why = match ran {
        Ok(Ok(output)) if output.status.success() => {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(Ok(output)) => one_line(String::from_utf8_lossy(&output.stderr).trim(), 300),
        Ok(Err(error)) => format!("it can't be started: {error}"),
        Err(_) => format!("it took more than {} s", LIMIT.as_secs()),
    };
    let hint = "a package needs npm and tar, and access to its registry";
    Err(Failure::task(format!("{name} failed: {why}"), hint))
}

async fn commit_of(url: &str, wanted: Option<&str>, into: &Path) -> Result<String, Failure> {
    let wanted = wanted.unwrap_or("HEAD");
    if wanted.starts_with('-') {
        let hint = "name one after #";
        return Err(Failure::usage(format!("'{wanted}' can't be a branch, tag or commit"), hint));
    }
    git(into, &["init", "-q", "--template="]).await?;
    let shallow = git(into, &["fetch", "-q", "--depth", "1", "--no-tags", "--", url, wanted]).await;
    let at = match shallow {
        Ok(_) => "FETCH_HEAD",
        // Not every server serves a commit by its hash.
        Err(_) if wanted.len() == 40 => {
            git(into, &["fetch", "-q", "--", url, "+refs/heads/*:refs/remotes/all/*"]).await?;
            wanted
        }
        Err(failure) => return Err(failure),
    };
    // Check out links as text files, so that none leads outside.
    git(into, &["-c", "core.symlinks=false", "checkout", "-q", "--detach", at]).await?;
    let commit = git(into, &["rev-parse", "HEAD"]).await?;
    fs::remove_dir_all(into.join(".git"))?;
    Ok(commit.trim().to_owned())
}

async fn git(folder: &Path, args: &[&str]) -> Result<String, Failure> {
    git::run(folder, args).await.map_err(|error| {
        let hint = error.hint("check the address and your access to it");
        Failure::task(error, hint)
    })
}
