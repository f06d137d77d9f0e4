//! Completions of a `!command` word, from `PATH` and folders. Runs off the loop.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const MOST: usize = 200;

/// Sorted programs or paths that start with `word`. Blocks.
pub fn candidates(word: &str, program: bool, folder: &Path) -> Vec<String> {
    let word = word.replace('\\', "");
    let found = if program && !word.contains('/') { programs(&word) } else { paths(&word, folder) };
    found.into_iter().take(MOST).collect()
}

fn programs(word: &str) -> BTreeSet<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter_map(|folder| fs::read_dir(folder).ok());
    let runs = |entry: &fs::DirEntry| {
        fs::metadata(entry.path()).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let names = folders.flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| name.starts_with(word))?;
        runs(&entry).then_some(name)
    });
    names.collect()
}

fn paths(word: &str, folder: &Path) -> BTreeSet<String> {
    let (parent, begun) =
        word.rsplit_once('/').map_or(("", word), |(parent, rest)| (&word[..=parent.len()], rest));
    let looked: PathBuf = match (parent.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folder.join(parent),
    };
    let entries = fs::read_dir(looked).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let wanted = name.starts_with(begun) && (!name.starts_with('.') || begun.starts_with('.'));
        let end = if wanted && entry.path().is_dir() { "/" } else { "" };
        wanted.then(|| format!("{parent}{name}{end}"))
    });
    names.collect()
}
