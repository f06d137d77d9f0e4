//! Applies a patch: all files are planned before the first is written, and restored if one fails.

use std::collections::HashSet;
use std::path::Path;

use super::parse::{self, Chunk, FilePatch};
use super::place::{self, PlacedChunk};
use crate::api::{Preview, ToolError, ToolOutcome};
use crate::cx::ToolCx;
use crate::file::change::{self, Intent, LoadedFile, Removal};
use crate::file::known::{self, Needs};
use crate::file::matching::lines::Lines;
use crate::file::matching::match_edit::TextEdit;
use crate::file::write;
use crate::paths::{PathTarget, change_access, disk_error, existing_target, write_access};
use base::folder::exact;
use base::format::encoding::Encoding;
use base::model::envelope::Envelope;
use base::model::observation::{Change, Observation};
use base::system::os;
use guard::policy::access::Access;

/// The files that the patch writes and removes. Its paths are relative to `folder`, if not to the workspace.
pub(crate) fn access(patch: &str, folder: Option<&Path>, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
    let mut all = Vec::new();
    for file in files(patch, folder)? {
        for (at, path) in file.paths().enumerate() {
            let adds = matches!(file, FilePatch::Add { .. }) || at > 0;
            all.extend(if adds { write_access(cx, path) } else { change_access(cx, path) }?);
        }
    }
    Ok(all)
}

pub(crate) fn title(patch: &str) -> String {
    let files = parse::parse(patch).unwrap_or_default();
    files.iter().flat_map(FilePatch::paths).collect::<Vec<_>>().join(", ")
}

pub(crate) fn preview(patch: &str, folder: Option<&Path>, cx: &ToolCx) -> Preview {
    match plan(patch, folder, cx) {
        Ok(steps) => Preview::Diff(steps.iter().map(Intent::diff).collect()),
        Err(error) => Preview::NoEffect(Err(error)),
    }
}

/// Plans under the lock too, so that no other change can come between.
pub(crate) fn carry_out(patch: &str, folder: Option<&Path>, cx: &ToolCx) -> ToolOutcome {
    let _alone = cx.files.exclusive();
    let steps = plan(patch, folder, cx)?;
    let mut done = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        match step.carry_out(cx) {
            Ok(envelope) => done.push(envelope),
            Err(mut error) => {
                let failed: Vec<String> = steps[..at]
                    .iter()
                    .rev()
                    .filter_map(|step| step.put_back(cx).err().map(|error| error.message))
                    .collect();
                error.message.push_str(match failed.as_slice() {
                    [] => ". Nothing was changed: what the patch had written before is put back",
                    _ => ". The patch is half done: look at its files",
                });
                error.message.extend(failed.iter().map(|why| format!("; {why}")));
                return Err(error);
            }
        }
    }
    Ok(summary(done, steps.iter().map(Intent::diff).collect()))
}

/// For one file, the same as for any edit; for several, with a list of the others.
fn summary(mut done: Vec<Envelope>, diff: String) -> Envelope {
    if done.len() == 1 {
        return done.remove(0);
    }
    let text = done.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n");
    let mut changes =
        done.iter().filter_map(|one| one.data.change().cloned()).filter(|one| one.applied == Some(true));
    let Some(first) = changes.next() else { return done.remove(0) };
    let others: Vec<String> = changes.filter_map(|other| other.path).collect();
    let others = (!others.is_empty()).then_some(others);
    Envelope::success(text).observed(Observation::Edit(Change { diff: Some(diff), others, ..first }))
}

fn files(patch: &str, folder: Option<&Path>) -> Result<Vec<FilePatch>, ToolError> {
    let mut files = parse::parse(patch)
        .map_err(|why| ToolError::invalid(format!("the patch cannot be read: {why}. Nothing was changed")))?;
    let mut named = HashSet::new();
    for file in &mut files {
        let (FilePatch::Add { path, .. } | FilePatch::Delete { path } | FilePatch::Update { path, .. }) =
            file;
        let within = |path: &mut String| {
            if let Some(folder) = folder {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
        };
        within(path);
        if let FilePatch::Update { to: Some(to), .. } = file {
            within(to);
        }
        if let Some(twice) = file.paths().find(|path| !named.insert((*path).to_owned())) {
            let message = format!(
                "the patch names {twice} twice; put all its changes under one header. Nothing was changed"
            );
            return Err(ToolError::invalid(message));
        }
    }
    Ok(files)
}

/// Removals come last, because they are the hardest to restore.
fn plan(patch: &str, folder: Option<&Path>, cx: &ToolCx) -> Result<Vec<Intent>, ToolError> {
    let (mut steps, mut removals) = (Vec::new(), Vec::new());
    for file in files(patch, folder)? {
        match file {
            FilePatch::Add { path, content } => {
                steps.push(write::plan(&path, Some(&content), cx)?);
            }
            FilePatch::Delete { path } => removals.push(removal(&path, cx)?),
            FilePatch::Update { path, to: None, chunks } => {
                steps.push(update(&path, &chunks, cx)?);
            }
            FilePatch::Update { path, to: Some(to), chunks } => {
                let (content, mode) = moved(&path, &chunks, cx)?;
                steps.push(write::plan(&to, Some(&content), cx)?.with_mode(mode));
                removals.push(removal(&path, cx)?);
            }
        }
    }
    steps.extend(removals);
    Ok(steps)
}

/// A file and where its parts belong. Like for any edit, it must have been read.
fn placed(
    path: &str,
    chunks: &[Chunk],
    cx: &ToolCx,
) -> Result<(PathTarget, LoadedFile, Vec<PlacedChunk>), ToolError> {
    let target = existing_target(cx, path)?;
    let Some(loaded) = change::load(cx, &target)? else { return Err(change::missing(cx, &target)) };
    let meant = |text: &str| known::as_meant(cx, text, &loaded.text);
    let chunks: Vec<Chunk> = chunks
        .iter()
        .map(|chunk| Ok(Chunk { old: meant(&chunk.old)?, new: meant(&chunk.new)?, ..chunk.clone() }))
        .collect::<Result<_, ToolError>>()?;
    let placed = place::place(&loaded.text, &chunks)
        .map_err(|why| ToolError::invalid(format!("{}: {why}. Nothing was changed", target.shown)))?;
    let edits: Vec<TextEdit> = placed
        .iter()
        .map(|one| TextEdit { old: &loaded.text[one.start..one.end], new: &one.new, replace_all: true })
        .collect();
    known::must_be_known(cx, &target, &loaded, Needs::Places(&edits))?;
    for edit in &edits {
        change::must_be_storable(&target, &loaded, edit.new)?;
    }
    Ok((target, loaded, placed))
}

fn update(path: &str, chunks: &[Chunk], cx: &ToolCx) -> Result<Intent, ToolError> {
    let (target, loaded, placed) = placed(path, chunks, cx)?;
    let after = place::spliced(&loaded.text, &placed);
    let lines = Lines::new(&loaded.text);
    let applied = placed.iter().map(|one| (vec![lines.line_of(one.start) + 1], one.level)).collect();
    change::finish(target, Some(loaded), after, applied)
}

/// The content for the new name, and the mode.
fn moved(path: &str, chunks: &[Chunk], cx: &ToolCx) -> Result<(String, u32), ToolError> {
    let (target, loaded, placed) = placed(path, chunks, cx)?;
    if loaded.encoding != Encoding::Utf8 {
        let message =
            format!("{} is not plain UTF-8; move it with Bash (mv). Nothing was changed", target.shown);
        return Err(ToolError::invalid(message));
    }
    let mode = exact::look(&target.resolved.canonical).map_or(0o644, |meta| os::facts(&meta).mode & 0o777);
    Ok((place::spliced(&loaded.text, &placed), mode))
}

fn removal(path: &str, cx: &ToolCx) -> Result<Intent, ToolError> {
    let target = existing_target(cx, path)?;
    match exact::read(&target.resolved.canonical, change::EDIT_LIMIT_BYTES) {
        Ok((bytes, _)) => Ok(Intent::Remove(Removal { target, bytes })),
        Err(error) => Err(disk_error(cx, &target, &error)),
    }
}
