//! Checks before a change that the model has been shown what it changes, in whatever result.

use std::borrow::Cow;
use std::path::PathBuf;

use super::change::{LoadedFile, unified};
use crate::api::ToolError;
use crate::cx::ToolCx;
use crate::file::matching::lines::Lines;
use crate::file::matching::match_edit::{self, TextEdit};
use crate::file::matching::slips;
use crate::paths::PathTarget;
use base::folder::exact;
use base::format::encoding;
use base::text::elide;
use base::{file, sanitize};
use guard::redact::detector::TextSource;

const STALE_DIFF_LINES: usize = 40;

/// How much of a file the model must have seen to change it.
#[derive(Clone, Copy)]
pub(crate) enum Needs<'a> {
    Whole,
    Places(&'a [TextEdit<'a>]),
}

/// A refusal shows a file of up to this many lines, which then counts as read; of a longer one, only the places.
const SHOWN_LINES: usize = 300;
const SHOWN_BYTES: usize = 16 * 1024;
/// Secrets aren't taken from larger files.
const SECRET_BYTES: u64 = 1024 * 1024;
const AROUND: usize = 20;

/// For a Write the whole text, for an Edit the region. Otherwise fails; with `CONFLICT` if the file has changed.
pub(crate) fn must_be_known(
    cx: &ToolCx,
    target: &PathTarget,
    loaded: &LoadedFile,
    needs: Needs<'_>,
) -> Result<(), ToolError> {
    let shown = &target.shown;
    let now = file::hash(&loaded.bytes);
    let seen = cx.files.get(&target.resolved.canonical);
    let Some(seen) = seen.filter(|seen| seen.hash != now) else {
        return must_be_shown(cx, target, loaded, needs);
    };
    // After a change that the model knows, an old text that occurs exactly once is unambiguous.
    if let Needs::Places(edits) = needs
        && seen.knows(&now)
        && edits.iter().all(|edit| loaded.text.matches(edit.old).count() == 1)
    {
        return Ok(());
    }
    let diff = seen
        .snapshot
        .and_then(|bytes| encoding::decode(&bytes).ok())
        .map(|(before, _)| unified(shown, &before, &encoding::shown(&loaded.text, loaded.encoding)))
        .filter(|diff| !diff.is_empty());
    let lines: Vec<String> = diff
        .iter()
        .flat_map(|diff| diff.lines())
        .take(STALE_DIFF_LINES)
        .map(|line| elide(line, 200))
        .collect();
    let told = lines.join("\n");
    let (then, more) = match &diff {
        Some(diff) if diff.trim_end() == told && matches!(needs, Needs::Places(_)) => {
            cx.files.known_change(&target.resolved.canonical, &now);
            ("check this call against the change and repeat it", "")
        }
        _ => ("Read it again, then repeat this call", "\n…"),
    };
    let changes = diff.map(|_| format!(". What changed:\n{told}{more}")).unwrap_or_default();
    Err(ToolError::conflict(format!(
        "{shown} has changed on disk since you last saw it. Nothing was written; {then}{changes}"
    )))
}

fn must_be_shown(
    cx: &ToolCx,
    target: &PathTarget,
    loaded: &LoadedFile,
    needs: Needs<'_>,
) -> Result<(), ToolError> {
    let shown = &target.shown;
    let source = TextSource::of_file(&target.resolved.canonical);
    let readable = encoding::shown(&loaded.text, loaded.encoding);
    let clean = cx.redactor.redact(&readable, source);
    let (text, readable) = (Lines::new(&loaded.text), Lines::new(&readable));
    let is_shown = |from: usize, to: usize| {
        // Secrets were shown as placeholders, so only the whole text can be compared.
        let own = (from..to).map(|index| readable.content(index));
        cx.files.are_shown(own) || (clean != readable.text() && cx.files.are_shown(clean.lines()))
    };
    let known = cx.files.get(&target.resolved.canonical).is_some();
    let mut places: Vec<(usize, usize)> = Vec::new();
    match needs {
        Needs::Whole if is_shown(0, text.count()) => return Ok(()),
        Needs::Whole => {}
        Needs::Places(edits) => {
            // Several lines that occur exactly once are known, wherever they come from.
            let stands = |edit: &TextEdit<'_>| {
                edit.old.trim().contains('\n') && text.text().matches(edit.old).count() == 1
            };
            let is_known = |edit: &TextEdit<'_>| edit.old.is_empty() || known && stands(edit);
            for edit in edits.iter().filter(|edit| !is_known(edit)) {
                let found = match_edit::find(&text, edit.old, edit.replace_all);
                for place in found.iter().flat_map(|(_, matches)| matches) {
                    let last = text.line_of(place.end.saturating_sub(1).max(place.start));
                    places.push((text.line_of(place.start), last + 1));
                }
            }
            // If the text isn't found in a known file, the edit itself reports it.
            let can_tell = known || !places.is_empty();
            places.retain(|(from, to)| !is_shown(*from, *to));
            if places.is_empty() && can_tell {
                return Ok(());
            }
            places.sort_unstable();
        }
    }
    let clean = Lines::new(&clean);
    let rows = |from: usize, to: usize| {
        let rows =
            (from..to.min(clean.count())).map(|index| format!("{}\t{}", index + 1, clean.content(index)));
        rows.collect::<Vec<_>>().join("\n")
    };
    let whole = rows(0, clean.count());
    let what = if known { "was shown only in part" } else { "has not been read yet" };
    let room = SHOWN_BYTES.min(cx.observation.bytes);
    let (how, text) = if clean.count() <= SHOWN_LINES && whole.len() <= room {
        ("Here it is", whole)
    } else if places.is_empty() {
        let again = match needs {
            Needs::Whole => "Read it first. Your content is kept: Write with only the path then writes it",
            Needs::Places(_) => "Read it first, then send the call again",
        };
        let message = format!("{shown} {what}. Nothing was written; {again}");
        return Err(ToolError::invalid(message));
    } else {
        let parts = places.chunk_by(|one, next| next.0 <= one.1 + 2 * AROUND);
        let parts = parts.map(|of| {
            let last = of.iter().map(|place| place.1).max().unwrap_or_default();
            rows(of[0].0.saturating_sub(AROUND), last + AROUND)
        });
        ("Here is the place", elide(&parts.collect::<Vec<_>>().join("\n…\n"), room))
    };
    if !known {
        cx.files.saw(&target.resolved.canonical, file::hash(&loaded.bytes), &loaded.bytes);
    }
    let again = match needs {
        Needs::Whole => "Your content is kept: if it still fits, Write with only the path writes it",
        Needs::Places(_) => "Send the call again if it still fits",
    };
    Err(ToolError::invalid(format!(
        "{shown} {what}. Nothing was written. {how}, and it now counts as read. {again}\n{text}"
    )))
}

/// The model's text as the file has it: with its tags, and secrets in place of placeholders. Secrets can come from this file
/// or another file of the workspace that the model has seen, but never from a `.env` file into another one.
pub(crate) fn edit_as_meant(cx: &ToolCx, edit: TextEdit, file: &str) -> Result<(String, String), ToolError> {
    let (old, new) = (as_meant(cx, edit.old, file)?, as_meant(cx, edit.new, file)?);
    Ok(slips::mended(file, TextEdit { old: &old, new: &new, ..edit }))
}

pub(crate) fn as_meant(cx: &ToolCx, text: &str, file: &str) -> Result<String, ToolError> {
    let stands_in = |path: &PathBuf, secret: &str| {
        path.starts_with(&*cx.root)
            && TextSource::of_file(path) != TextSource::Dotenv
            && exact::read(path, SECRET_BYTES)
                .is_ok_and(|(bytes, _)| String::from_utf8_lossy(&bytes).contains(secret))
    };
    let may_move = |secret: &str| cx.files.latest().iter().any(|path| stands_in(path, secret));
    let text = sanitize::with_tags(text, file);
    cx.redactor.restore(&text, file, &may_move).map(Cow::into_owned).map_err(ToolError::invalid)
}
