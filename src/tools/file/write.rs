//! Write: a complete file. An existing file must have been read; it keeps its encoding, line ends and mode.

use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Intent, LoadedFile};
use super::known::{self, Needs};
use crate::api::{Preview, ToolError, ToolWork, TypedTool, object};
use crate::cx::ToolCx;
use crate::file::matching::{apply, slips};
use crate::paths::{target, write_access};
use base::file;
use base::pattern::Pattern;
use base::text::{one_line, short_path};
use guard::policy::access::Access;

#[derive(Deserialize)]
pub struct Args {
    path: String,
    /// If missing, the content of the last refused call for this path.
    content: Option<String>,
}

pub struct Write;

impl TypedTool for Write {
    type Args = Args;
    const NAME: &'static str = "Write";
    const ARGUMENTS: &'static str = "path, content";
    const WORK: ToolWork<Args> = ToolWork::Blocking(|args, cx| {
        change::carry_out(cx, || plan(&args.path, args.content.as_deref(), cx))
    });

    fn accepted() -> Value {
        object("path, content?")
    }

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        write_access(cx, &args.path)
    }

    fn title(args: &Args) -> String {
        format!("Write {}", short_path(&args.path, 120))
    }

    fn preview(args: &Args, cx: &ToolCx) -> Preview {
        change::preview(plan(&args.path, args.content.as_deref(), cx))
    }
}

pub(crate) fn plan(path: &str, content: Option<&str>, cx: &ToolCx) -> Result<Intent, ToolError> {
    if path.ends_with('/') {
        return Err(ToolError::invalid("path ends with '/'; name a file (missing folders are created)"));
    }
    let target = target(cx, path)?;
    let loaded = change::load(cx, &target)?;
    let before = loaded.as_ref().map_or("", |loaded| &loaded.text);
    let now = loaded.as_ref().map(|loaded| file::hash(&loaded.bytes)).unwrap_or_default();
    let kept = content.is_none().then(|| cx.files.kept(&target.resolved.canonical, &now)).flatten();
    let is_given = content.is_some();
    let Some(content) = content.or(kept.as_deref()) else {
        return Err(ToolError::invalid("content is missing: send the complete file"));
    };
    let content = known::as_meant(cx, &slips::unfenced(path, content), before)?;
    let Some(loaded) = loaded else {
        return change::finish(target, None, content, Vec::new());
    };
    let known = match loaded.bytes.is_empty() {
        true => Ok(()),
        false => known::must_be_known(cx, &target, &loaded, Needs::Whole),
    };
    if let Some(line) = placeholder(&content, &loaded.text) {
        return Err(ToolError::invalid(format!(
            "the content says `{}`, but Write replaces the whole file. Nothing was written. Use Edit for the part that \
             changes, or write the file in full",
            one_line(line, 100)
        )));
    }
    if let Err(refused) = known {
        if is_given {
            cx.files.keep(&target.resolved.canonical, now, content);
        }
        return Err(refused);
    }
    change::must_be_storable(&target, &loaded, &content)?;
    let content = loaded.without_double_mark(own_line_ends(&loaded, &content));
    if content == loaded.text {
        let text = format!("Nothing changed: {} already has exactly this content", target.shown);
        return Ok(Intent::Nothing(change::unchanged(&target, text, None)));
    }
    change::finish(target, Some(loaded), content, Vec::new())
}

/// A line that only stands for omitted text, unless the file already contains it.
fn placeholder<'c>(content: &'c str, before: &str) -> Option<&'c str> {
    static STANDS_FOR: Pattern = Pattern::new(include_str!("stands_for.regex"));
    let shorter = content.len() < before.len() || content.lines().count() < before.lines().count();
    let lines = content.lines().filter(|line| STANDS_FOR.is_match(line));
    lines.filter(|_| shorter).find(|line| !before.lines().any(|known| known.trim() == line.trim()))
}

/// Keeps the file's line ends, which the model can't see. If the content has carriage returns, they are meant literally.
fn own_line_ends(loaded: &LoadedFile, content: &str) -> String {
    if content.contains('\r') || !loaded.text.contains("\r\n") {
        return content.to_owned();
    }
    apply::with_ends_of(&loaded.text, content)
}
