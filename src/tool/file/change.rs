//! What Edit, MultiEdit and Write share: loading a file that may be changed, the messages of a refusal, the diff, and
//! the write itself. A change is planned first and written in one step, so a preview is the same plan without the write.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::TextDiff;

use crate::base::atomic_write::{self, Expect};
use crate::base::diff_cut::DiffCut;
use crate::base::encoding::{self, Encoding};
use crate::base::file::{self, FileError};
use crate::base::text::{elide, floor_boundary, human_bytes, plural};
use crate::model::envelope::{Envelope, ErrorCode};
use crate::tool::api::{Preview, ToolError};
use crate::tool::cx::ToolCx;
use crate::tool::file::matching::apply::{Applied, apply};
use crate::tool::file::matching::diagnose;
use crate::tool::file::matching::lines::visible;
use crate::tool::file::matching::match_edit::{MatchLevel, Refusal, TextEdit};
use crate::tool::paths::{Target, refused, target};

/// Larger files are not edited as text.
pub const EDIT_LIMIT_BYTES: u64 = 32 * 1024 * 1024;
/// Lines of a stale file's diff that are shown.
const STALE_DIFF_LINES: usize = 40;
/// Size of a stored diff.
const DIFF_BYTES: usize = 48 * 1024;

/// A file's content before a change.
pub struct LoadedFile {
    pub bytes: Vec<u8>,
    pub text: String,
    pub encoding: Encoding,
}

/// A change that is ready to be written.
pub struct PlannedChange {
    pub target: Target,
    /// `None` when the file is created.
    pub before: Option<LoadedFile>,
    pub after: String,
    pub after_bytes: Vec<u8>,
    /// The first lines of the replacements and how they matched, edit by edit; empty for a whole new content.
    pub applied: Vec<(Vec<usize>, MatchLevel)>,
}

/// What a tool wants to do.
pub enum Intent {
    /// Something to write.
    Change(Box<PlannedChange>),
    /// There is nothing to do; the text says why.
    Nothing(Envelope),
}

/// Reads a file that is about to be changed; `None` when it does not exist.
///
/// # Errors
/// Folder, special file, binary, too large, read-only.
pub fn load(cx: &ToolCx, target: &Target) -> Result<Option<LoadedFile>, ToolError> {
    let bytes = match file::read(&target.resolved.canonical, EDIT_LIMIT_BYTES) {
        Ok((bytes, _)) => bytes,
        Err(FileError::NotFound) => return Ok(None),
        Err(error) => return Err(refused(cx, target, &error)),
    };
    match encoding::decode(&bytes) {
        Ok((text, encoding)) => Ok(Some(LoadedFile { bytes, text, encoding })),
        Err(_) => Err(ToolError::model(
            ErrorCode::BinaryFile,
            format!(
                "{} is {} ({}), which cannot be changed as text",
                target.shown,
                file::binary_kind(&bytes),
                human_bytes(bytes.len() as u64)
            ),
        )),
    }
}

/// Makes sure that the model has seen the file as it now is.
///
/// # Errors
/// `INVALID_PARAM` when it was never read; `CONFLICT` with a short diff when it has changed since.
pub fn must_be_known(cx: &ToolCx, target: &Target, loaded: &LoadedFile) -> Result<(), ToolError> {
    let shown = &target.shown;
    let Some(seen) = cx.files.get(&target.resolved.canonical) else {
        return Err(ToolError::invalid(format!(
            "{shown} has not been read yet. Read it first, then repeat this call"
        )));
    };
    if seen.hash == file::hash(&loaded.bytes) {
        return Ok(());
    }
    let changes = seen
        .snapshot
        .and_then(|bytes| encoding::decode(&bytes).ok())
        .map(|(before, _)| unified(shown, &before, &encoding::shown(&loaded.text, loaded.encoding)))
        .filter(|diff| !diff.is_empty())
        .map(|diff| {
            let cut = diff.lines().count() > STALE_DIFF_LINES;
            let lines: Vec<String> =
                diff.lines().take(STALE_DIFF_LINES).map(|line| elide(line, 200)).collect();
            format!(". What changed:\n{}{}", lines.join("\n"), if cut { "\n…" } else { "" })
        })
        .unwrap_or_default();
    Err(ToolError::model(
        ErrorCode::Conflict,
        format!(
            "{shown} was changed by someone else since you last saw it. Nothing was written; Read it again, then \
             repeat this call{changes}"
        ),
    ))
}

/// Plans one or more edits of a file, in order, all or nothing.
///
/// # Errors
/// The first edit that cannot be applied, by number when there are several.
pub fn plan_edits(cx: &ToolCx, path: &str, edits: &[TextEdit]) -> Result<Intent, ToolError> {
    let target = target(cx, path)?;
    let loaded = load(cx, &target)?;
    let real = with_secrets(cx, edits, loaded.as_ref().map_or("", |loaded| &loaded.text))?;
    let edits: &[TextEdit] =
        &real.iter().map(|(old, new, all)| TextEdit { old, new, replace_all: *all }).collect::<Vec<_>>();
    let Some(first) = edits.first() else {
        return Err(ToolError::invalid("edits is empty"));
    };
    if first.old.is_empty() && loaded.as_ref().is_none_or(|file| file.bytes.is_empty()) {
        if first.new.is_empty() {
            return Err(ToolError::invalid("old_string and new_string are both empty: nothing to do"));
        }
        let (after, mut applied) = run(&target, first.new.to_owned(), &edits[1..], 2, edits.len())?;
        applied.insert(0, (vec![1], MatchLevel::Exact));
        return finish(target, loaded, after, applied);
    }
    let Some(loaded) = loaded else {
        return Err(match cx.files.get(&target.resolved.canonical) {
            Some(_) => ToolError::model(
                ErrorCode::NotFound,
                format!(
                    "{} has vanished since you read it (deleted or moved). Look for it with Glob",
                    target.shown
                ),
            ),
            None => refused(cx, &target, &FileError::NotFound),
        });
    };
    if first.old.is_empty() {
        return Err(ToolError::model(
            ErrorCode::Conflict,
            format!("{} exists and is not empty; an empty old_string only creates new files", target.shown),
        ));
    }
    must_be_known(cx, &target, &loaded)?;
    for edit in edits {
        can_hold(&target, &loaded, edit.new)?;
    }
    let text = match edits.iter().any(|edit| edit.old.contains(MARK)) && mark_is_apart(&loaded) {
        true => format!("{MARK}{}", loaded.text),
        false => loaded.text.clone(),
    };
    // Sent twice: nothing is left to do, and saying so ends the loop.
    let outcomes: Vec<_> = edits.iter().map(|edit| apply(&text, *edit)).collect();
    let standing: Vec<usize> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Err(Refusal::AlreadyApplied { line }) => Some(*line),
            _ => None,
        })
        .collect();
    if standing.len() == edits.len() {
        let text = format!(
            "Nothing changed: {} already has the new text (line {}) where the old one would be. This edit is done",
            target.shown, standing[0]
        );
        return Ok(Intent::Nothing(
            Envelope::success(text)
                .partial()
                .with("path", target.shown.as_str())
                .with("applied", false)
                .with("replacements", 0)
                .with("operation", "none"),
        ));
    }
    let (after, applied) = run(&target, text, edits, 1, edits.len())?;
    let after = without_mark(&loaded, after);
    if after == loaded.text {
        return Err(ToolError::invalid("the edits undo each other: the file would stay as it is"));
    }
    finish(target, Some(loaded), after, applied)
}

/// The byte order mark as a character.
const MARK: char = '\u{feff}';

/// Whether the file has a mark that its text does not show: it belongs to the encoding.
fn mark_is_apart(loaded: &LoadedFile) -> bool {
    loaded.encoding.has_mark() && !loaded.text.starts_with(MARK)
}

/// The new text of a file without the mark that it would be given twice.
pub fn without_mark(loaded: &LoadedFile, mut after: String) -> String {
    if mark_is_apart(loaded) && after.starts_with(MARK) {
        after.remove(0);
    }
    after
}

/// Makes sure that `new` can be told from the bytes that are held as characters.
///
/// # Errors
/// `INVALID_PARAM`.
pub fn can_hold(target: &Target, loaded: &LoadedFile, new: &str) -> Result<(), ToolError> {
    if loaded.encoding != Encoding::DamagedUtf8 || !encoding::has_stand_in(new) {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "{} holds bytes that are not UTF-8, and the new text holds private-use characters that would be taken for such. \
         Nothing was written; change the file with Bash",
        target.shown
    )))
}

type RealEdit<'a> = (Cow<'a, str>, Cow<'a, str>, bool);

/// The edits with the file's own secrets where they quote placeholders.
fn with_secrets<'a>(cx: &ToolCx, edits: &[TextEdit<'a>], file: &str) -> Result<Vec<RealEdit<'a>>, ToolError> {
    let real = |text: &'a str| cx.vault.restore(text, file).map_err(ToolError::invalid);
    edits.iter().map(|edit| Ok((real(edit.old)?, real(edit.new)?, edit.replace_all))).collect()
}

type AppliedEdits = Vec<(Vec<usize>, MatchLevel)>;

fn run(
    target: &Target,
    mut text: String,
    edits: &[TextEdit],
    first: usize,
    total: usize,
) -> Result<(String, AppliedEdits), ToolError> {
    let mut applied = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let done = numbered_new(&text, edit)
            .map_or_else(|| apply(&text, *edit).map_err(|r| explain(target, &text, edit, &r)), Err);
        match done {
            Ok(Applied { text: after, lines, rung }) => {
                text = after;
                applied.push((lines, rung));
            }
            Err((code, message)) if total > 1 => {
                let message =
                    format!("edit {} of {total}: {message}. None of the edits was made", first + index);
                return Err(ToolError::model(code, message));
            }
            Err((code, message)) => return Err(ToolError::model(code, message)),
        }
    }
    Ok((text, applied))
}

/// New text with Read's line numbers would put them into the file.
fn numbered_new(text: &str, edit: &TextEdit) -> Option<(ErrorCode, String)> {
    let pasted =
        edit.new.lines().count() > 1 && diagnose::is_numbered(edit.new) && !diagnose::is_numbered(edit.old);
    let natural = || text.lines().any(diagnose::is_numbered);
    (pasted && !natural()).then(|| {
        (
            ErrorCode::InvalidParam,
            "new_string contains the line numbers of Read; give the text without them".to_owned(),
        )
    })
}

fn explain(target: &Target, text: &str, edit: &TextEdit, refusal: &Refusal) -> (ErrorCode, String) {
    let shown = &target.shown;
    match refusal {
        Refusal::NoOp => (
            ErrorCode::InvalidParam,
            "old_string and new_string are the same: nothing would change".to_owned(),
        ),
        Refusal::EmptyOld => {
            (ErrorCode::InvalidParam, "old_string is empty; that is only for creating a file".to_owned())
        }
        Refusal::Ambiguous { lines, more, rung } => {
            let list = list_lines(lines);
            let how = if *rung == MatchLevel::Exact { "occurs" } else { "occurs (white space aside)" };
            let count = if *more { format!("more than {}", lines.len()) } else { lines.len().to_string() };
            (
                ErrorCode::InvalidParam,
                format!(
                    "old_string {how} {count} times in {shown}, at {list}. Add lines around it until it is unique, or \
                     set replace_all"
                ),
            )
        }
        Refusal::AlreadyApplied { line } => (
            ErrorCode::Conflict,
            format!("its new_string already stands at line {line} of {shown}: it is done, leave it out"),
        ),
        Refusal::Unshiftable { new_line, line } => (
            ErrorCode::InvalidParam,
            format!(
                "the block at line {line} of {shown} is indented less than old_string, but this line of new_string \
                 cannot be moved left as far: `{}`. Copy the indentation from the file",
                elide(&visible(new_line), 160)
            ),
        ),
        Refusal::NotFound => (
            ErrorCode::NotFound,
            format!("old_string was not found in {shown}: {}", diagnose::not_found(text, edit.old)),
        ),
    }
}

/// `line 3`, `lines 3, 9, 12`.
pub fn list_lines(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
    let more = if lines.len() > 10 { ", …" } else { "" };
    format!("{} {}{more}", if lines.len() == 1 { "line" } else { "lines" }, shown.join(", "))
}

/// Turns the new text into bytes of the file's own encoding.
///
/// # Errors
/// `INVALID_PARAM` when the encoding has no such character.
pub fn finish(
    target: Target,
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
            "the file would have {}",
            human_bytes(after_bytes.len() as u64)
        )));
    }
    if after.contains('\0') {
        return Err(ToolError::invalid("the new text contains a NUL character; text files cannot"));
    }
    Ok(Intent::Change(Box::new(PlannedChange { target, before, after, after_bytes, applied })))
}

/// Writes a plan and answers; the model then knows the new content.
///
/// # Errors
/// What the disk refuses; the file is then as it was.
pub fn commit(cx: &ToolCx, plan: PlannedChange) -> Result<Envelope, ToolError> {
    let PlannedChange { target, before, after, after_bytes, applied } = plan;
    let path = &target.resolved.canonical;
    let made = make_folders(path).map_err(|error| refused(cx, &target, &error))?;
    if let Some(journal) = &cx.journal {
        let old = before.as_ref().map(|loaded| loaded.bytes.as_slice());
        journal.before_write(
            if applied.is_empty() { "Write" } else { "Edit" },
            path,
            &made,
            old,
            &after_bytes,
        );
    }
    let expect = before.as_ref().map_or(Expect::Missing, |loaded| Expect::Bytes(&loaded.bytes));
    if let Err(error) = atomic_write::write(path, &after_bytes, expect) {
        for folder in made.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
        return Err(match error {
            FileError::NotFound => ToolError::model(
                ErrorCode::NotFound,
                format!("{} has vanished since you read it (deleted or moved)", target.shown),
            ),
            error => refused(cx, &target, &error),
        });
    }
    cx.files.saw(path, file::hash(&after_bytes), &after_bytes);
    let shown = &target.shown;
    let replacements: usize = applied.iter().map(|(lines, _)| lines.len()).sum();
    let text = match (&before, applied.as_slice()) {
        (None, _) => format!("Created {shown} ({})", plural(after.lines().count(), "line")),
        (Some(_), []) => format!("Wrote {shown} ({})", plural(after.lines().count(), "line")),
        (Some(_), [(lines, rung)]) => {
            let note = rung.note().map_or(String::new(), |note| format!("; {note}"));
            format!("Edited {shown}: {} ({}){note}", plural(replacements, "replacement"), list_lines(lines))
        }
        (Some(_), edits) => {
            let notes: Vec<String> = edits
                .iter()
                .enumerate()
                .filter_map(|(index, (_, rung))| Some(format!("; edit {} {}", index + 1, rung.note()?)))
                .collect();
            format!(
                "Edited {shown}: {}, {}{}",
                plural(edits.len(), "edit"),
                plural(replacements, "replacement"),
                notes.concat()
            )
        }
    };
    let old = before.as_ref().map_or(String::new(), |loaded| encoding::shown(&loaded.text, loaded.encoding));
    let encoding = before.as_ref().map_or(Encoding::Utf8, |loaded| loaded.encoding);
    let mut envelope = Envelope::success(text)
        .with("path", shown.as_str())
        .with("applied", true)
        .with("operation", if before.is_none() { "create" } else { "update" })
        .with("hash", file::hash(&after_bytes))
        .with("diff", unified(shown, &old, &encoding::shown(&after, encoding)));
    if !applied.is_empty() {
        envelope = envelope.with("replacements", replacements);
    }
    Ok(envelope)
}

/// Makes the missing folders above `path`; returns those it made, outermost first.
fn make_folders(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut missing: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| std::fs::symlink_metadata(folder).is_err())
        .map(Path::to_path_buf)
        .collect();
    missing.reverse();
    for (index, folder) in missing.iter().enumerate() {
        match std::fs::create_dir(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                for made in missing[..index].iter().rev() {
                    let _ = std::fs::remove_dir(made);
                }
                return Err(match FileError::from(error) {
                    FileError::NotFound => FileError::Unable("the folder above cannot be made".to_owned()),
                    error => error,
                });
            }
        }
    }
    Ok(missing)
}

/// What an approval shows: the diff, or that nothing can come of it.
pub fn preview(intent: Result<Intent, ToolError>) -> Preview {
    match intent {
        Ok(Intent::Change(plan)) => {
            let encoding = plan.before.as_ref().map_or(Encoding::Utf8, |loaded| loaded.encoding);
            let old = plan.before.as_ref().map_or("", |loaded| &loaded.text);
            let show = |text: &str| encoding::shown(text, encoding);
            Preview::Diff(unified(&plan.target.shown, &show(old), &show(&plan.after)))
        }
        Ok(Intent::Nothing(envelope)) => Preview::Vain(Ok(envelope)),
        Err(error) => Preview::Vain(Err(error)),
    }
}

/// Carries out an intent, holding off other changes from before the file was read: pass the planning in.
///
/// # Errors
/// Those of the plan and of [`commit`].
pub fn carry_out(
    cx: &ToolCx,
    plan: impl FnOnce(&ToolCx) -> Result<Intent, ToolError>,
) -> Result<Envelope, ToolError> {
    let _alone = cx.files.exclusive();
    match plan(cx)? {
        Intent::Change(plan) => commit(cx, *plan),
        Intent::Nothing(envelope) => Ok(envelope),
    }
}

/// A unified diff with three lines of context.
pub fn unified(shown: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(Duration::from_millis(500)).diff_lines(old, new);
    let mut text = diff
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{shown}"), &format!("b/{shown}"))
        .to_string();
    if text.len() > DIFF_BYTES {
        let cut = floor_boundary(&text, DIFF_BYTES);
        // Whole lines, and how many are missing: nobody may take the rest for all there is.
        let cut = text[..cut].rfind('\n').map_or(cut, |feed| feed + 1);
        let missing = DiffCut::of(&text[cut..]).line();
        text = format!("{}\n{missing}\n", text[..cut].trim_end_matches('\n'));
    }
    text
}
