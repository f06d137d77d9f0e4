//! Note errors, worded to say what to do next.

use std::path::PathBuf;

use thiserror::Error;

use super::record::FOLDER;
use base::file::FileError;
use base::model::envelope::ErrorCode;

#[derive(Debug, Error)]
pub enum NoteError {
    /// A checkout may contain a link with this name; following it would leave the project.
    #[error("the notes folder {} points outside the project; replace the link with a folder", .0.display())]
    Outside(PathBuf),
    #[error("{} is not a folder; move it away to keep notes", .0.display())]
    NotFolder(PathBuf),
    #[error("there is no note '{wanted}'{near}; list the notes to see their ids")]
    NoSuch { wanted: String, near: String },
    #[error("'{wanted}' matches several notes ({candidates}); give the full id")]
    Ambiguous { wanted: String, candidates: String },
    #[error("the note {id} has the same title, type and files; update that one, or choose another title")]
    Twin { id: String },
    #[error("{0}")]
    Invalid(String),
    #[error("{name} {error}")]
    File { name: String, error: FileError },
    #[error("the front matter of {name} can't be changed safely ({why}); edit the file by hand")]
    FrontMatter { name: String, why: String },
    #[error("another process has locked the notes folder; try again")]
    Busy,
}

impl NoteError {
    /// About a file of the notes folder, or the folder itself if the name is empty.
    pub fn file(file: &str, error: impl Into<FileError>) -> Self {
        let name = format!("{FOLDER}/{file}").trim_end_matches('/').to_owned();
        Self::File { name, error: error.into() }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoSuch { .. } | Self::File { error: FileError::NotFound, .. } => ErrorCode::NotFound,
            Self::Invalid(_) | Self::Ambiguous { .. } => ErrorCode::InvalidParam,
            Self::Outside(_) | Self::NotFolder(_) => ErrorCode::AccessDenied,
            Self::Twin { .. }
            | Self::Busy
            | Self::File { error: FileError::Changed | FileError::Exists, .. } => ErrorCode::Conflict,
            Self::File { error: FileError::Denied(_), .. } => ErrorCode::PermissionDenied,
            Self::FrontMatter { .. } | Self::File { .. } => ErrorCode::ExecutionError,
        }
    }
}
