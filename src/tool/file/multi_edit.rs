//! MultiEdit: several replacements in one file, in order, all or nothing.

use serde::Deserialize;
use serde_json::{Value, json};

use super::change;
use crate::config::prompts;
use crate::model::envelope::Envelope;
use crate::policy::access::Access;
use crate::tool::api::{Preview, ToolError, TypedTool};
use crate::tool::cx::ToolCx;
use crate::tool::file::matching::match_edit::TextEdit;
use crate::tool::paths::{blocking, target, title_path};

#[derive(Deserialize)]
struct One {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

#[derive(Deserialize)]
pub struct Args {
    /// Models trained elsewhere say `file_path`.
    #[serde(alias = "file_path")]
    path: String,
    edits: Vec<One>,
}

impl Args {
    fn edits(&self) -> Vec<TextEdit<'_>> {
        self.edits
            .iter()
            .map(|one| TextEdit { old: &one.old_string, new: &one.new_string, replace_all: one.replace_all })
            .collect()
    }
}

pub struct MultiEdit;

impl TypedTool for MultiEdit {
    type Args = Args;
    const NAME: &'static str = "MultiEdit";

    fn description(&self) -> &'static str {
        prompts::TOOL_MULTI_EDIT
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "edits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "old_string": {"type": "string"},
                        "new_string": {"type": "string"},
                        "replace_all": {"type": "boolean"}
                    },
                    "required": ["old_string", "new_string"]
                }}
            },
            "required": ["path", "edits"]
        })
    }

    fn access(&self, args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(target(cx, &args.path)?.resolved.canonical)])
    }

    fn title(&self, args: &Args) -> String {
        format!("MultiEdit {} ({})", title_path(&args.path), args.edits.len())
    }

    fn preview(&self, args: &Args, cx: &ToolCx) -> Preview {
        change::preview(change::plan_edits(cx, &args.path, &args.edits()))
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        blocking(cx, move |cx| change::carry_out(cx, |cx| change::plan_edits(cx, &args.path, &args.edits())))
            .await
    }
}
