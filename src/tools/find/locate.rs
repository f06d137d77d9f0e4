//! Locate: ranked files relevant to a task, in one call. `evidence` ranks; this only formats.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use base::model::envelope::Envelope;
use base::model::observation::{Observation, Search};
use base::path::on_one_line;
use base::text::one_line;
use evidence::categorize::FileCategory;
use evidence::rank::locate::RankedFile;
use evidence::retriever::{ContextRetriever, LocatedFiles};
use evidence::terms::translate;
use guard::policy::access::Access;

const DEFAULT_FILES: usize = 8;
const MAX_FILES: usize = 25;
const WITH_LINES: usize = 5;
const LINES: usize = 3;
/// Lines shown of a file that is listed because of another file.
const LINES_BESIDE: usize = 1;

#[derive(Deserialize)]
pub struct Args {
    #[serde(default)]
    query: String,
    #[serde(default)]
    with: Vec<String>,
    k: Option<usize>,
}

pub struct Locate;

impl TypedTool for Locate {
    type Args = Args;
    const NAME: &'static str = "Locate";
    const ARGUMENTS: &'static str = "query?, with? strings, k? integer";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> = ToolWork::Blocking(locate);

    fn access(_: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(cx.roots().into_iter().map(Access::Read).collect())
    }

    fn title(args: &Args) -> String {
        let with = match args.with.as_slice() {
            [] => String::new(),
            with => format!(" with {}", with.join(", ")),
        };
        one_line(&format!("Locate {}{with}", args.query), 120)
    }
}

fn locate(args: &Args, cx: &ToolCx) -> ToolOutcome {
    if args.query.trim().is_empty() && args.with.is_empty() {
        return Err(ToolError::invalid("query is empty; say what to look for, or name files in `with`"));
    }
    let Some(retriever) = &cx.evidence else {
        return Err(ToolError::failed("this folder has no index; use Grep and Glob"));
    };
    let limit = args.k.filter(|&k| k > 0).unwrap_or(DEFAULT_FILES).min(MAX_FILES);
    if !args.with.is_empty() {
        return companions(args, retriever, limit, cx);
    }
    let mut files = retriever.locate(&args.query, limit).map_err(no_index)?.files;
    files.retain(|(file, _)| !cx.denied.hides(&cx.root.join(&file.path)));
    if files.is_empty() {
        let none = Observation::Search(Search { total: Some(0), ..Search::default() });
        return Ok(Envelope::success("No matching files; try other words").observed(none));
    }
    let mut body = String::new();
    for (rank, (file, role)) in files.iter().enumerate() {
        show(&mut body, rank, file, *role, LINES);
    }
    let paths = files.iter().map(|(file, _)| file.path.clone()).collect();
    let query = Some(one_line(&args.query, 200));
    let found = Search { query, paths: Some(paths), ..Search::default() };
    let note = translate::note(&args.query).unwrap_or_default();
    Ok(Envelope::success(note).observed(Observation::Search(found)).with_body("content", body))
}

/// Files related to those already being changed.
fn companions(args: &Args, retriever: &ContextRetriever, limit: usize, cx: &ToolCx) -> ToolOutcome {
    let LocatedFiles { mut files, unknown, .. } =
        retriever.companions(&args.with, &args.query, limit).map_err(no_index)?;
    files.retain(|(file, _)| !cx.denied.hides(&cx.root.join(&file.path)));
    let missing = format!("not in the index (hidden, ignored, or misspelled): {}", unknown.join(", "));
    if unknown.len() == args.with.len() {
        return Err(ToolError::not_found(missing));
    }
    let text = match (unknown.is_empty(), files.is_empty()) {
        (false, _) => missing,
        (true, true) => "No related files".to_owned(),
        (true, false) => String::new(),
    };
    let mut body = String::new();
    for (heading, beside) in [("Sources:", false), ("Tests and docs:", true)] {
        let mut listed =
            files.iter().filter(|(file, _)| file.kind.is_beside() == beside).enumerate().peekable();
        if listed.peek().is_some() {
            let _ = writeln!(body, "{heading}");
        }
        listed.for_each(|(rank, (file, role))| show(&mut body, rank, file, *role, LINES_BESIDE));
    }
    let paths = files.iter().map(|(file, _)| file.path.clone()).collect();
    let found = Search { with: Some(args.with.clone()), paths: Some(paths), ..Search::default() };
    Ok(Envelope::success(text).observed(Observation::Search(found)).with_body("content", body))
}

fn no_index(error: String) -> ToolError {
    ToolError::failed(format!("{error}; use Grep and Glob"))
}

fn show(body: &mut String, rank: usize, file: &RankedFile, role: FileCategory, lines: usize) {
    let mark = if role == FileCategory::Modify { "" } else { " (to read)" };
    let _ = writeln!(
        body,
        "{}{mark}: {}",
        on_one_line(&file.path),
        file.reasons().into_iter().take(2).collect::<Vec<_>>().join(", ")
    );
    if rank < WITH_LINES {
        for (number, line) in file.lines.iter().take(lines) {
            let _ = writeln!(body, "  {number}: {line}");
        }
    }
}
