//! Glob: files by name pattern, newest first.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::base::path::{display, on_one_line};
use crate::base::text::{one_line, plural};
use crate::config::prompts;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::policy::access::Access;
use crate::search::glob;
use crate::search::walk::Walk;
use crate::tool::api::{ToolError, TypedTool};
use crate::tool::cx::ToolCx;
use crate::tool::paths::{Target, blocking, closed_folders, refused, target};

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1_000;
const MAX_PATTERN_BYTES: usize = 4_096;

#[derive(Deserialize)]
pub struct Args {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

impl Args {
    /// The folder to search and the pattern below it: leading folders of the pattern belong to the folder.
    fn split(&self, cx: &ToolCx) -> Result<(Target, &str), ToolError> {
        let path = self.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
        let (base, rest) = glob::split_base(self.pattern.trim_start_matches("./"));
        let folder = match base {
            "" => path.to_owned(),
            base if base.starts_with(['/', '~']) => base.to_owned(),
            base => format!("{path}/{base}"),
        };
        Ok((target(cx, &folder)?, rest))
    }
}

pub struct Glob;

impl TypedTool for Glob {
    type Args = Args;
    const NAME: &'static str = "Glob";
    const READ_ONLY: bool = true;

    fn description(&self) -> &'static str {
        prompts::TOOL_GLOB
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "path": {"type": "string"},
                "limit": {"type": "integer"}
            },
            "required": ["pattern"]
        })
    }

    fn access(&self, args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Read(args.split(cx)?.0.resolved.canonical)])
    }

    fn title(&self, args: &Args) -> String {
        let place = args.path.as_deref().map_or(String::new(), |path| format!(" in {path}"));
        one_line(&format!("Glob {}{place}", args.pattern), 120)
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        blocking(cx, move |cx| search(cx, &args)).await
    }
}

fn search(cx: &ToolCx, args: &Args) -> Result<Envelope, ToolError> {
    if args.pattern.trim().is_empty() {
        return Err(ToolError::invalid("pattern is empty; all files are **/*"));
    }
    if args.pattern.len() > MAX_PATTERN_BYTES {
        return Err(ToolError::invalid("pattern is longer than any path"));
    }
    let (target, rest) = args.split(cx)?;
    let root = &target.resolved.canonical;
    let meta = std::fs::metadata(root).map_err(|error| refused(cx, &target, &error.into()))?;
    if !meta.is_dir() {
        return Err(ToolError::invalid(format!("{} is a file, not a folder to search", target.shown)));
    }
    let whole = rest == args.pattern.trim_start_matches("./");
    let pattern = if rest.is_empty() { "*" } else { rest };
    let matcher = glob::matcher(pattern, whole).map_err(|error| {
        ToolError::invalid(format!("the pattern {} is not a valid glob: {error}", args.pattern))
    })?;
    let limit = args
        .limit
        .filter(|&limit| limit > 0)
        .unwrap_or(DEFAULT_LIMIT.min(cx.observation.lines / 2))
        .min(MAX_LIMIT);
    let walk = Walk::new(root).hidden_if_named(pattern);
    let found = glob::search(&walk, &matcher, limit, || cx.cancel.is_cancelled());
    if cx.cancel.is_cancelled() {
        return Err(ToolError::model(ErrorCode::Interrupted, "interrupted"));
    }
    let paths = |paths: &[std::path::PathBuf]| {
        paths.iter().map(|path| on_one_line(&display(&cx.root, path))).collect::<Vec<_>>().join("\n")
    };
    let mut notes = Vec::new();
    if found.total == 0 {
        notes.push(format!(
            "no file matches {pattern} in {} (hidden and git-ignored files are not searched)",
            target.shown
        ));
        if !found.folders.is_empty() {
            notes.push(format!("folders that match: {}", paths(&found.folders).replace('\n', ", ")));
        }
    } else if found.files.len() < found.total {
        notes.push(format!(
            "the newest {} of {}; narrow the pattern or raise limit",
            found.files.len(),
            plural(found.total, "file")
        ));
    }
    if found.closed > 0 {
        notes.push(closed_folders(found.closed));
    }
    if found.incomplete {
        notes.push("the search was cut short: too many files".to_owned());
    }
    let mut envelope = Envelope::success(notes.join("; "))
        .with("pattern", args.pattern.as_str())
        .with("path", target.shown.as_str())
        .with("total", found.total)
        .with_body("paths", paths(&found.files));
    if found.incomplete {
        envelope = envelope.partial();
    }
    Ok(envelope)
}
