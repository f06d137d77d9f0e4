//! Edit: one replacement in one file. Where it belongs is decided in `match_edit`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::change;
use crate::config::prompts;
use crate::model::envelope::Envelope;
use crate::policy::access::Access;
use crate::tool::api::{Preview, ToolError, TypedTool};
use crate::tool::cx::ToolCx;
use crate::tool::file::matching::match_edit;
use crate::tool::paths::{blocking, target, title_path};

#[derive(Deserialize)]
pub struct Args {
    /// Models trained elsewhere say `file_path`.
    #[serde(alias = "file_path")]
    path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

impl Args {
    fn edit(&self) -> match_edit::TextEdit<'_> {
        match_edit::TextEdit { old: &self.old_string, new: &self.new_string, replace_all: self.replace_all }
    }
}

pub struct Edit;

impl TypedTool for Edit {
    type Args = Args;
    const NAME: &'static str = "Edit";

    fn description(&self) -> &'static str {
        prompts::TOOL_EDIT
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean"}
            },
            "required": ["path", "old_string", "new_string"]
        })
    }

    fn access(&self, args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Write(target(cx, &args.path)?.resolved.canonical)])
    }

    fn title(&self, args: &Args) -> String {
        format!("Edit {}", title_path(&args.path))
    }

    fn preview(&self, args: &Args, cx: &ToolCx) -> Preview {
        change::preview(change::plan_edits(cx, &args.path, &[args.edit()]))
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        blocking(cx, move |cx| change::carry_out(cx, |cx| change::plan_edits(cx, &args.path, &[args.edit()])))
            .await
    }
}
