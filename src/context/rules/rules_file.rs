//! One rules file: where it may be, what is sent of it and its imports, and notices for the user.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::imports;
use super::other_settings;
use super::scoped_rule;
use base::config::prompts;
use base::config::trusted::held_back::RulesHashes;
use base::file::{self, FileError};
use base::folder::atomic_write::{self, Expect};
use base::format::frontmatter;
use base::path::leads_out;
use base::sanitize;
use base::text;
use guard::policy::denied_paths::DeniedPaths;
use guard::redact::detector;

pub const OWN_NAME: &str = "CODE_LAW.md";
/// In order of preference; one file per folder. The first is matched in any case.
const OTHERS: &str = "AGENTS.override.md AGENTS.md CLAUDE.md .claude/CLAUDE.md GEMINI.md .cursorrules \
    .github/copilot-instructions.md .windsurfrules";
/// Personal rules, used in addition to the folder's rules file.
const LOCAL: &str = "CLAUDE.local.md";
/// The file that `/init` creates: the name that most agents read.
pub const NEW_NAME: &str = "AGENTS.md";

/// The rules file that `/init` improves or creates; a second file in the folder would hide the first.
pub fn of_init(workspace: &Path) -> &'static str {
    let there = |name: &&str| workspace.join(name).is_file();
    std::iter::once(OWN_NAME).chain(OTHERS.split(' ')).find(there).unwrap_or(NEW_NAME)
}

pub fn init_prompt(workspace: &Path) -> String {
    prompts::INIT.trim().replace("{file}", of_init(workspace))
}

/// What other agents read from the user's home in every project.
const AT_HOME: [&str; 3] = [".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md"];
const IMPORTING: [&str; 3] = ["CLAUDE.md", "GEMINI.md", LOCAL];

/// In bytes; a larger file is left out with a notice.
const MAX_BYTES: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RulesNotice {
    Cut,
    LeftOut {
        path: PathBuf,
        why: String,
    },
    Hidden {
        path: PathBuf,
        count: usize,
    },
    HeldBack {
        path: PathBuf,
    },
    /// A project's file imports something secret or outside the project.
    NotImported {
        path: PathBuf,
        by: PathBuf,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Reach<'a> {
    /// Links and imports must stay within this folder.
    pub root: &'a Path,
    /// The user's own rules: links and imports may lead anywhere.
    pub own: bool,
    /// A rules file can't import what the user's rules hide.
    pub denied: &'a DeniedPaths,
}

#[derive(Clone, Debug)]
pub struct RulesPart {
    pub path: PathBuf,
    stamp: FileStamp,
    pub hash: String,
}

type FileStamp = Option<(Option<SystemTime>, u64)>;

#[derive(Clone, Debug)]
pub struct RulesFile {
    pub path: PathBuf,
    /// The file itself first, then its imports.
    pub parts: Vec<RulesPart>,
    pub text: String,
    pub notices: Vec<RulesNotice>,
    /// A held-back import was left out.
    pub incomplete: bool,
}

impl RulesFile {
    /// Reads the file with its imports, except those that are `held` back.
    pub fn read(path: &Path, reach: Reach<'_>, held: &RulesHashes) -> Self {
        let before = stamp(path);
        let main = match content(path, reach) {
            Ok(content) => content,
            Err(why) => {
                return Self {
                    path: path.to_owned(),
                    parts: vec![RulesPart { path: path.to_owned(), stamp: before, hash: String::new() }],
                    text: format!("This rules file {why}, so it is left out. The user has been notified."),
                    notices: vec![RulesNotice::LeftOut { path: path.to_owned(), why }],
                    incomplete: false,
                };
            }
        };
        let mut read = Self {
            path: path.to_owned(),
            parts: vec![RulesPart { path: path.to_owned(), stamp: before, hash: main.hash }],
            text: main.text,
            notices: main.notice.into_iter().collect(),
            incomplete: false,
        };
        if path.file_name().is_some_and(|name| IMPORTING.iter().any(|importing| name == *importing)) {
            let text = read.text.clone();
            imports::walk(path, &text, &mut |import| read.import(import, reach, held));
        }
        read
    }

    fn import(&mut self, import: &Path, reach: Reach<'_>, held: &RulesHashes) -> Option<String> {
        if !reach.own && !imports::may_import(import, reach.root) {
            self.notices.push(RulesNotice::NotImported { path: import.to_owned(), by: self.path.clone() });
            return None;
        }
        let before = stamp(import);
        let content = match content(import, reach) {
            Ok(content) => content,
            Err(why) => {
                self.notices.push(RulesNotice::LeftOut { path: import.to_owned(), why });
                return None;
            }
        };
        let is_held = held.get(import) == Some(&content.hash);
        self.parts.push(RulesPart { path: import.to_owned(), stamp: before, hash: content.hash });
        if is_held {
            self.incomplete = true;
            self.notices.push(RulesNotice::HeldBack { path: import.to_owned() });
            return None;
        }
        self.notices.extend(content.notice);
        let shown = import.strip_prefix(reach.root).unwrap_or(import).display();
        self.text.push_str(&format!("\n\n## Imported from {shown}\n{}", content.text.trim()));
        Some(content.text)
    }

    pub fn is_current(&self) -> bool {
        !self.incomplete && self.parts.iter().all(|part| part.stamp == stamp(&part.path))
    }
}

struct Content {
    hash: String,
    text: String,
    notice: Option<RulesNotice>,
}

fn content(path: &Path, reach: Reach<'_>) -> Result<Content, String> {
    if path.canonicalize().is_ok_and(|real| reach.denied.hides(&real)) {
        return Err("may not be read (a rule denies it)".to_owned());
    }
    if !reach.own && leads_astray(path, reach.root) {
        return Err("is a link to something that is not a rules file of this project".to_owned());
    }
    let bytes = match file::read(path, MAX_BYTES) {
        Ok((bytes, _)) => bytes,
        Err(FileError::TooLarge { .. }) => {
            let (size, most) =
                (fs::metadata(path).map_or(0, |meta| meta.len()), text::human_bytes(MAX_BYTES));
            return Err(format!("has {}, more than the limit of {most}", text::human_bytes(size)));
        }
        Err(error) => return Err(format!("cannot be read ({error})")),
    };
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // The model doesn't need the front matter.
    let text = if scoped_rule::is_rule(path) { frontmatter::split(text).body } else { text };
    let count = sanitize::deceptive(text);
    let notice = (count > 0).then(|| RulesNotice::Hidden { path: path.to_owned(), count });
    let text = detector::redact(&sanitize::as_data(text)).into_owned();
    Ok(Content { hash: file::hash(&bytes), text, notice })
}

/// A folder's possible rules files, best first.
pub fn candidates(folder: &Path) -> Vec<PathBuf> {
    let exact = folder.join(OWN_NAME);
    let own = if exact.is_file() {
        Some(exact)
    } else {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().eq_ignore_ascii_case(OWN_NAME))
        };
        entries.map(|entry| entry.path()).find(|path| named(path) && path.is_file())
    };
    let others = OTHERS.split(' ').map(|name| folder.join(name)).chain(other_settings::names(folder));
    own.into_iter().chain(others.filter(|path| path.is_file())).collect()
}

/// Files used in addition to the folder's rules file.
pub fn beside(folder: &Path) -> Vec<PathBuf> {
    let local = Some(folder.join(LOCAL)).filter(|path| path.is_file());
    other_settings::instructions(folder).into_iter().chain(local).collect()
}

/// The user's own rules for all projects; the first existing file counts.
pub fn of_user(config: &Path) -> Vec<PathBuf> {
    let own = [OWN_NAME, "AGENTS.md"].map(|name| config.join(name));
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let others = home.into_iter().flat_map(|home| AT_HOME.map(|name| home.join(name)));
    own.into_iter().chain(others).filter(|path| path.is_file()).collect()
}

/// Adds a user's rule as a separate line; `root` limits where a link may lead.
pub fn add_rule(path: &Path, root: &Path, rule: &str) -> Result<(), String> {
    if leads_astray(path, root) {
        return Err(format!("{} is a symlink to another place", path.display()));
    }
    let before = match file::read(path, MAX_BYTES) {
        Ok((bytes, _)) => Some(bytes),
        Err(FileError::NotFound) => None,
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = before.clone().unwrap_or_default();
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    bytes.extend(format!("- {rule}\n").bytes());
    let expect = before.as_deref().map_or(Expect::Missing, Expect::Bytes);
    atomic_write::write(path, &bytes, expect).map_err(|error| error.to_string())
}

fn stamp(path: &Path) -> FileStamp {
    let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((meta.modified().ok(), meta.len()))
}

/// Whether the file is a link out of the checkout, or to a file that isn't readable text.
fn leads_astray(path: &Path, top: &Path) -> bool {
    const TEXTS: [&str; 4] = ["md", "mdc", "markdown", "txt"];
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
        return false;
    }
    let Ok(real) = path.canonicalize() else { return true };
    let is_text = real.extension().and_then(|name| name.to_str()).is_some_and(|name| TEXTS.contains(&name));
    let is_rules = real.file_name().is_some_and(|name| name.to_string_lossy().ends_with("rules"));
    leads_out(&real, top) || !(is_text || is_rules)
}
