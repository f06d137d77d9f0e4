//! Which language servers a workspace would use, for `mycode doctor`; starts none.

use std::collections::BTreeMap;
use std::path::Path;

use super::programs;
use base::config::language_servers;
use base::config::load::Loaded;
use base::search::walk::{self, Walk};
use base::text::plural;
use guard::sandbox::probe;

const FILES: usize = 20_000;

/// The workspace's languages, most frequent first, each with its server or a suggested one. Reads the disk.
pub fn languages(workspace: &Path, loaded: &Loaded) -> Vec<(String, String)> {
    let rows = language_servers::rows(loaded.language_servers.as_ref());
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in Walk::new(workspace).sorted().filter(walk::is_file).take(FILES) {
        let row = rows.iter().find(|(_, row)| row.language(entry.path()).is_some());
        if let Some((name, _)) = row {
            *counts.entry(name.as_str()).or_default() += 1;
        }
    }
    let refusal = if loaded.work.sandbox { probe::status().refusal() } else { None };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let described = counts.into_iter().map(|(name, count)| {
        let row = &rows[name];
        let installed = programs::installed(row, &loaded.own.programs, &search);
        let server = match (installed.first(), &refusal) {
            (Some(program), None) => program.path.display().to_string(),
            (Some(program), Some(why)) => format!("{} is not started: {why}", program.name()),
            (None, _) => format!("no language server on PATH ({} would do)", programs::names(row)),
        };
        (name.to_owned(), format!("{server} ({})", plural(count, "file")))
    });
    described.collect()
}
