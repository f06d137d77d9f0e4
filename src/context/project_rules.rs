//! The project's rules files, from the repository's root down to the workspace, nearest last (SPEC §1, L2). Read before
//! a request is built and again only when a file's time or size changed, so that the layer itself stays pure.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::parts::FixedPart;
use crate::base::file;
use crate::base::path::leads_out;
use crate::base::repository;
use crate::base::text;
use crate::context::tokens::upper_bound::upper_bound;
use crate::redact::detector;

/// What `/init` writes.
pub const OWN_NAME: &str = "CODE_LAW.md";
/// File names in order of preference; one file a folder. The first is matched in any case.
const NAMES: [&str; 3] = [OWN_NAME, "AGENTS.md", "CLAUDE.md"];

/// The largest rules file that is read, in bytes; for a larger one a line says that it is left out.
const MAX_BYTES: u64 = 1024 * 1024;

/// One file as it was last read.
#[derive(Clone, Debug)]
struct RulesFile {
    path: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
    /// What is sent of it.
    text: String,
}

/// The rules as they are sent, and what they were made from.
#[derive(Clone, Debug, Default)]
pub struct ProjectRules {
    /// From the root down.
    files: Vec<RulesFile>,
    /// Files that were there earlier in this session.
    removed: Vec<PathBuf>,
    rendered: Option<FixedPart>,
    /// The most tokens that the rules may take; `None` until a window is set.
    limit: Option<u32>,
    /// Only their beginning is sent, and the user does not know yet.
    cut: bool,
}

impl ProjectRules {
    /// The rules as they are sent, `None` when there are none.
    pub fn part(&self) -> Option<&FixedPart> {
        self.rendered.as_ref()
    }

    /// From the next refresh on the text takes at most `tokens`: rules must leave room for work.
    pub fn limit_to(&mut self, tokens: u32) {
        self.limit = Some(tokens);
    }

    /// Whether the rules turned out too large for the window, so that only their beginning is sent. True only once.
    pub fn take_cut(&mut self) -> bool {
        std::mem::take(&mut self.cut)
    }

    /// Whether the workspace has a rules file of its own or from above.
    pub fn exists(&self) -> bool {
        !self.files.is_empty()
    }

    /// Reads the files that changed; returns whether the rendered text changed.
    pub fn refresh(&mut self, workspace: &Path) -> bool {
        let folders = folders_to(workspace);
        let read = |folder: &PathBuf| {
            let path = rules_file(folder)?;
            let meta = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
            let (modified, bytes) = (meta.modified().ok(), meta.len());
            let same =
                |known: &&RulesFile| known.path == path && (known.modified, known.bytes) == (modified, bytes);
            let text = match self.files.iter().find(same) {
                Some(known) => known.text.clone(),
                None => text_of(&path, bytes, &folders[0]),
            };
            Some(RulesFile { path, modified, bytes, text })
        };
        let now: Vec<RulesFile> = folders.iter().filter_map(read).collect();
        let removed = std::mem::take(&mut self.removed).into_iter();
        let mut removed: Vec<PathBuf> = removed.chain(self.files.drain(..).map(|file| file.path)).collect();
        removed.retain(|old| now.iter().all(|file| file.path != *old));
        removed.sort();
        removed.dedup();
        (self.files, self.removed) = (now, removed);
        let mut rendered = self.render(workspace);
        let short = rendered.as_deref().zip(self.limit).and_then(|(text, limit)| beginning(text, limit));
        let cut = short.is_some();
        rendered = short.or(rendered);
        if rendered.as_deref() == self.rendered.as_ref().map(|part| &*part.content) {
            return false;
        }
        self.rendered = rendered.map(|text| FixedPart::new(text.into()));
        self.cut = cut;
        true
    }

    fn render(&self, workspace: &Path) -> Option<String> {
        let shown = |path: &Path| path.strip_prefix(workspace).unwrap_or(path).display().to_string();
        let mut out = String::new();
        for file in self.files.iter().filter(|file| !file.text.trim().is_empty()) {
            out.push_str(&format!("# Project rules ({})\n{}\n\n", shown(&file.path), file.text.trim()));
        }
        for path in &self.removed {
            out.push_str(&format!("The rules file {} was removed; its rules no longer hold.\n", shown(path)));
        }
        let out = out.trim_end();
        (!out.is_empty()).then(|| out.to_owned())
    }
}

/// What is sent of the rules file at `path`; `root` bounds where a link may lead.
fn text_of(path: &Path, bytes: u64, root: &Path) -> String {
    let left_out = |why: String| format!("This rules file {why}, so it is left out. Tell the user.");
    if leads_astray(path, root) {
        return left_out("is a link to something that is not a rules file of this project".to_owned());
    }
    if bytes > MAX_BYTES {
        let (size, most) = (text::human_bytes(bytes), text::human_bytes(MAX_BYTES));
        return left_out(format!("has {size}, more than the limit of {most}"));
    }
    match file::read(path, MAX_BYTES) {
        Ok((bytes, _)) => detector::redact(&String::from_utf8_lossy(&bytes)).into_owned(),
        Err(error) => left_out(format!("cannot be read ({error})")),
    }
}

/// The beginning of `text` that takes at most `limit` tokens, with a mark; `None` when all of it does.
fn beginning(text: &str, limit: u32) -> Option<String> {
    let mut takes = upper_bound(text);
    if takes <= limit {
        return None;
    }
    let mut room = text.len();
    while takes > limit && room > 0 {
        room = (room as u64 * u64::from(limit) / u64::from(takes)) as usize * 9 / 10;
        takes = upper_bound(&text[..text::floor_boundary(text, room)]);
    }
    let head = &text[..text::floor_boundary(text, room)];
    let head = head.rfind('\n').map_or(head, |end| &head[..end]);
    Some(format!(
        "{head}\n[The rules are longer than this window allows; {} are left out. Read the file for the rest.]",
        text::human_bytes((text.len() - head.len()) as u64)
    ))
}

/// Folders from the repository's root (or the workspace itself, outside a repository) down to the workspace.
fn folders_to(workspace: &Path) -> Vec<PathBuf> {
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
            let mut rules = ProjectRules::default();
            rules.refresh(&project);
            let text = rules.part().unwrap().content.to_string();
            assert!(!text.contains("hunter2"), "{text}");
            assert_eq!((text.contains("indent by two"), text.contains("left out")), (sent, !sent), "{text}");
            fs::remove_file(&link).unwrap();
        }
    }

    #[test]
    fn files_from_the_root_down_and_their_removal() {
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
        let mut rules = ProjectRules::default();
        assert!(rules.refresh(&inner));
        assert!(!rules.refresh(&inner));
        let text = rules.part().unwrap().content.to_string();
        assert!(text.find("root rule").unwrap() < text.find("inner rule").unwrap(), "{text}");
        assert!(!text.contains("not read"));
        fs::remove_file(inner.join("code_law.md")).unwrap();
        assert!(rules.refresh(&inner));
        assert!(rules.part().unwrap().content.contains("code_law.md was removed"));
    }
}
