//! Glob: files by name pattern, newest first.

use serde::Deserialize;

use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use crate::paths::{PathTarget, folder_or_root, look, skipped_folders, target};
use base::model::envelope::Envelope;
use base::model::observation::{Observation, Search};
use base::path::{display, on_one_line};
use base::search::glob;
use base::search::walk::Walk;
use base::text::{one_line, plural};
use guard::policy::access::Access;

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1_000;
const MAX_PATTERN_BYTES: usize = 4_096;

#[derive(Deserialize)]
pub struct Args {
    pattern: String,
    path: Option<String>,
    limit: Option<usize>,
}

impl Args {
    /// The folder to search, including the pattern's literal leading folders, and the remaining pattern.
    fn split(&self, cx: &ToolCx) -> Result<(PathTarget, &str), ToolError> {
        let path = folder_or_root(self.path.as_deref());
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
    const ARGUMENTS: &'static str = "pattern, path?, limit? integer";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> = ToolWork::Blocking(search);

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Read(args.split(cx)?.0.resolved.canonical)])
    }

    fn title(args: &Args) -> String {
        let place = args.path.as_deref().map_or(String::new(), |path| format!(" in {path}"));
        one_line(&format!("Glob {}{place}", args.pattern), 120)
    }
}

fn search(args: &Args, cx: &ToolCx) -> ToolOutcome {
    if args.pattern.trim().is_empty() {
        return Err(ToolError::invalid("pattern is empty; use **/* for all files"));
    }
    if args.pattern.len() > MAX_PATTERN_BYTES {
        return Err(ToolError::invalid("pattern is longer than any path"));
    }
    let (target, rest) = args.split(cx)?;
    let root = &target.resolved.canonical;
    let meta = look(cx, &target)?;
    if !meta.is_dir() {
        return Err(ToolError::invalid(format!("{} is a file; path must be a folder", target.shown)));
    }
    let whole = rest == args.pattern.trim_start_matches("./");
    let pattern = if rest.is_empty() { "*" } else { rest };
    let matcher = glob::matcher(pattern, whole).map_err(|error| {
        ToolError::invalid(format!("the pattern {} is not a valid glob: {error}", args.pattern))
    })?;
    let limit = cx.observation.rows(args.limit, DEFAULT_LIMIT, MAX_LIMIT);
    let walk = Walk::new(root).hidden_if_named(pattern);
    let found = glob::search(&walk, &matcher, limit, || cx.cancel.is_cancelled());
    if cx.cancel.is_cancelled() {
        return Err(ToolError::interrupted());
    }
    let paths = |paths: &[std::path::PathBuf]| {
        paths.iter().map(|path| on_one_line(&display(&cx.root, path))).collect::<Vec<_>>().join("\n")
    };
    let mut notes = Vec::new();
    if found.total == 0 {
        notes.push(format!(
            "no file matches {pattern} in {} (hidden and git-ignored files are skipped)",
            target.shown
        ));
        if !found.folders.is_empty() {
            notes.push(format!("matching folders: {}", paths(&found.folders).replace('\n', ", ")));
        }
    } else if found.files.len() < found.total {
        notes.push(format!(
            "the newest {} of {}; narrow the pattern or raise limit",
            found.files.len(),
            plural(found.total, "file")
        ));
    }
    if found.closed > 0 {
        notes.push(skipped_folders(found.closed));
    }
    if found.incomplete {
        notes.push("stopped early: too many files; narrow path".to_owned());
    }
    Ok(Envelope::success(notes.join("; "))
        .observed(Observation::Search(Search {
            pattern: Some(args.pattern.clone()),
            path: Some(target.shown.clone()),
            total: Some(found.total as u64),
            ..Search::default()
        }))
        .with_body("paths", paths(&found.files))
        .partial_if(found.incomplete))
}
