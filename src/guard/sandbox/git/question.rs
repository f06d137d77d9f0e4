//! Asks git about a repository without changing it. The repository may be untrusted: nothing that its
//! configuration names is run, nothing is fetched, and the time is limited.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base::process::timeout;

/// With these, nothing is run or fetched, and the output is the same everywhere.
const SETTINGS: &str = "core.fsmonitor=false core.hooksPath=/dev/null log.showSignature=false log.showRoot=true \
    diff.renames=false core.quotePath=false protocol.allow=never";
const LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct GitQuestion {
    program: OsString,
    folder: PathBuf,
    /// git's own options from the inspected command.
    own: Vec<String>,
    /// Whether the command's variables, such as `GIT_DIR`, apply.
    same_environment: bool,
}

impl GitQuestion {
    pub fn about(folder: &Path) -> Self {
        Self { program: "git".into(), folder: folder.to_owned(), own: Vec::new(), same_environment: false }
    }

    /// For a command that runs `program` in this process's folder and environment.
    pub fn in_place_of(program: &Path, own: &[String]) -> Self {
        Self {
            program: program.into(),
            folder: PathBuf::from("."),
            own: own.to_vec(),
            same_environment: true,
        }
    }

    pub fn inside(&self, folder: &str) -> Self {
        Self { folder: self.folder.join(folder), ..self.clone() }
    }

    pub fn path_exists(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }

    /// git's output; `None` if it refuses or takes too long.
    pub fn ask(&self, args: &[&str]) -> Option<Vec<u8>> {
        self.ask_with(args, b"")
    }

    pub fn ask_with(&self, args: &[&str], input: &[u8]) -> Option<Vec<u8>> {
        timeout::ask(self.command().args(args), input, LIMIT)
    }

    /// git with its own options, without a subcommand.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).args(&self.own).arg("--no-pager");
        for setting in SETTINGS.split(' ') {
            command.args(["-c", setting]);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.env("LC_ALL", "C").env_remove("GIT_EXTERNAL_DIFF");
        if !self.same_environment {
            for name in
                ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"]
            {
                command.env_remove(name);
            }
        }
        command
    }

    pub fn line(&self, args: &[&str]) -> Option<String> {
        let text = String::from_utf8(self.ask(args)?).ok()?;
        Some(text.trim_end_matches('\n').to_owned()).filter(|text| !text.is_empty())
    }

    /// Zero-terminated names; `None` if git refuses.
    pub fn names(&self, args: &[&str]) -> Option<Vec<String>> {
        let bytes = self.ask(args)?;
        let names = bytes.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
        Some(
            names
                .map(|name| name.trim_start_matches('\n').to_owned())
                .filter(|name| !name.is_empty())
                .collect(),
        )
    }

    pub fn commit(&self, word: &str) -> Option<String> {
        // For commands that take one commit, `A...B` is the common ancestor.
        if let Some((one, other)) = word.split_once("...") {
            let or_head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
            return self.line(&["merge-base", &or_head(one), &or_head(other)]);
        }
        self.object(if word == "-" { "@{-1}" } else { word }, "commit")
    }

    pub fn object(&self, word: &str, kind: &str) -> Option<String> {
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{word}^{{{kind}}}")])
    }

    /// The commit of a remote branch that becomes a local branch of the same name.
    pub fn remote_branch(&self, name: &str) -> Option<String> {
        let pattern = format!("refs/remotes/*/{name}");
        let found = self.line(&["for-each-ref", "--format=%(objectname)", &pattern])?;
        found.lines().next().map(str::to_owned)
    }
}
