//! Edit and MultiEdit: replacements in one file, in order, all or nothing. Both also accept a patch of several files, which
//! models trained with `apply_patch` send.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::change::{self, AppliedEdits, Intent};
use super::known::{self, Needs};
use super::patch::apply;
use crate::api::{Preview, ToolError, ToolWork, TypedTool, object};
use crate::cx::ToolCx;
use crate::file::matching::apply::apply as apply_edit;
use crate::file::matching::diagnose;
use crate::file::matching::lines::{Lines, visible};
use crate::file::matching::match_edit::{self, MatchLevel, Refusal, TextEdit};
use crate::paths::{PathTarget, change_access, existing_target, target, write_access};
use base::model::envelope::ErrorCode;
use base::path;
use base::text::{elide, short_path};
use guard::policy::access::Access;

#[derive(Deserialize)]
pub struct Replacement {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

#[derive(Deserialize)]
pub struct EditArgs {
    path: String,
    edits: Vec<Replacement>,
    /// A patch in V4A form instead of edits; its paths are relative to `directory`.
    patch: Option<String>,
    directory: Option<PathBuf>,
}

fn title(tool: &str, args: &EditArgs) -> String {
    let files = args.patch.as_deref().map(apply::title);
    format!("{tool} {}", short_path(files.as_deref().unwrap_or(&args.path), 120))
}

pub struct Edit;

impl TypedTool for Edit {
    type Args = EditArgs;
    const NAME: &'static str = "Edit";
    const ARGUMENTS: &'static str = "path, old_string, new_string, replace_all? boolean";
    const WORK: ToolWork<EditArgs> = ToolWork::Blocking(|args, cx| match &args.patch {
        Some(patch) => apply::carry_out(patch, args.directory.as_deref(), cx),
        None => change::carry_out(cx, || plan(args, cx)),
    });

    /// Both tools accept a single edit next to the path, a list of edits, or a patch.
    fn accepted() -> Value {
        object(&format!("{}, patch?, directory?", MultiEdit::ARGUMENTS))
    }

    fn access(args: &EditArgs, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        match &args.patch {
            Some(patch) => apply::access(patch, args.directory.as_deref(), cx),
            None if creates(args) => write_access(cx, &args.path),
            None => change_access(cx, &args.path),
        }
    }

    fn title(args: &EditArgs) -> String {
        title(Self::NAME, args)
    }

    fn preview(args: &EditArgs, cx: &ToolCx) -> Preview {
        match &args.patch {
            Some(patch) => apply::preview(patch, args.directory.as_deref(), cx),
            None => change::preview(plan(args, cx)),
        }
    }
}

pub struct MultiEdit;

impl TypedTool for MultiEdit {
    type Args = EditArgs;
    const NAME: &'static str = "MultiEdit";
    const ARGUMENTS: &'static str = "path, edits [old_string, new_string, replace_all? boolean]";
    const WORK: ToolWork<EditArgs> = Edit::WORK;

    fn accepted() -> Value {
        Edit::accepted()
    }

    fn access(args: &EditArgs, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Edit::access(args, cx)
    }

    fn title(args: &EditArgs) -> String {
        format!("{} ({})", title(Self::NAME, args), args.edits.len())
    }

    fn preview(args: &EditArgs, cx: &ToolCx) -> Preview {
        Edit::preview(args, cx)
    }
}

fn creates(args: &EditArgs) -> bool {
    args.edits.first().is_some_and(|edit| edit.old_string.is_empty())
}

fn plan(args: &EditArgs, cx: &ToolCx) -> Result<Intent, ToolError> {
    let target = if creates(args) { target(cx, &args.path)? } else { existing_target(cx, &args.path)? };
    let loaded = change::load(cx, &target)?;
    // A placeholder in the edit means the file's own secret.
    let file = loaded.as_ref().map_or("", |loaded| &loaded.text);
    let restored = args
        .edits
        .iter()
        .map(|edit| {
            let (old, new, replace_all) = (&*edit.old_string, &*edit.new_string, edit.replace_all);
            let (old, new) = known::edit_as_meant(cx, TextEdit { old, new, replace_all }, file)?;
            Ok((old, new, replace_all))
        })
        .collect::<Result<Vec<_>, ToolError>>()?;
    let edits: Vec<TextEdit> = restored
        .iter()
        .map(|(old, new, replace_all)| TextEdit { old, new, replace_all: *replace_all })
        .collect();
    let Some((first, rest)) = edits.split_first() else {
        return Err(ToolError::invalid("edits is empty"));
    };
    if first.old.is_empty() && loaded.as_ref().is_none_or(|file| file.bytes.is_empty()) {
        if first.new.is_empty() {
            return Err(ToolError::invalid("old_string and new_string are both empty: nothing to do"));
        }
        let (after, mut applied) = apply_all(cx, &target, first.new.to_owned(), rest, edits.len())?;
        applied.insert(0, (vec![1], MatchLevel::Exact));
        return change::finish(target, loaded, after, applied);
    }
    let Some(loaded) = loaded else { return Err(change::missing(cx, &target)) };
    if first.old.is_empty() {
        return Err(ToolError::conflict(format!(
            "{} exists and is not empty; an empty old_string only creates new files",
            target.shown
        )));
    }
    known::must_be_known(cx, &target, &loaded, Needs::Places(&edits))?;
    for edit in &edits {
        change::must_be_storable(&target, &loaded, edit.new)?;
    }
    let text = loaded.text_for(&edits);
    // If the same edits are sent again, saying that nothing is left to do breaks the loop.
    let already: Option<Vec<usize>> = edits
        .iter()
        .map(|edit| match apply_edit(&text, *edit) {
            Err(Refusal::AlreadyApplied { line }) => Some(line),
            _ => None,
        })
        .collect();
    if let Some(lines) = already {
        let text = format!("Nothing changed: already applied at line {} of {}", lines[0], target.shown);
        return Ok(Intent::Nothing(change::unchanged(&target, text, Some(0))));
    }
    let (after, applied) = apply_all(cx, &target, text, &edits, edits.len())?;
    let after = loaded.without_double_mark(after);
    if after == loaded.text {
        return Err(ToolError::invalid("nothing would change: the edits cancel each other out"));
    }
    change::finish(target, Some(loaded), after, applied)
}

fn apply_all(
    cx: &ToolCx,
    target: &PathTarget,
    mut text: String,
    edits: &[TextEdit],
    total: usize,
) -> Result<(String, AppliedEdits), ToolError> {
    let mut applied = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let done = if pastes_line_numbers(&text, edit) {
            Err((ErrorCode::InvalidParam, "new_string contains Read's line numbers; remove them".to_owned()))
        } else {
            match apply_edit(&text, *edit) {
                Err(Refusal::NoOp | Refusal::AlreadyApplied { .. }) if total > 1 => {
                    applied.push((Vec::new(), MatchLevel::Exact));
                    continue;
                }
                done => done.map_err(|refusal| explain(cx, target, &text, edit, &refusal)),
            }
        };
        let done = done.map_err(|(code, message)| match total {
            1 => ToolError::model(code, message),
            _ => {
                let number = total - edits.len() + index + 1;
                ToolError::model(code, format!("edit {number} of {total}: {message}. No edit was applied"))
            }
        })?;
        text = done.text;
        applied.push((done.lines, done.level));
    }
    Ok((text, applied))
}

fn pastes_line_numbers(text: &str, edit: &TextEdit) -> bool {
    let all = edit.new.lines().count() > 1
        && diagnose::is_numbered(edit.new)
        && !diagnose::is_numbered(edit.old)
        && !text.lines().any(diagnose::is_numbered);
    all || diagnose::has_pasted_line(text, edit.new)
}

fn explain(
    cx: &ToolCx,
    target: &PathTarget,
    text: &str,
    edit: &TextEdit,
    refusal: &Refusal,
) -> (ErrorCode, String) {
    let shown = &target.shown;
    let invalid = |message: String| (ErrorCode::InvalidParam, message);
    match refusal {
        Refusal::NoOp => invalid("old_string and new_string are the same: nothing would change".to_owned()),
        Refusal::EmptyOld => invalid("old_string is empty; that is only for creating a file".to_owned()),
        Refusal::Ambiguous { lines, more, level } => {
            let how = if *level == MatchLevel::Exact { "occurs" } else { "occurs (whitespace aside)" };
            let count = if *more { format!("more than {}", lines.len()) } else { lines.len().to_string() };
            invalid(format!(
                "old_string {how} {count} times in {shown}, at {}. Add surrounding lines until it is unique, or set \
                 replace_all{}",
                change::list_lines(lines),
                diagnose::told_apart(text, lines, edit.old.trim_end().lines().count())
            ))
        }
        Refusal::AlreadyApplied { line } => {
            (ErrorCode::Conflict, format!("already applied at line {line} of {shown}; omit it"))
        }
        Refusal::Unshiftable { new_line, line } => invalid(format!(
            "the block at line {line} of {shown} is indented less than old_string, but this line of new_string cannot \
             be moved left as far: `{}`. Copy the indentation from the file",
            elide(&visible(new_line), 160)
        )),
        Refusal::NotFound => (
            ErrorCode::NotFound,
            format!(
                "old_string was not found in {shown}{}: {}{}",
                elsewhere(cx, target, edit.old),
                diagnose::not_found(text, edit.old),
                diagnose::stands_at(text, edit.new).map_or(String::new(), |line| format!(
                    ". new_string is already at line {line}: if that is the place you mean, nothing is left to do there"
                ))
            ),
        ),
    }
}

/// Limits for searching other read files for a text that the target lacks: their number, and bytes of each.
const OTHER_FILES: usize = 40;
const OTHER_BYTES: u64 = 1024 * 1024;
/// A shorter text would be found in too many files.
const TELLING_CHARS: usize = 12;

/// Which other read file contains the text, in case the model named the wrong one.
fn elsewhere(cx: &ToolCx, target: &PathTarget, old: &str) -> String {
    let others = cx.files.latest().into_iter().filter(|path| *path != target.resolved.canonical);
    let found = others.take(OTHER_FILES).filter(|_| old.trim().len() >= TELLING_CHARS).find_map(|path| {
        let text = change::text_of(&path, OTHER_BYTES).ok()?;
        let line = match_edit::first_line(&Lines::new(&text), old)?;
        Some((path::display(&cx.root, &path), line + 1))
    });
    found.map_or(String::new(), |(name, line)| format!(", but it is in {name} at line {line}"))
}
