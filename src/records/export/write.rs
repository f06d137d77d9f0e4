//! The export formats, and writing files.

use std::io;
use std::path::Path;

use serde_json::{Value, json};
use strum::EnumString;
use thiserror::Error;

use super::{atif, html, markdown, svg};
use base::config::theme::ThemeName;
use base::file::FileError;
use base::folder::atomic_write::{self, Expect};
use context::session::effective::{EffectiveEntry, EffectiveSession};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = not_a_format)]
pub enum ExportFormat {
    #[default]
    #[strum(serialize = "md", serialize = "markdown")]
    Markdown,
    #[strum(serialize = "html", serialize = "htm")]
    Html,
    Json,
    Atif,
    Svg,
}

fn not_a_format(text: &str) -> String {
    format!("'{text}' is not a format (md, html, json, atif, svg)")
}

#[derive(Clone, Copy, Debug)]
pub struct ExportOptions {
    pub format: ExportFormat,
    pub last_turn: bool,
    pub columns: u16,
    pub theme: ThemeName,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self { format: ExportFormat::Markdown, last_turn: false, columns: 100, theme: ThemeName::Dark }
    }
}

/// Why nothing was written; completes a sentence.
#[derive(Debug, Error)]
pub enum ExportError {
    #[error("the session can't be read: {0}")]
    Log(#[from] io::Error),
    #[error("{0} already exists")]
    Exists(String),
    #[error("{0}: there is no folder for it")]
    NoFolder(String),
    #[error("{0}: {1}")]
    File(String, FileError),
}

pub fn text(log: &Path, options: ExportOptions) -> io::Result<String> {
    if options.format == ExportFormat::Atif {
        return atif::render(log);
    }
    let mut session = EffectiveSession::read(log)?;
    if options.last_turn {
        session.keep_last_turn();
    }
    Ok(match options.format {
        ExportFormat::Markdown => markdown::render(&session),
        ExportFormat::Html => html::render(&session),
        ExportFormat::Json | ExportFormat::Atif => as_json(&session),
        ExportFormat::Svg => svg::render(&session, options.columns, options.theme),
    })
}

/// Without `force`, existing files aren't replaced.
pub fn write(log: &Path, file: &Path, options: ExportOptions, force: bool) -> Result<(), ExportError> {
    let text = text(log, options)?;
    let expect = if force { Expect::Anything } else { Expect::Missing };
    let shown = file.display().to_string();
    atomic_write::write(file, text.as_bytes(), expect).map_err(|error| match error {
        FileError::Exists => ExportError::Exists(shown),
        FileError::NotFound => ExportError::NoFolder(shown),
        error => ExportError::File(shown, error),
    })
}

pub fn format_of(file: &Path) -> Option<ExportFormat> {
    file.extension()?.to_str()?.to_ascii_lowercase().parse().ok()
}

pub fn by_ending(log: &Path, file: &Path, force: bool) -> Result<(), String> {
    let ending = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let format = if ending.is_empty() { ExportFormat::default() } else { ending.parse()? };
    let options = ExportOptions { format, ..ExportOptions::default() };
    write(log, file, options, force).map_err(|error| match error {
        ExportError::Exists(_) => format!("{error}; add --force to replace it"),
        error => error.to_string(),
    })
}

// JSON export: one object. Fields may be added, but never change meaning.
//
// - `format`: `"mycode-session"`; `version`: 1.
// - `session`: `id`, `workspace`, `created_ms` (since the Unix epoch), `app` (our version).
// - `items`: oldest first: `id`, `ms` and `item`, one of `user`, `assistant`, `reasoning` (each with
//   `text`), `tool_call` (`id`, `name`, `args`), `tool_result` (`call_id`, `tool`, `envelope` with `status`,
//   `data`, `body`, `text`, `error`), `summary`, `reminder`, `image`.
// - `turns`: `after` (the item before its end) and `end` (`reason`, `steps`, `usage`, `elapsed_ms`).

fn as_json(session: &EffectiveSession) -> String {
    let (mut items, mut turns) = (Vec::new(), Vec::new());
    for (id, standing) in &session.all {
        match standing {
            EffectiveEntry::Item(ms, item) => items.push(json!({"id": id, "ms": ms, "item": item})),
            EffectiveEntry::TurnEnd(end) => turns.push(json!({"after": id, "end": end})),
        }
    }
    let meta = session.meta.as_ref().map_or(Value::Null, |meta| {
        json!({
            "id": meta.id, "workspace": meta.workspace, "created_ms": meta.created_ms, "app": meta.app,
        })
    });
    let whole = json!({
        "format": "mycode-session", "version": 1, "session": meta, "items": items, "turns": turns,
    });
    format!("{whole:#}\n")
}
