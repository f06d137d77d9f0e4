//! A whole command line, judged: its segments with what each does, or why it could not be judged. Knows no permission
//! level.

use std::path::Path;

use super::assess::finding::{Finding, Grade};
use super::assess::segment::assess;
use super::flow::call::Call;
use super::flow::{walk, walker};
use super::place::Place;

/// One program of the line.
#[derive(Clone, Debug)]
pub struct Segment {
    pub call: Call,
    pub finding: Finding,
}

/// What is known of a line.
#[derive(Clone, Debug)]
pub enum Judged {
    Segments(Vec<Segment>),
    /// Why it could not be parsed.
    Unparsed(String),
}

/// Judges a line that starts in `folder`.
pub fn judge(text: &str, folder: &Path, place: &Place) -> Judged {
    let calls = match walk::calls(text, folder, place.home.as_deref()) {
        Ok(calls) => calls,
        Err(why) => return Judged::Unparsed(why.0),
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
            Segment { call, finding }
        })
        .collect();
    Judged::Segments(segments)
}

impl Segment {
    /// The program and its words, as a person would write them.
    pub fn shown(&self) -> String {
        if self.call.source.is_empty() { walker::shown(&self.call.argv) } else { self.call.source.clone() }
    }
}

impl Judged {
    /// The grade of what reaches furthest; `None` when it could not be judged.
    pub fn grade(&self) -> Option<Grade> {
        match self {
            Self::Segments(segments) => {
                Some(segments.iter().map(|segment| segment.finding.grade).max().unwrap_or(Grade::Looks))
            }
            Self::Unparsed(_) => None,
        }
    }
}
