//! Shared by Edit, MultiEdit and Write. A change is planned first and written in one step; a preview is a
//! plan that isn't written.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::TextDiff;

use super::wrote;
use crate::api::{Preview, ToolError, ToolOutcome};
use crate::cx::ToolCx;
use crate::file::matching::match_edit::{MatchLevel, TextEdit};
use crate::paths::{PathTarget, disk_error};
use base::file::{self, FileError};
use base::folder::atomic_write::{self, Expect};
use base::folder::exact;
use base::folder::handle::Folder;
use base::format::diff_cut::DiffCut;
use base::format::encoding::{self, Encoding};
use base::model::envelope::{Envelope, ErrorCode};
use base::model::observation::{Change, Observation, Operation};
use base::text::{human_bytes, plural};

pub(crate) const EDIT_LIMIT_BYTES: u64 = 32 * 1024 * 1024;
const DIFF_BYTES: usize = 48 * 1024;
const MARK: char = '\u{feff}';

pub(crate) struct LoadedFile {
    pub bytes: Vec<u8>,
    pub text: String,
    pub encoding: Encoding,
}

impl LoadedFile {
    /// Whether the file has a byte order mark that is part of the encoding and not of `text`.
    fn mark_is_apart(&self) -> bool {
        self.encoding.has_mark() && !self.text.starts_with(MARK)
    }

    /// The text to search for `edits`; includes the byte order mark if they quote it.
    pub(crate) fn text_for(&self, edits: &[TextEdit]) -> String {
        match self.mark_is_apart() && edits.iter().any(|edit| edit.old.contains(MARK)) {
            true => format!("{MARK}{}", self.text),
            false => self.text.clone(),
        }
    }

    /// Drops a byte order mark from the new text if the encoding adds it anyway.
    pub(crate) fn without_double_mark(&self, mut after: String) -> String {
        if self.mark_is_apart() && after.starts_with(MARK) {
            after.remove(0);
        }
        after
    }
}

/// For each edit, the first lines of its replacements and how it matched; empty if the full content was replaced.
pub(crate) type AppliedEdits = Vec<(Vec<usize>, MatchLevel)>;

pub(crate) struct PlannedChange {
    target: PathTarget,
    before: Option<LoadedFile>,
    after: String,
    after_bytes: Vec<u8>,
    applied: AppliedEdits,
    /// The mode of the original, for a moved file.
    mode: Option<u32>,
}

impl PlannedChange {
    pub(crate) fn diff(&self) -> String {
        let encoding = self.before.as_ref().map_or(Encoding::Utf8, |loaded| loaded.encoding);
        let old = self.before.as_ref().map_or("", |loaded| &loaded.text);
        let show = |text: &str| encoding::shown(text, encoding);
        unified(&self.target.shown, &show(old), &show(&self.after))
    }
}

/// A file to remove, and its bytes at planning time.
pub(crate) struct Removal {
    pub target: PathTarget,
    pub bytes: Vec<u8>,
}

impl Removal {
    pub(crate) fn diff(&self) -> String {
        let text = encoding::decode(&self.bytes).map(|(text, encoding)| encoding::shown(&text, encoding));
        text.map_or_else(|_| String::new(), |text| unified(&self.target.shown, &text, ""))
    }

    pub(crate) fn carry_out(&self, cx: &ToolCx) -> ToolOutcome {
        let Self { target, bytes } = self;
        remove(cx, target, bytes)?;
        let (applied, operation, diff) = (Some(true), Some(Operation::Remove), Some(self.diff()));
        let change =
            Change { path: Some(target.shown.clone()), applied, operation, diff, ..Change::default() };
        Ok(Envelope::success(format!("Deleted {}", target.shown)).observed(Observation::Edit(change)))
    }
}

pub(crate) enum Intent {
    Change(Box<PlannedChange>),
    Remove(Removal),
    /// Nothing to do; the text says why.
    Nothing(Envelope),
}

impl Intent {
    pub(crate) fn with_mode(mut self, mode: u32) -> Self {
        if let Self::Change(plan) = &mut self {
            plan.mode = Some(mode);
        }
        self
    }

    pub(crate) fn diff(&self) -> String {
        match self {
            Self::Change(plan) => plan.diff(),
            Self::Remove(removal) => removal.diff(),
            Self::Nothing(_) => String::new(),
        }
    }

    pub(crate) fn carry_out(&self, cx: &ToolCx) -> ToolOutcome {
        match self {
            Self::Change(plan) => commit(cx, plan),
            Self::Remove(removal) => removal.carry_out(cx),
            Self::Nothing(envelope) => Ok(envelope.clone()),
        }
    }

    pub(crate) fn put_back(&self, cx: &ToolCx) -> Result<(), ToolError> {
        match self {
            Self::Change(plan) => match &plan.before {
                Some(loaded) => write_bytes(cx, &plan.target, Some(&plan.after_bytes), &loaded.bytes),
                None => remove(cx, &plan.target, &plan.after_bytes),
            },
            Self::Remove(removal) => write_bytes(cx, &removal.target, None, &removal.bytes),
            Self::Nothing(_) => Ok(()),
        }
    }
}

/// Reads a file that is about to be changed; `None` if it doesn't exist.
pub(crate) fn load(cx: &ToolCx, target: &PathTarget) -> Result<Option<LoadedFile>, ToolError> {
    let bytes = match exact::read(&target.resolved.canonical, EDIT_LIMIT_BYTES) {
        Ok((bytes, _)) => bytes,
        Err(FileError::NotFound) => return Ok(None),
        Err(error) => return Err(disk_error(cx, target, &error)),
    };
    let bytes = shown_in_editor(cx, target, &bytes).unwrap_or(bytes);
    match encoding::decode(&bytes) {
        Ok((text, encoding)) => Ok(Some(LoadedFile { bytes, text, encoding })),
        Err(_) => Err(ToolError::model(
            ErrorCode::BinaryFile,
            format!(
                "{} is {} ({}), which cannot be edited as text",
                target.shown,
                file::binary_kind(&bytes),
                human_bytes(bytes.len() as u64)
            ),
        )),
    }
}

/// Returns `None` without unsaved changes, and for files that aren't UTF-8 or are outside the workspace.
pub(crate) fn shown_in_editor(cx: &ToolCx, target: &PathTarget, disk: &[u8]) -> Option<Vec<u8>> {
    let editor =
        cx.editor.as_ref().filter(|_| target.resolved.inside && std::str::from_utf8(disk).is_ok())?;
    let text = editor.read(&target.resolved.canonical)?;
    (text.as_bytes() != disk && text.len() as u64 <= EDIT_LIMIT_BYTES).then(|| text.into_bytes())
}

/// Writes through the editor if it has the file; returns `false` if we must write.
fn written_by_editor(cx: &ToolCx, plan: &PlannedChange) -> Result<bool, ToolError> {
    let PlannedChange { target, after_bytes, .. } = plan;
    let Some(editor) = cx.editor.as_ref().filter(|_| target.resolved.inside) else { return Ok(false) };
    let Ok(text) = std::str::from_utf8(after_bytes) else { return Ok(false) };
    editor.write(&target.resolved.canonical, text).map_err(|why| {
        ToolError::failed(format!(
            "the user's editor could not write {}: {why}. Nothing was written; tell the user",
            target.shown
        ))
    })
}

/// The error completes a sentence.
pub(crate) fn text_of(canonical: &Path, limit: u64) -> Result<String, String> {
    let (bytes, _) = exact::read(canonical, limit).map_err(|error| error.to_string())?;
    encoding::decode(&bytes).map(|(text, _)| text).map_err(|_| "it isn't text".to_owned())
}

/// Rejects characters that we use internally in place of non-text bytes.
pub(crate) fn must_be_storable(target: &PathTarget, loaded: &LoadedFile, new: &str) -> Result<(), ToolError> {
    if loaded.encoding != Encoding::DamagedUtf8 || !new.chars().any(encoding::is_stand_in) {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "{} contains bytes that are not UTF-8, and the new text contains private-use characters that stand for such \
         bytes. Nothing was written; change the file with Bash",
        target.shown
    )))
}

fn vanished(target: &PathTarget) -> ToolError {
    ToolError::not_found(format!(
        "{} no longer exists (deleted or moved since you read it); look for it with Glob",
        target.shown
    ))
}

pub(crate) fn missing(cx: &ToolCx, target: &PathTarget) -> ToolError {
    match cx.files.get(&target.resolved.canonical) {
        Some(_) => vanished(target),
        None => disk_error(cx, target, &FileError::NotFound),
    }
}

pub(crate) fn list_lines(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
    let more = if lines.len() > 10 { ", …" } else { "" };
    format!("{} {}{more}", if lines.len() == 1 { "line" } else { "lines" }, shown.join(", "))
}

/// `replacements` is only for edits.
pub(crate) fn unchanged(target: &PathTarget, text: String, replacements: Option<u64>) -> Envelope {
    let (applied, operation) = (Some(false), Some(Operation::None));
    let path = Some(target.shown.clone());
    let change = Change { path, applied, operation, replacements, ..Change::default() };
    Envelope::success(text).partial().observed(observation(change))
}

fn observation(change: Change) -> Observation {
    match change.replacements {
        Some(_) => Observation::Edit(change),
        None => Observation::Write(change),
    }
}

pub(crate) fn finish(
    target: PathTarget,
    before: Option<LoadedFile>,
    after: String,
    applied: AppliedEdits,
) -> Result<Intent, ToolError> {
    let encoding = before.as_ref().map_or(Encoding::Utf8, |loaded| loaded.encoding);
    let after_bytes = encoding::encode(&after, encoding).map_err(|c| {
        ToolError::invalid(format!(
            "{} is stored as {}, which has no character '{c}' (U+{:04X}). Nothing was written; use other characters, or \
             convert the file with Bash (iconv) first",
            target.shown,
            encoding.name(),
            u32::from(c)
        ))
    })?;
    if after_bytes.len() as u64 > EDIT_LIMIT_BYTES {
        return Err(ToolError::invalid(format!(
            "the file would have {}; at most {} can be written",
            human_bytes(after_bytes.len() as u64),
            human_bytes(EDIT_LIMIT_BYTES)
        )));
    }
    if after.contains('\0') {
        return Err(ToolError::invalid("the new text contains a NUL character, which a text file cannot"));
    }
    Ok(Intent::Change(Box::new(PlannedChange { target, before, after, after_bytes, applied, mode: None })))
}

fn write_bytes(
    cx: &ToolCx,
    target: &PathTarget,
    before: Option<&[u8]>,
    after: &[u8],
) -> Result<(), ToolError> {
    let path = &target.resolved.canonical;
    let (folder, name, made) = make_folders(path).map_err(|error| disk_error(cx, target, &error))?;
    journaled(cx, "Edit", path, &made, (before, Some(after)));
    let expect = before.map_or(Expect::Missing, Expect::Bytes);
    atomic_write::write_in(&folder, name, after, expect).map_err(|error| disk_error(cx, target, &error))?;
    cx.files.saw(path, file::hash(after), after);
    Ok(())
}

/// `CONFLICT` if the file's bytes have changed.
fn remove(cx: &ToolCx, target: &PathTarget, bytes: &[u8]) -> Result<(), ToolError> {
    let path = &target.resolved.canonical;
    let failed = |error: FileError| disk_error(cx, target, &error);
    let (folder, name) = Folder::of(path).map_err(failed)?;
    let (now, _) = exact::read(path, EDIT_LIMIT_BYTES).map_err(failed)?;
    if now != bytes {
        return Err(failed(FileError::Changed));
    }
    journaled(cx, "Edit", path, &[], (Some(bytes), None));
    folder.remove_file(name).map_err(|error| failed(error.into()))
}

fn journaled(
    cx: &ToolCx,
    tool: &str,
    path: &Path,
    made: &[PathBuf],
    (before, after): (Option<&[u8]>, Option<&[u8]>),
) {
    if let Some(journal) = &cx.journal {
        journal.before_write(tool, path, made, before, after);
    }
}

/// Writes a plan and records that the model knows the new content. A failed write leaves the file unchanged.
fn commit(cx: &ToolCx, plan: &PlannedChange) -> ToolOutcome {
    let PlannedChange { target, before, after, after_bytes, applied, mode } = plan;
    let path = &target.resolved.canonical;
    let (folder, name, made) = make_folders(path).map_err(|error| disk_error(cx, target, &error))?;
    let old = before.as_ref().map(|loaded| loaded.bytes.as_slice());
    let tool = if applied.is_empty() { "Write" } else { "Edit" };
    journaled(cx, tool, path, &made, (old, Some(after_bytes)));
    let expect = old.map_or(Expect::Missing, Expect::Bytes);
    let on_disk = || match atomic_write::write_in(&folder, name, after_bytes, expect) {
        Ok(()) => Ok(()),
        Err(FileError::NotFound) => Err(vanished(target)),
        Err(error) => Err(disk_error(cx, target, &error)),
    };
    let written = written_by_editor(cx, plan).and_then(|done| if done { Ok(()) } else { on_disk() });
    if let Err(error) = written {
        Folder::unmake(&made);
        return Err(error);
    }
    if let (None, Some(mode)) = (before, mode) {
        folder.set_mode(name, *mode).map_err(|error| disk_error(cx, target, &error.into()))?;
    }
    if let (None, Some(journal)) = (before, &cx.journal) {
        journal.after_created(tool, path);
    }
    let hash = file::hash(after_bytes);
    cx.files.saw(path, hash.clone(), after_bytes);
    let diff = plan.diff();
    cx.files.show(if applied.is_empty() { after } else { &diff });
    cx.language_servers.edited(path, before.as_ref().map(|loaded| loaded.text.as_str()), after);
    let shown = &target.shown;
    let replacements: usize = applied.iter().map(|(lines, _)| lines.len()).sum();
    let lines = |text: &str| text.lines().count();
    let mut text = match (before, applied.as_slice()) {
        (None, _) => {
            let place = if target.resolved.inside { "" } else { ", outside the workspace" };
            format!("Created {shown} ({}){place}", plural(lines(after), "line"))
        }
        (Some(before), []) => {
            format!("Wrote {shown} ({}, was {})", plural(lines(after), "line"), lines(&before.text))
        }
        (Some(before), edits) => {
            let notes: String = (1..)
                .zip(edits)
                .filter_map(|(number, (lines, level))| {
                    if lines.is_empty() {
                        return Some(format!("; edit {number} changes nothing and was skipped"));
                    }
                    let which = if edits.len() == 1 { String::new() } else { format!("edit {number} ") };
                    Some(format!("; {which}{}", level.note()?))
                })
                .collect();
            let count = match edits.len() {
                1 => plural(replacements, "replacement"),
                edits => format!("{}, {}", plural(edits, "edit"), plural(replacements, "replacement")),
            };
            format!("Edited {shown}: {count} ({}){notes}", wrote::changed_lines(&before.text, after))
        }
    };
    // The new text was reindented, so show the result.
    if applied.iter().any(|(_, level)| *level == MatchLevel::Indentation) {
        let new: Vec<&str> = diff.lines().skip(2).filter(|line| line.starts_with('+')).take(20).collect();
        text.push_str(&format!("\n{}", new.join("\n")));
    }
    text.extend(wrote::problem(&target.shown, after).map(|why| format!("; but {why}")));
    if before.is_none() {
        text.extend(wrote::similar_neighbor(cx, target).map(|name| format!("; a similar {name} is there")));
    }
    Ok(Envelope::success(text).observed(observation(Change {
        path: Some(shown.clone()),
        applied: Some(true),
        operation: Some(if before.is_none() { Operation::Create } else { Operation::Update }),
        hash: Some(hash),
        diff: Some(diff),
        replacements: (!applied.is_empty()).then_some(replacements as u64),
        others: None,
    })))
}

/// Creates missing parent folders; returns the parent, the file name, and the new folders, outermost first.
fn make_folders(path: &Path) -> Result<(Folder, &OsStr, Vec<PathBuf>), FileError> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::IsDirectory);
    };
    match Folder::make(above).map_err(FileError::from) {
        Ok((folder, made)) => Ok((folder, name, made)),
        Err(FileError::NotFound) => Err(FileError::Unable("its folder can't be created".to_owned())),
        Err(error) => Err(error),
    }
}

pub(crate) fn preview(intent: Result<Intent, ToolError>) -> Preview {
    match intent {
        Ok(Intent::Nothing(envelope)) => Preview::NoEffect(Ok(envelope)),
        Ok(intent) => Preview::Diff(intent.diff()),
        Err(error) => Preview::NoEffect(Err(error)),
    }
}

/// Plans and writes under one lock, so that no other change can come between.
pub(crate) fn carry_out(cx: &ToolCx, plan: impl FnOnce() -> Result<Intent, ToolError>) -> ToolOutcome {
    let _alone = cx.files.exclusive();
    plan()?.carry_out(cx)
}

pub(crate) fn unified(shown: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(Duration::from_millis(500)).diff_lines(old, new);
    let mut text = diff
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{shown}"), &format!("b/{shown}"))
        .to_string();
    if text.len() > DIFF_BYTES {
        let cut = text.floor_char_boundary(DIFF_BYTES);
        // Give the number of missing lines, or the model takes the rest for the full diff.
        let cut = text[..cut].rfind('\n').map_or(cut, |feed| feed + 1);
        let missing = DiffCut::of(&text[cut..]).line();
        text = format!("{}\n{missing}\n", text[..cut].trim_end_matches('\n'));
    }
    text
}
