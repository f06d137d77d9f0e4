//! `permissions.toml` in a project's state: what the user always allows there. Users may edit it, so an answer
//! changes one entry and preserves comments and order.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::config::permission_rules::PermissionLists;
use crate::file;
use crate::folder::update::update;

const START: &str =
    "# What you always allow in this project. You may edit it: the form is that of config.toml.\n";
const MAX_OLD_BYTES: u64 = 4 * 1024 * 1024;
const TABLE: &str = "[permissions]";

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Answers {
    permissions: PermissionLists,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spans {
    permissions: AllowSpans,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AllowSpans {
    allow: Option<Spanned<Vec<Spanned<String>>>>,
}

pub fn path(project_state: &Path) -> PathBuf {
    project_state.join("permissions.toml")
}

pub fn parse(text: &str) -> Result<PermissionLists, String> {
    toml::from_str::<Answers>(text).map(|read| read.permissions).map_err(|error| error.to_string())
}

pub fn add(path: &Path, rule: &str) -> io::Result<()> {
    change(path, |text, allow| {
        if allow.iter().flat_map(|allow| allow.get_ref()).any(|kept| kept.get_ref() == rule) {
            return None;
        }
        let entry = format!("\n    {},", serde_json::Value::from(rule));
        let (at, new) = match (allow, text.find(TABLE)) {
            (Some(allow), _) => (allow.span().start + 1, entry),
            (None, Some(table)) => (table + TABLE.len(), format!("\nallow = [{entry}\n]")),
            (None, None) => (text.len(), format!("\n{TABLE}\nallow = [{entry}\n]\n")),
        };
        let new = if text[at..].starts_with(['\n', '\r']) || at == text.len() { new } else { new + "\n" };
        Some((at..at, new))
    })
}

/// Removes the entries of `allow` for which `is_gone` is true.
pub fn remove(path: &Path, is_gone: impl Fn(&str) -> bool) -> io::Result<()> {
    let mut more = true;
    while std::mem::take(&mut more) {
        change(path, |text, allow| {
            let gone = allow?.get_ref().iter().find(|kept| is_gone(kept.get_ref()))?.span();
            more = true;
            let rest = text[gone.end..].trim_start();
            let end = rest.strip_prefix(',').map_or(gone.end, |rest| text.len() - rest.len());
            let line = text[..gone.start].trim_end_matches([' ', '\t']);
            let alone = text[end..].starts_with(['\n', '\r']);
            let start = if alone { line.trim_end_matches('\n').len() } else { gone.start };
            Some((start..end, String::new()))
        })?;
    }
    Ok(())
}

type Allow<'a> = Option<&'a Spanned<Vec<Spanned<String>>>>;

fn change(
    path: &Path,
    mut edit: impl FnMut(&str, Allow<'_>) -> Option<(Range<usize>, String)>,
) -> io::Result<()> {
    update(path, |old| {
        let mut text = match old {
            Some(old) => String::from_utf8(old.to_vec()).map_err(io::Error::other)?,
            None => START.to_owned(),
        };
        let spans: Spans = toml::from_str(&text).map_err(io::Error::other)?;
        let Some((place, new)) = edit(&text, spans.permissions.allow.as_ref()) else { return Ok(None) };
        text.replace_range(place, &new);
        parse(&text).map_err(io::Error::other)?;
        Ok(Some(text.into_bytes()))
    })
}

pub fn inherit(project_state: &Path, copy_state: &Path) -> io::Result<()> {
    let (of_project, of_copy) = (path(project_state), path(copy_state));
    match std::fs::copy(of_project, &of_copy) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => file::remove(&of_copy),
        copied => copied.map(drop),
    }
}

/// Earlier versions stored the answers in `rules.json`.
pub fn move_old(new: &Path) -> io::Result<()> {
    #[derive(Deserialize)]
    struct Old {
        commands: Vec<String>,
        #[serde(default)]
        hosts: Vec<String>,
        #[serde(default)]
        tools: Vec<String>,
    }
    let old = &new.with_file_name("rules.json");
    let Some(text) = file::small_text(old, MAX_OLD_BYTES) else { return Ok(()) };
    let Old { commands, hosts, tools } = serde_json::from_str(&text)?;
    let commands = commands.iter().map(|words| format!("Bash({words})"));
    let hosts = hosts.iter().map(|host| format!("WebFetch({host})"));
    for rule in commands.chain(hosts).chain(tools) {
        add(new, &rule)?;
    }
    file::remove(old)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    fn changed(before: &str, act: impl Fn(&Path) -> io::Result<()>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        fs::write(&path, before).unwrap();
        act(&path).unwrap();
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn an_answer_changes_one_entry() {
        let two = |path: &Path| add(path, "Bash(a)").and_then(|()| add(path, "Bash(a \"b)"));
        let folder = tempfile::tempdir().unwrap();
        two(&path(folder.path())).unwrap();
        let made = fs::read_to_string(path(folder.path())).unwrap();
        let table = "\n[permissions]\nallow = [\n    \"Bash(a \\\"b)\",\n    \"Bash(a)\",\n]\n";
        assert_eq!(made, format!("{START}{table}"));
        let mine = "# mine\n[permissions]\ndeny = [\"Bash(x)\"] # no\nallow = [\"Edit\", # why\n 'Bash(a)' # so\n]\n";
        let edited = changed(mine, |path| add(path, "Bash(b)"));
        assert_eq!(edited, mine.replace("[\"Edit", "[\n    \"Bash(b)\",\n\"Edit"));
        let empty = "[permissions]\ndeny = []";
        assert_eq!(
            changed(empty, |path| add(path, "Bash(b)")),
            "[permissions]\nallow = [\n    \"Bash(b)\",\n]\ndeny = []"
        );
        assert_eq!(
            changed(&edited, |path| remove(path, |rule| rule == "Bash(b)")),
            edited.replace("\n    \"Bash(b)\",", "")
        );
        assert_eq!(
            changed(mine, |path| remove(path, |rule| rule == "Bash(a)")),
            mine.replace("'Bash(a)'", "")
        );
        assert_eq!(changed(mine, |path| remove(path, |rule| rule == "Edit")), mine.replace("\"Edit\",", ""));
        assert_eq!(changed(mine, |path| remove(path, |rule| rule == "Edits")), mine);
    }

    #[test]
    fn a_file_with_a_mistake_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = path(folder.path());
        for mistake in ["[permissions]\nallow = [", "[permissions]\nalow = []\n"] {
            fs::write(&path, mistake).unwrap();
            assert!(add(&path, "Bash(b)").is_err() && parse(mistake).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), mistake);
        }
    }

    #[test]
    fn answers_of_earlier_versions_are_moved() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("rules.json");
        fs::write(&old, r#"{"commands": ["make all"], "tools": ["git.log"], "no_init_offer": true}"#)
            .unwrap();
        let path = path(folder.path());
        move_old(&path).unwrap();
        let lists = parse(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(lists.allow, ["git.log", "Bash(make all)"]);
        assert!(!old.exists());
    }
}
