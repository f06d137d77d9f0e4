//! A command line, assessed once per tool call: what each of its calls does, or why it can't be parsed.

use std::path::{Path, PathBuf};

use super::access::Access;
use super::path_scope::PathScope;
use crate::policy::programs::assess as program;
use crate::policy::programs::assessment::{Assessment, Risk};
use crate::sandbox::git::arguments::GitArguments;
use crate::sandbox::protected_paths;
use crate::shell::interpret::call::Call;
use crate::shell::interpret::interpreter;
use base::path;

#[derive(Clone, Debug)]
pub struct AssessedCall {
    pub call: Call,
    pub assessment: Assessment,
    /// Whether it is certain to run in the workspace.
    pub in_workspace: bool,
}

#[derive(Clone, Debug)]
pub struct AssessedCommand {
    pub text: String,
    /// The error says why the line can't be parsed.
    pub calls: Result<Vec<AssessedCall>, String>,
}

#[derive(Clone, Debug)]
pub struct AssessedAccess {
    pub access: Access,
    pub command: Option<AssessedCommand>,
}

impl AssessedAccess {
    pub fn new(access: &Access, scope: &PathScope) -> Self {
        let command = match access {
            Access::Exec { command, cwd } => Some(assess(command, cwd, scope)),
            _ => None,
        };
        Self { access: access.clone(), command }
    }

    pub fn may_be_waived(&self, scope: &PathScope) -> bool {
        match (&self.command, &self.access) {
            (Some(command), _) => command.risk().is_some_and(|risk| risk < Risk::Protected),
            (None, Access::Write(path) | Access::WriteOwn(path)) => scope
                .inside(path)
                .is_some_and(|inside| !inside.starts_with(".git") && !protected_paths::steers(inside)),
            (None, Access::Read(path)) => !scope.is_secret(path, false),
            _ => true,
        }
    }
}

pub fn assess(text: &str, folder: &Path, scope: &PathScope) -> AssessedCommand {
    let calls = interpreter::calls(text, folder, scope.home.as_deref()).map_err(|why| why.0).map(|calls| {
        let written = written(&calls);
        let assessed = calls.into_iter().map(|call| {
            let assessment = program::assess(&call, scope, &written);
            let in_workspace = !call.folders.is_empty()
                && call.folders.iter().all(|folder| path::follow(folder).starts_with(&scope.workspace));
            AssessedCall { call, assessment, in_workspace }
        });
        assessed.collect()
    });
    AssessedCommand { text: text.to_owned(), calls }
}

fn written(calls: &[Call]) -> Vec<String> {
    let redirected = calls.iter().flat_map(|call| &call.files).filter(|file| file.writes);
    let copied = calls
        .iter()
        .filter(|call| matches!(call.name(), "tee" | "cp" | "mv" | "curl" | "wget"))
        .flat_map(|call| call.args());
    redirected.map(|file| file.target.text.clone()).chain(copied.map(|arg| arg.text.clone())).collect()
}

impl AssessedCall {
    pub fn git(&self) -> Option<GitArguments> {
        let words: Vec<String> = self.call.args().iter().map(|arg| arg.text.clone()).collect();
        GitArguments::read(&words).filter(|_| self.call.name() == "git")
    }

    /// Whether it works only in temporary folders and leads git nowhere else.
    pub fn is_in_scratch(&self, scope: &PathScope) -> bool {
        let folders = &self.call.folders;
        let is_led = |git: GitArguments| git.own.iter().any(|own| own.starts_with('-') && own != "-c");
        !folders.is_empty()
            && folders.iter().all(|folder| scope.is_scratch(folder))
            && !self.git().is_some_and(is_led)
    }

    pub fn shown(&self) -> String {
        if self.call.source.is_empty() {
            interpreter::shown(&self.call.argv)
        } else {
            self.call.source.clone()
        }
    }
}

impl AssessedCommand {
    /// The git configuration that it may write to, if it only uses git or reads.
    pub fn settings(&self) -> Vec<PathBuf> {
        let calls = self.calls.as_deref().unwrap_or_default();
        let is_gits = |call: &AssessedCall| call.call.name() == "git" || call.assessment.risk == Risk::Reads;
        if !calls.iter().all(is_gits) {
            return Vec::new();
        }
        calls.iter().flat_map(|call| call.assessment.settings.iter().cloned()).collect()
    }

    /// The highest risk of its calls; `None` if the line can't be parsed.
    pub fn risk(&self) -> Option<Risk> {
        let calls = self.calls.as_ref().ok()?;
        Some(calls.iter().map(|call| call.assessment.risk).max().unwrap_or(Risk::Reads))
    }
}
