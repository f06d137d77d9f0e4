//! Picks the program for a row of the table, and the project folder to start it in.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use base::config::files::load::Loaded;
use base::config::language_servers::{self, LanguageServer};
use base::process::programs::is_executable;
use base::search::walk::{self, Walk};
use base::text::plural;
use guard::sandbox::probe;

const FILES: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LspProgram {
    pub path: PathBuf,
    pub args: Vec<String>,
}

impl LspProgram {
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// A row's installed programs, best first: the project's trusted ones, then those in `search` (like `PATH`). Reads the disk.
pub fn installed(row: &LanguageServer, projects: &[PathBuf], search: &OsStr) -> Vec<LspProgram> {
    let find = |name: &str| {
        let own = projects.iter().find(|path| path.file_name() == Some(OsStr::new(name)));
        // A relative entry would depend on the working folder.
        let folders = std::env::split_paths(search).filter(|folder| folder.is_absolute());
        own.cloned()
            .into_iter()
            .chain(folders.map(|folder| folder.join(name)))
            .find(|path| is_executable(path))
    };
    let commands = row.commands.iter().filter_map(|command| command.split_first());
    commands.filter_map(|(name, args)| Some(LspProgram { path: find(name)?, args: args.to_vec() })).collect()
}

pub fn names(row: &LanguageServer) -> String {
    let names: Vec<&str> = row.commands.iter().filter_map(|words| Some(words.first()?.as_str())).collect();
    names.join(", ")
}

/// The outermost one with a marker file, so that one server covers all parts of a project. Reads the disk.
pub fn root(row: &LanguageServer, workspace: &Path, file: &Path) -> PathBuf {
    let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(workspace));
    let marked = folders.filter(|folder| row.roots.iter().any(|name| folder.join(name).exists()));
    marked.last().unwrap_or(workspace).to_owned()
}

/// For `mycode doctor`: most frequent first, each with its server or a suggested one. Starts nothing.
pub fn languages(workspace: &Path, loaded: &Loaded) -> Vec<(String, String)> {
    let rows = language_servers::rows(loaded.language_servers.as_ref(), &loaded.own.servers);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in Walk::new(workspace).sorted().filter(walk::is_file).take(FILES) {
        let row = rows.iter().find(|(_, row)| row.language(entry.path()).is_some());
        if let Some((name, _)) = row {
            *counts.entry(name.as_str()).or_default() += 1;
        }
    }
    let refusal = if loaded.work.sandbox { probe::status().refusal() } else { None };
    let own = loaded.own.program_paths();
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let described = counts.into_iter().map(|(name, count)| {
        let row = &rows[name];
        let installed = installed(row, &own, &search);
        let server = match (installed.first(), &refusal) {
            (Some(program), None) => program.path.display().to_string(),
            (Some(program), Some(why)) => format!("{} is not started: {why}", program.name()),
            (None, _) => format!("no language server in PATH (such as {})", names(row)),
        };
        (name.to_owned(), format!("{server} ({})", plural(count, "file")))
    });
    described.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use std::fs;

    #[test]
    fn programs_and_roots() {
        let dir = tempfile::tempdir().unwrap();
        let root_of = dir.path();
        let row = LanguageServer {
            roots: vec!["Cargo.toml".to_owned()],
            commands: vec![vec!["first".to_owned()], vec!["second".to_owned(), "-x".to_owned()]],
            ..LanguageServer::default()
        };
        let bin = root_of.join("bin");
        fs::create_dir_all(&bin).unwrap();
        assert_eq!(installed(&row, &[], bin.as_os_str()), []);
        fs::write(bin.join("first"), "no program").unwrap();
        fs::write(bin.join("second"), "#!/bin/sh").unwrap();
        fs::set_permissions(bin.join("second"), fs::Permissions::from_mode(0o755)).unwrap();
        let second = LspProgram { path: bin.join("second"), args: vec!["-x".to_owned()] };
        assert_eq!(installed(&row, &[], bin.as_os_str()), std::slice::from_ref(&second));
        assert_eq!(installed(&row, &[], OsStr::new("bin")), []);
        assert_eq!(installed(&row, &[bin.join("second")], OsStr::new("")), [second]);

        let file = root_of.join("w/a/b/src/x.rs");
        assert_eq!(root(&row, &root_of.join("w"), &file), root_of.join("w"));
        for folder in ["", "w/a", "w/a/b"] {
            fs::create_dir_all(root_of.join(folder)).unwrap();
            fs::write(root_of.join(folder).join("Cargo.toml"), "").unwrap();
        }
        assert_eq!(root(&row, &root_of.join("w"), &file), root_of.join("w/a"));
    }
}
