//! Write: a whole file at once. A file that exists must have been read; its encoding, its line ends and its mode stay.

use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{self, Intent, LoadedFile};
use crate::config::prompts;
use crate::model::envelope::Envelope;
use crate::policy::access::Access;
use crate::tool::api::{Preview, ToolError, TypedTool};
use crate::tool::cx::ToolCx;
use crate::tool::file::matching::splice;
use crate::tool::paths::{blocking, target, title_path};

#[derive(Deserialize)]
pub struct Args {
    /// Models trained elsewhere say `file_path`.
    #[serde(alias = "file_path")]
    path: String,
    content: String,
}

pub struct Write;

impl TypedTool for Write {
    type Args = Args;
    const NAME: &'static str = "Write";

    fn description(&self) -> &'static str {
        prompts::TOOL_WRITE
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"]
        })
    }

    fn access(&self, args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(target(cx, &args.path)?.resolved.canonical)])
    }

    fn title(&self, args: &Args) -> String {
        format!("Write {}", title_path(&args.path))
    }

    fn preview(&self, args: &Args, cx: &ToolCx) -> Preview {
        change::preview(plan(cx, args))
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        blocking(cx, move |cx| change::carry_out(cx, |cx| plan(cx, &args))).await
    }
}

fn plan(cx: &ToolCx, args: &Args) -> Result<Intent, ToolError> {
    if args.path.ends_with('/') {
        return Err(ToolError::invalid("path ends with '/': name a file; its folders are made on the way"));
    }
    let target = target(cx, &args.path)?;
    let loaded = change::load(cx, &target)?;
    let before = loaded.as_ref().map_or("", |loaded| &loaded.text);
    let content = cx.vault.restore(&args.content, before).map_err(ToolError::invalid)?.into_owned();
    let Some(loaded) = loaded else {
        return change::finish(target, None, content, Vec::new());
    };
    // An empty file has nothing to lose.
    if !loaded.bytes.is_empty() {
        change::must_be_known(cx, &target, &loaded)?;
    }
    change::can_hold(&target, &loaded, &content)?;
    let content = change::without_mark(&loaded, own_line_ends(&loaded, &content));
    if content == loaded.text {
        let text = format!("Nothing changed: {} has exactly this content already", target.shown);
        return Ok(Intent::Nothing(
            Envelope::success(text)
                .partial()
                .with("path", target.shown.as_str())
                .with("applied", false)
                .with("operation", "none"),
        ));
    }
    change::finish(target, Some(loaded), content, Vec::new())
}

/// Line by line the ends that the file has: the model cannot see them and writes LF. With carriage returns of its own, the
/// new content is meant to the letter.
fn own_line_ends(loaded: &LoadedFile, content: &str) -> String {
    if content.contains('\r') || !loaded.text.contains("\r\n") {
        return content.to_owned();
    }
    splice::with_ends_of(&loaded.text, content)
}
