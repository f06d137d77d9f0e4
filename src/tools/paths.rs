//! Resolves path arguments, and turns disk errors into answers that the model can act on. Blocks.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::api::{ToolError, ToolOutcome};
use crate::cx::ToolCx;
use base::file::FileError;
use base::folder::exact;
use base::folder::handle::Folder;
use base::model::envelope::ErrorCode;
use base::path::{self, Resolved, on_one_line};
use base::pattern::Pattern;
use base::search::fuzzy;
use base::text::plural;
use guard::policy::access::Access;

const MAX_PATH_BYTES: usize = 4_096;

#[derive(Clone, Debug)]
pub(crate) struct PathTarget {
    pub resolved: Resolved,
    pub shown: String,
}

/// `CONFLICT` if it leads elsewhere than when the call was judged: the verdict applies to exactly that path.
pub(crate) fn target(cx: &ToolCx, text: &str) -> Result<PathTarget, ToolError> {
    as_judged(cx, resolve(cx, text)?)
}

fn as_judged(cx: &ToolCx, target: PathTarget) -> Result<PathTarget, ToolError> {
    let path = Some(target.resolved.canonical.as_path());
    match &cx.judged {
        Some(judged) if judged.iter().all(|access| access.path() != path) => Err(replaced(&target.shown)),
        _ => Ok(target),
    }
}

fn replaced(shown: &str) -> ToolError {
    ToolError::conflict(format!(
        "{shown} points elsewhere than when this call was checked: another program moved it or a folder above it, or \
             put a link in its place. Nothing was done; look at it with LS, then repeat the call"
    ))
}

pub(crate) fn resolve(cx: &ToolCx, text: &str) -> Result<PathTarget, ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::invalid("path is empty"));
    }
    if text.contains('\0') {
        return Err(ToolError::invalid("path contains a NUL character"));
    }
    if text.len() > MAX_PATH_BYTES {
        return Err(ToolError::invalid("path is longer than any file system allows"));
    }
    if !cx.root.is_dir() {
        return Err(ToolError::not_found(format!(
            "the workspace folder {} no longer exists; tell the user",
            cx.root.display()
        )));
    }
    let mut resolved = path::resolve(&cx.root, text);
    let real = path::on_disk(&resolved.absolute);
    if real != resolved.absolute {
        resolved = path::definite(&cx.root, real);
    }
    let shown = path::display(&cx.root, &resolved.absolute);
    let is_ours = |path: &Path| cx.folders.iter().any(|folder| path.starts_with(folder));
    if !resolved.inside
        && !is_ours(&resolved.canonical)
        && let Some(own) = cx.sandbox.temporary(&resolved.absolute)
    {
        resolved = path::definite(&cx.root, own);
    }
    Ok(PathTarget { resolved, shown })
}

pub(crate) fn read_access(cx: &ToolCx, text: &str) -> Result<Vec<Access>, ToolError> {
    let target = target_or_nearest(cx, text)?.0;
    must_be_here(cx, &target)?;
    Ok(vec![Access::Read(target.resolved.canonical)])
}

/// Resolves the path of an existing file to change; a bare name means the only file with that name.
pub(crate) fn existing_target(cx: &ToolCx, text: &str) -> Result<PathTarget, ToolError> {
    let wanted = resolve(cx, text)?;
    let near = or_nearest(cx, wanted.clone())?.0;
    // A name in different case may be a different file.
    let same = near.shown.ends_with(&wanted.shown) || wanted.shown.ends_with(&near.shown);
    as_judged(cx, if same { near } else { wanted })
}

pub(crate) fn change_access(cx: &ToolCx, text: &str) -> Result<Vec<Access>, ToolError> {
    let target = existing_target(cx, text)?;
    must_be_here(cx, &target)?;
    Ok(vec![Access::Write(target.resolved.canonical)])
}

/// Rejects a path from another machine before the user is asked about it.
fn must_be_here(cx: &ToolCx, target: &PathTarget) -> Result<(), ToolError> {
    let outside = !target.resolved.inside && target.resolved.absolute.symlink_metadata().is_err();
    if outside && own_part(cx, &target.resolved.absolute).is_some() {
        Err(not_found(cx, target))
    } else {
        Ok(())
    }
}

pub(crate) fn write_access(cx: &ToolCx, text: &str) -> Result<Vec<Access>, ToolError> {
    Ok(vec![Access::Write(target(cx, text)?.resolved.canonical)])
}

/// Runs `work` on the file or tree at `text`; if a similar path is used instead, the answer says so.
pub(crate) fn read_at(cx: &ToolCx, text: &str, work: impl FnOnce(&PathTarget) -> ToolOutcome) -> ToolOutcome {
    let (target, note) = target_or_nearest(cx, text)?;
    let mut envelope = work(&target)?;
    if let Some(note) = note {
        envelope.text = if envelope.text.is_empty() { note } else { format!("{note}; {}", envelope.text) };
    }
    Ok(envelope)
}

/// Likeness of paths that differ only in case or a missing prefix.
const CLEAR_LIKENESS: f64 = 90.0;
/// Likeness of a bare name to the same name in some folder.
const SAME_NAME: f64 = 50.0;

/// Like [`target`] for read-only tools: a missing path resolves to the only clearly similar one, with a note.
fn target_or_nearest(cx: &ToolCx, text: &str) -> Result<(PathTarget, Option<String>), ToolError> {
    let (target, note) = or_nearest(cx, resolve(cx, text)?)?;
    Ok((as_judged(cx, target)?, note))
}

pub(crate) fn or_nearest(cx: &ToolCx, wanted: PathTarget) -> Result<(PathTarget, Option<String>), ToolError> {
    if wanted.resolved.absolute.symlink_metadata().is_ok() {
        return Ok((wanted, None));
    }
    if !wanted.resolved.inside {
        // The path may be from another machine (`/workspace/…`) or another user's.
        let users = ["/home", "/Users"].iter().any(|users| wanted.resolved.absolute.starts_with(users));
        let top: PathBuf = wanted.resolved.absolute.components().take(2 + usize::from(users)).collect();
        return match own_part(cx, &wanted.resolved.absolute).filter(|_| !top.exists()) {
            Some(own) => as_found(cx, wanted, &own),
            None => Ok((wanted, None)),
        };
    }
    if let Some(bare) = bare(cx, &wanted.shown).filter(|bare| cx.root.join(bare).exists()) {
        return as_found(cx, wanted, &bare);
    }
    let near = fuzzy::nearest(&cx.root, &wanted.shown, 8);
    let only = |least: f64| {
        let mut clear = near.iter().filter(|(_, likeness)| *likeness >= least);
        clear.next().filter(|_| clear.next().is_none())
    };
    let by_name = || only(SAME_NAME).filter(|_| !wanted.shown.contains('/'));
    let Some((nearest, _)) = only(CLEAR_LIKENESS).or_else(by_name) else { return Ok((wanted, None)) };
    as_found(cx, wanted, nearest.trim_end_matches('/'))
}

static LINES: Pattern = Pattern::new(r":(\d+)(?::\d+|-(\d+))?$");

/// Where `src/a.rs:120-140` starts and how many lines it asks for, if that isn't the file's own name.
pub(crate) fn lines_asked(asked: &str, path: &Path) -> Option<(Option<usize>, Option<usize>)> {
    let found = LINES.captures(asked)?;
    let (first, last) = (found[1].parse::<usize>().ok()?, found.get(2)?.as_str().parse::<usize>().ok()?);
    let is_name = path.to_string_lossy().ends_with(&found[0]);
    Some((Some(first), Some(last.saturating_add(1).checked_sub(first)?))).filter(|_| !is_name)
}

/// The path without what models add: quotes, `@`, `file://`, a line number, the workspace's own name, `\\`.
fn bare(cx: &ToolCx, text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || "\"'`@".contains(c)).replace('\\', "/");
    let text = text.trim_start_matches("file:").trim_start_matches(&*cx.root.to_string_lossy());
    let text = LINES.replace(text.trim_start_matches('/'), "");
    let root = cx.root.file_name()?.to_string_lossy().into_owned();
    let below = text.strip_prefix(&format!("{root}/")).filter(|_| !cx.root.join(&root).exists());
    Some(below.unwrap_or(&text).to_owned()).filter(|bare| !bare.is_empty())
}

fn as_found(cx: &ToolCx, wanted: PathTarget, path: &str) -> Result<(PathTarget, Option<String>), ToolError> {
    let found = resolve(cx, path)?;
    if !found.resolved.inside {
        return Ok((wanted, None));
    }
    let note = format!("{} does not exist; this is {}", wanted.shown, found.shown);
    Ok((found, Some(note)))
}

pub(crate) fn look(cx: &ToolCx, target: &PathTarget) -> Result<Metadata, ToolError> {
    let looked = exact::look(&target.resolved.canonical).map_err(FileError::from);
    let refused = |error| disk_error(cx, target, &error);
    match looked.map_err(refused)? {
        meta if meta.is_symlink() => Err(refused(FileError::Links)),
        meta => Ok(meta),
    }
}

pub(crate) fn open(cx: &ToolCx, target: &PathTarget) -> Result<(File, Metadata), ToolError> {
    exact::open(&target.resolved.canonical).map_err(|error| disk_error(cx, target, &error))
}

pub(crate) fn folder_or_root(path: Option<&str>) -> &str {
    path.filter(|path| !path.is_empty()).unwrap_or(".")
}

pub(crate) fn disk_error(cx: &ToolCx, target: &PathTarget, error: &FileError) -> ToolError {
    let shown = &target.shown;
    match error {
        FileError::NotFound => not_found(cx, target),
        FileError::IsDirectory => ToolError::model(ErrorCode::IsDirectory, is_folder(target)),
        FileError::Special(kind) => {
            ToolError::invalid(format!("{shown} is a {kind}, not a file; it cannot be read or edited"))
        }
        FileError::Denied(why) => ToolError::model(ErrorCode::PermissionDenied, format!("{shown}: {why}")),
        FileError::Unable(why) => ToolError::failed(format!("{shown}: {why}")),
        FileError::TooLarge { .. } => {
            ToolError::invalid(format!("{shown} {error}; use Bash (head, tail, sed) on it instead"))
        }
        FileError::Changed | FileError::Exists => {
            ToolError::conflict(format!("{shown} {error}. Nothing was written; Read it again"))
        }
        FileError::Links => {
            let looped = std::fs::metadata(&target.resolved.canonical).map_err(FileError::from);
            match looped {
                Err(FileError::Links) => {
                    ToolError::failed(format!("{shown}: its symbolic links form a loop"))
                }
                _ => replaced(shown),
            }
        }
        FileError::Io(error) => ToolError::failed(format!("{shown}: {error}")),
    }
}

fn is_folder(target: &PathTarget) -> String {
    const NAMES: usize = 40;
    let names = Folder::open(&target.resolved.canonical).and_then(|folder| folder.names());
    let mut names: Vec<String> =
        names.unwrap_or_default().iter().map(|name| on_one_line(&name.to_string_lossy())).collect();
    names.sort();
    let what = match names.len() {
        0 => "an empty folder".to_owned(),
        all => format!(
            "a folder with {}{}",
            names[..all.min(NAMES)].join(", "),
            if all > NAMES { ", …" } else { "" }
        ),
    };
    format!("{} is {what}; LS lists folders", target.shown)
}

fn not_found(cx: &ToolCx, target: &PathTarget) -> ToolError {
    let shown = &target.shown;
    let mut message = format!("{shown} does not exist");
    let absolute = target.resolved.absolute.as_path();
    let parent = absolute.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(absolute);
    let inside = target.resolved.inside;
    let other = absolute.file_name().and_then(OsStr::to_str).filter(|_| parent == Path::new("/"));
    let name = if inside { Some(shown.as_str()) } else { other };
    let near = name.map_or_else(Vec::new, |name| fuzzy::nearest(&cx.root, name, 3));
    if let Some(own) = own_part(cx, absolute).filter(|_| !inside) {
        message.push_str(&format!("; in this workspace it is {own}"));
    } else if !near.is_empty() {
        let names: Vec<&str> = near.iter().map(|(path, _)| path.as_str()).collect();
        message.push_str(&format!("; did you mean {}?", names.join(" or ")));
    } else if !inside {
        message.push_str(&format!("; the nearest existing folder is {}", parent.display()));
    }
    ToolError::not_found(message)
}

/// The end of a foreign path (`/workspace/src/a.py`) that exists in the workspace.
fn own_part(cx: &ToolCx, absolute: &Path) -> Option<String> {
    let parts: Vec<_> = absolute.components().skip(1).collect();
    let ends = (0..parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
    let own = ends.into_iter().find(|end| cx.root.join(end).symlink_metadata().is_ok())?;
    Some(own.to_string_lossy().into_owned())
}

pub(crate) fn skipped_folders(count: usize) -> String {
    format!(
        "{} could not be entered (no permission, or its ignore file is not a file)",
        plural(count, "folder")
    )
}
