//! Locate: the files that a task is about, ranked, in one call. The ranking is the evidence floor's; this tool only shows it.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::base::path::on_one_line;
use crate::base::text::one_line;
use crate::config::prompts;
use crate::evidence::categorize::Role;
use crate::evidence::rank::locate::RankedFile;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::policy::access::Access;
use crate::tool::api::{ToolError, TypedTool};
use crate::tool::cx::ToolCx;
use crate::tool::paths::blocking;

const DEFAULT_FILES: usize = 8;
const MAX_FILES: usize = 25;
/// Files that are shown with lines.
const WITH_LINES: usize = 5;
const LINES: usize = 3;

#[derive(Deserialize)]
pub struct Args {
    query: String,
    #[serde(default)]
    k: Option<usize>,
}

pub struct Locate;

impl TypedTool for Locate {
    type Args = Args;
    const NAME: &'static str = "Locate";
    const READ_ONLY: bool = true;

    fn description(&self) -> &'static str {
        prompts::TOOL_LOCATE
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"query": {"type": "string"}, "k": {"type": "integer"}},
            "required": ["query"]
        })
    }

    fn access(&self, _: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Read(cx.root.to_path_buf())])
    }

    fn title(&self, args: &Args) -> String {
        one_line(&format!("Locate {}", args.query), 120)
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        blocking(cx, move |cx| locate(cx, &args)).await
    }
}

fn locate(cx: &ToolCx, args: &Args) -> Result<Envelope, ToolError> {
    if args.query.trim().is_empty() {
        return Err(ToolError::invalid("query is empty"));
    }
    let Some(desk) = &cx.evidence else {
        return Err(ToolError::model(ErrorCode::ExecutionError, "there is no index here; use Grep and Glob"));
    };
    let limit = args.k.filter(|&k| k > 0).unwrap_or(DEFAULT_FILES).min(MAX_FILES);
    let hits = desk.locate(&args.query, limit).map_err(|error| {
        ToolError::model(ErrorCode::ExecutionError, format!("{error}; use Grep and Glob"))
    })?;
    if hits.is_empty() {
        return Ok(Envelope::success("nothing here fits; try other words").with("total", 0));
    }
    let mut body = String::new();
    for (place, (hit, role)) in hits.iter().enumerate() {
        show(&mut body, place, hit, *role);
    }
    let files: Vec<&str> = hits.iter().map(|(hit, _)| hit.path.as_str()).collect();
    Ok(Envelope::success("")
        .with("query", one_line(&args.query, 200))
        .with("paths", files)
        .with_body("content", body))
}

fn show(body: &mut String, place: usize, hit: &RankedFile, role: Role) {
    let mark = if role == Role::Modify { "" } else { " (to read)" };
    let _ = writeln!(
        body,
        "{}{mark}: {}",
        on_one_line(&hit.path),
        hit.reasons().into_iter().take(2).collect::<Vec<_>>().join(", ")
    );
    if place < WITH_LINES {
        for (number, line) in hit.lines.iter().take(LINES) {
            let _ = writeln!(body, "  {number}: {line}");
        }
    }
}
