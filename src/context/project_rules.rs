//! The project's rules files, from the repository's root down to the workspace, nearest last (SPEC §1, L2). Read before
//! a request is built and again only when a file's time or size changed, so that the layer itself stays pure.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::parts::FixedPart;
use crate::base::file;
use crate::base::path::leads_out;
use crate::base::repository;
use crate::base::text;
use crate::context::tokens::upper_bound;
use crate::redact::detector;

/// What `/init` writes.
pub const OWN_NAME: &str = "CODE_LAW.md";
/// File names in order of preference; one file a folder. The first is matched in any case.
const NAMES: [&str; 3] = [OWN_NAME, "AGENTS.md", "CLAUDE.md"];

/// The largest rules file that is taken up, in bytes; a larger one is named as left out, in the rules' own place.
const MAX_BYTES: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
struct RulesFileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// The rules as they are sent, and what they were made from.
#[derive(Clone, Debug, Default)]
pub struct ProjectRules {
    files: BTreeMap<usize, (PathBuf, RulesFileStamp, String)>,
    /// Files that were there earlier in this session.
    removed: Vec<PathBuf>,
    /// Rules were sent in this session before this process knew it.
    sent_earlier: bool,
    rendered: Option<FixedPart>,
    /// The most that the rules may take; `None` as long as nobody has set a window.
    limit: Option<u32>,
    /// Only their beginning is sent, and nobody has been told yet.
    cut: bool,
}

impl ProjectRules {
    /// The rules as they are sent, `None` when there are none.
    pub fn part(&self) -> Option<&FixedPart> {
        self.rendered.as_ref()
    }

    /// The same, to take up its exact count.
    pub fn part_mut(&mut self) -> Option<&mut FixedPart> {
        self.rendered.as_mut()
    }

    /// A session is continued in which rules were sent, or not: if they are gone now the model must hear it.
    /// The caller refreshes them next.
    pub fn continue_session(&mut self, had_rules: bool) {
        self.sent_earlier = had_rules;
        self.removed.clear();
    }

    /// Tokens of the text.
    pub fn tokens(&self) -> u32 {
        self.rendered.as_ref().map_or(0, |part| part.tokens)
    }

    /// From the next look on the text takes at most `tokens`: rules that leave no room for work help nobody.
    pub fn limit_to(&mut self, tokens: u32) {
        self.limit = Some(tokens);
    }

    /// Whether the rules turned out too large for the window, so that only their beginning is sent. Says so once.
    pub fn take_cut(&mut self) -> bool {
        std::mem::take(&mut self.cut)
    }

    /// Whether the workspace has a rules file of its own or from above.
    pub fn exists(&self) -> bool {
        !self.files.is_empty()
    }

    /// Looks at the files again; returns whether the rendered text changed.
    pub fn refresh(&mut self, workspace: &Path) -> bool {
        let mut now = BTreeMap::new();
        let folders = chain(workspace);
        let top = folders[0].clone();
        for (depth, folder) in folders.into_iter().enumerate() {
            let Some(path) = rules_file(&folder) else { continue };
            let Ok(meta) = fs::metadata(&path) else { continue };
            if !meta.is_file() {
                continue;
            }
            let stamp = RulesFileStamp { modified: meta.modified().ok(), bytes: meta.len() };
            let known = self.files.get(&depth).filter(|(old, seen, _)| *old == path && *seen == stamp);
            let text = match known {
                Some((.., text)) => text.clone(),
                None if leads_astray(&path, &top) => {
                    "This rules file is a link to something that is no rules file of this project: it is left out. \
                     Tell the user so."
                        .to_owned()
                }
                None if meta.len() > MAX_BYTES => format!(
                    "This rules file has {}, more than the limit of {}: it is left out. Tell the user so.",
                    text::human_bytes(meta.len()),
                    text::human_bytes(MAX_BYTES)
                ),
                None => match file::read(&path, MAX_BYTES) {
                    Ok((bytes, _)) => detector::redact(&String::from_utf8_lossy(&bytes)).into_owned(),
                    Err(error) => {
                        format!("This rules file cannot be read ({error}): it is left out. Tell the user so.")
                    }
                },
            };
            now.insert(depth, (path, stamp, text));
        }
        for (old, ..) in self.files.values() {
            if !now.values().any(|(path, ..)| path == old) && !self.removed.contains(old) {
                self.removed.push(old.clone());
            }
        }
        self.removed.retain(|old| !now.values().any(|(path, ..)| path == old));
        self.files = now;
        let mut rendered = self.render(workspace);
        let mut cut = false;
        if let (Some(limit), Some(text)) = (self.limit, &rendered)
            && let Some(short) = beginning(text, limit)
        {
            rendered = Some(short);
            cut = true;
        }
        if rendered.as_deref() == self.rendered.as_ref().map(|part| &*part.text) {
            return false;
        }
        self.rendered = rendered.map(|text| FixedPart::new(text.into()));
        self.cut = cut;
        true
    }

    fn render(&self, workspace: &Path) -> Option<String> {
        let mut out = String::new();
        for (path, _, text) in self.files.values() {
            if text.trim().is_empty() {
                continue;
            }
            let shown = path.strip_prefix(workspace).unwrap_or(path).display();
            out.push_str(&format!("# Project rules ({shown})\n{}\n\n", text.trim()));
        }
        for path in &self.removed {
            let shown = path.strip_prefix(workspace).unwrap_or(path).display();
            out.push_str(&format!("The rules file {shown} was removed; what it said no longer holds.\n"));
        }
        if self.sent_earlier && out.is_empty() {
            out.push_str(
                "The project rules sent earlier in this session were removed; they no longer hold.\n",
            );
        }
        let out = out.trim_end();
        (!out.is_empty()).then(|| out.to_owned())
    }
}

/// The beginning of `text` that takes at most `limit` tokens, with a mark; `None` when all of it does.
fn beginning(text: &str, limit: u32) -> Option<String> {
    let ceiling = upper_bound::ceiling(text);
    if ceiling <= limit {
        return None;
    }
    let mut room = text.len();
    let mut takes = ceiling;
    while takes > limit && room > 0 {
        room = (room as u64 * u64::from(limit) / u64::from(takes)) as usize * 9 / 10;
        takes = upper_bound::ceiling(&text[..text::floor_boundary(text, room)]);
    }
    let head = &text[..text::floor_boundary(text, room)];
    let head = head.rfind('\n').map_or(head, |end| &head[..end]);
    Some(format!(
        "{head}\n[The rules are longer than this window allows; {} are left out. Read the file for the rest.]",
        text::human_bytes((text.len() - head.len()) as u64)
    ))
}

/// Folders from the repository's root (or the workspace itself, outside a repository) down to the workspace.
fn chain(workspace: &Path) -> Vec<PathBuf> {
    let root = repository::root(workspace).unwrap_or(workspace);
    let mut folders: Vec<PathBuf> =
        workspace.ancestors().take_while(|folder| folder.starts_with(root)).map(Path::to_owned).collect();
    folders.reverse();
    folders
}

/// Whether the file is a link to what a checkout must not send off: anything outside of it, or that is no text for reading.
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

fn rules_file(folder: &Path) -> Option<PathBuf> {
    let exact = folder.join(NAMES[0]);
    if exact.is_file() {
        return Some(exact);
    }
    let other_case = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().eq_ignore_ascii_case(NAMES[0]))
            && path.is_file()
    });
    other_case.or_else(|| NAMES[1..].iter().map(|name| folder.join(name)).find(|path| path.is_file()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_project_is_not_sent() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        fs::create_dir_all(project.join("docs")).unwrap();
        // A repository around the temporary folder is none of this test's.
        fs::create_dir(project.join(".git")).unwrap();
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(dir.path().join("secret.md"), "hunter2").unwrap();
        fs::write(project.join(".env"), "PIN=hunter2").unwrap();
        fs::write(project.join("docs/rules.md"), "indent by two").unwrap();
        for (target, sent) in [("../secret.md", false), (".env", false), ("docs/rules.md", true)] {
            let link = project.join("AGENTS.md");
            symlink(target, &link).unwrap();
            let mut law = ProjectRules::default();
            law.refresh(&project);
            let text = law.part().unwrap().text.to_string();
            assert!(!text.contains("hunter2"), "{text}");
            assert_eq!((text.contains("indent by two"), text.contains("left out")), (sent, !sent), "{text}");
            fs::remove_file(&link).unwrap();
        }
    }

    #[test]
    fn from_the_root_down_nearest_last_and_removal_is_said() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(root.path().join(".git")).unwrap();
        fs::write(root.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        // No repository, so not where the rules begin.
        fs::create_dir(root.path().join("a/.git")).unwrap();
        fs::write(root.path().join("AGENTS.md"), "root rule").unwrap();
        fs::write(root.path().join("CLAUDE.md"), "not read").unwrap();
        fs::write(inner.join("code_law.md"), "inner rule").unwrap();
        let mut law = ProjectRules::default();
        assert!(law.refresh(&inner));
        assert!(!law.refresh(&inner));
        let text = law.part().unwrap().text.to_string();
        assert!(text.find("root rule").unwrap() < text.find("inner rule").unwrap(), "{text}");
        assert!(!text.contains("not read"));
        fs::remove_file(inner.join("code_law.md")).unwrap();
        assert!(law.refresh(&inner));
        assert!(law.part().unwrap().text.contains("code_law.md was removed"));
    }
}
