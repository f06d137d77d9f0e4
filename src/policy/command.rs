//! A whole command line, judged: its segments with what each does, or why it could not be judged.

use std::path::Path;

use super::path_scope::PathScope;
use crate::policy::programs::assess::assess;
use crate::policy::programs::assessment::{Assessment, Risk};
use crate::shell::interpret::call::Call;
use crate::shell::interpret::interpreter;
use crate::shell::interpret::walk;

/// One program of the line.
#[derive(Clone, Debug)]
pub struct AssessedCall {
    pub call: Call,
    pub finding: Assessment,
}

/// What is known of a line.
#[derive(Clone, Debug)]
pub enum AssessedCommand {
    Segments(Vec<AssessedCall>),
    /// Why it could not be parsed.
    Unparsed(String),
}

/// Judges a line that starts in `folder`.
pub fn judge(text: &str, folder: &Path, place: &PathScope) -> AssessedCommand {
    let calls = match walk::calls(text, folder, place.home.as_deref()) {
        Ok(calls) => calls,
        Err(why) => return AssessedCommand::Unparsed(why.0),
    };
    let written: Vec<String> = calls
        .iter()
        .flat_map(|call| call.files.iter().filter(|file| file.writes).map(|file| file.target.text.clone()))
        .chain(
            calls
                .iter()
                .filter(|call| matches!(call.name(), "tee" | "cp" | "mv" | "curl" | "wget"))
                .flat_map(|call| call.args().iter().map(|arg| arg.text.clone())),
        )
        .collect();
    let segments = calls
        .into_iter()
        .map(|call| {
            let finding = assess(&call, place, &written);
            AssessedCall { call, finding }
        })
        .collect();
    AssessedCommand::Segments(segments)
}

impl AssessedCall {
    /// The program and its words, as a user would write them.
    pub fn shown(&self) -> String {
        if self.call.source.is_empty() {
            interpreter::shown(&self.call.argv)
        } else {
            self.call.source.clone()
        }
    }
}

impl AssessedCommand {
    /// The grade of what reaches furthest; `None` when it could not be judged.
    pub fn grade(&self) -> Option<Risk> {
        match self {
            Self::Segments(segments) => {
                Some(segments.iter().map(|segment| segment.finding.grade).max().unwrap_or(Risk::Looks))
            }
            Self::Unparsed(_) => None,
        }
    }
}
