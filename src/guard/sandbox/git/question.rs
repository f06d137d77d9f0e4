//! Asking git about a repository, without a change of it. The repository may be a stranger's: nothing that its configuration
//! names is run, nothing is fetched, and the time is bounded.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base::process::timeout;

/// How long git may take for one answer.
const LIMIT: Duration = Duration::from_secs(5);

/// Where git is asked.
#[derive(Clone, Debug)]
pub struct GitQuestion {
    program: OsString,
    folder: PathBuf,
    /// git's own options of the command that is looked at.
    own: Vec<String>,
    /// Whether variables such as `GIT_DIR` are those of the command too.
    same_environment: bool,
}

impl GitQuestion {
    /// About the repository around `folder`.
    pub fn about(folder: &Path) -> Self {
        Self { program: "git".into(), folder: folder.to_owned(), own: Vec::new(), same_environment: false }
    }

    /// In the place of a command that runs `program` in this process's folder and environment.
    pub fn in_place_of(program: &Path, own: &[String]) -> Self {
        Self {
            program: program.into(),
            folder: PathBuf::from("."),
            own: own.to_vec(),
            same_environment: true,
        }
    }

    /// About the repository in a folder of that one.
    pub fn inside(&self, folder: &str) -> Self {
        Self { folder: self.folder.join(folder), ..self.clone() }
    }

    pub fn path_exists(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }

    /// What git prints; `None` when it refuses or takes too long.
    pub fn ask(&self, args: &[&str]) -> Option<Vec<u8>> {
        self.ask_with(args, b"")
    }

    /// The same with something on its standard input.
    pub fn ask_with(&self, args: &[&str], input: &[u8]) -> Option<Vec<u8>> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).args(&self.own).arg("--no-pager");
        for setting in [
            "core.fsmonitor=false",
            "core.hooksPath=/dev/null",
            "log.showSignature=false",
            "log.showRoot=true",
            "diff.renames=false",
            "core.quotePath=false",
            "protocol.allow=never",
        ] {
            command.args(["-c", setting]);
        }
        command.args(args);
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        command.env("LC_ALL", "C").env_remove("GIT_EXTERNAL_DIFF");
        if !self.same_environment {
            for name in
                ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"]
            {
                command.env_remove(name);
            }
        }
        timeout::ask(&mut command, input, LIMIT)
    }

    /// One line of text.
    pub fn line(&self, args: &[&str]) -> Option<String> {
        let text = String::from_utf8(self.ask(args)?).ok()?;
        Some(text.trim_end_matches('\n').to_owned()).filter(|text| !text.is_empty())
    }

    /// Names that end with a zero byte each; `None` when git refuses.
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

    /// The id of a commit that a word names.
    pub fn commit(&self, word: &str) -> Option<String> {
        // `A...B` is the common ancestor of both to commands that take one commit.
        if let Some((one, other)) = word.split_once("...") {
            let or_head = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
            return self.line(&["merge-base", &or_head(one), &or_head(other)]);
        }
        let word = if word == "-" { "@{-1}" } else { word };
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{word}^{{commit}}")])
    }
}
