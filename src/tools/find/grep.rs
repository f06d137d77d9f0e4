//! Grep: lines that match a regular expression, grouped by file to save tokens.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;

use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool, object};
use crate::cx::ToolCx;
use crate::paths::{PathTarget, disk_error, folder_or_root, look, read_access, read_at, skipped_folders};
use base::file;
use base::model::envelope::Envelope;
use base::model::observation::{Observation, Search};
use base::path::{display, on_one_line};
use base::search::glob;
use base::search::grep::{self, GrepMatches, GrepQuery};
use base::search::walk::Walk;
use base::text::{elide, one_line, plural};
use guard::policy::access::Access;

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;
const MAX_CONTEXT: usize = 100;

#[derive(Deserialize)]
pub struct Args {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    context: Option<usize>,
    limit: Option<usize>,
    #[serde(default)]
    output_mode: OutputMode,
}

/// Not in the schema that the model sees, but some models use it to request less.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    Content,
    FilesWithMatches,
    Count,
}

pub struct Grep;

impl TypedTool for Grep {
    type Args = Args;
    const NAME: &'static str = "Grep";
    const ARGUMENTS: &'static str =
        "pattern, path?, include?, ignore_case? boolean, context? integer, limit? integer";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> = ToolWork::Blocking(|args, cx| {
        read_at(cx, folder_or_root(args.path.as_deref()), |at| search(cx, at, args))
    });

    fn accepted() -> Value {
        object(&format!("{}, output_mode? content|files_with_matches|count", Self::ARGUMENTS))
    }

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        read_access(cx, folder_or_root(args.path.as_deref()))
    }

    fn title(args: &Args) -> String {
        let place = args.path.as_deref().map_or(String::new(), |path| format!(" in {path}"));
        one_line(&format!("Grep {}{place}", args.pattern), 120)
    }
}

fn search(cx: &ToolCx, target: &PathTarget, args: &Args) -> ToolOutcome {
    if args.pattern.is_empty() {
        return Err(ToolError::invalid("pattern is empty"));
    }
    let root = &target.resolved.canonical;
    let meta = look(cx, target)?;
    if !meta.is_dir() {
        file::check_kind(&meta).map_err(|error| disk_error(cx, target, &error))?;
    }
    let mut read_as = None;
    let matcher = grep::matcher(&args.pattern, args.ignore_case).or_else(|error| {
        let literal = literal(&args.pattern).ok_or_else(|| invalid_pattern(&args.pattern, &error))?;
        grep::matcher(&read_as.insert(literal).pattern, args.ignore_case).map_err(ToolError::invalid)
    })?;
    let include = match args.include.as_deref().filter(|include| !include.is_empty()) {
        Some(include) => Some(glob::matcher(include, true).map_err(|error| {
            ToolError::invalid(format!("include {include} is not a valid glob: {error}"))
        })?),
        None => None,
    };
    let limit = cx.observation.rows(args.limit, DEFAULT_LIMIT, MAX_LIMIT);
    let (context, per_file) = match args.output_mode {
        OutputMode::Content => (args.context.unwrap_or(0).min(MAX_CONTEXT), limit),
        _ => (0, 1),
    };
    let mut query = GrepQuery { matcher, include, context, limit, per_file };
    let walk = Walk::new(root).hidden_if_named(args.include.as_deref().unwrap_or(""));
    let stopped = || cx.cancel.is_cancelled();
    let mut found = grep::search(&walk, &query, stopped);
    if found.total_matches == 0 && !found.incomplete && read_as.is_none() {
        for reading in readings(&args.pattern) {
            let Ok(matcher) = grep::matcher(&reading.pattern, args.ignore_case) else { continue };
            query.matcher = matcher;
            found = grep::search(&walk, &query, stopped);
            let done = found.total_matches > 0 || found.incomplete;
            read_as = Some(reading);
            if done {
                break;
            }
        }
    }
    let mut other_case = 0;
    if found.total_matches == 0 && !found.incomplete && !args.ignore_case && read_as.is_none() {
        query.matcher = grep::matcher(&args.pattern, true).map_err(ToolError::invalid)?;
        let hits = grep::search(&walk, &query, stopped).files;
        let shown = hits.iter().filter(|(path, _)| !cx.denied.hides(path));
        other_case = shown.map(|(_, hits)| hits.matches).sum();
    }
    if cx.cancel.is_cancelled() {
        return Err(ToolError::interrupted());
    }
    if !cx.denied.is_empty() {
        found.files.retain(|path, _| !cx.denied.hides(path));
        found.total_matches = found.files.values().map(|hits| hits.matches).sum();
    }
    let mut envelope = report(cx, args, target, &query, &found, read_as.as_ref());
    if other_case > 0 {
        envelope.text.push_str(&format!("; {} with ignore_case", plural(other_case, "match")));
    }
    Ok(envelope)
}

const MAX_LITERAL_BYTES: usize = 300;

/// Treats an unclosed bracket as in `foo(` literally, and braces that aren't counts.
fn literal(pattern: &str) -> Option<Reading> {
    let braces = rewritten(pattern, |c, escaped| !escaped && "{}".contains(c));
    if braces != pattern && grep::matcher(&braces, false).is_ok() {
        return Some(Reading { pattern: braces, why: BRACKETS });
    }
    let plain = pattern.len() <= MAX_LITERAL_BYTES
        && !pattern.contains(['\\', '\n', '|', '*', '+'])
        && !pattern.contains("(?");
    plain.then(|| Reading { pattern: regex::escape(pattern), why: "it is not a regular expression" })
}

fn invalid_pattern(pattern: &str, error: &str) -> ToolError {
    // The engine's message has several lines; only the last one gives the reason.
    let reason = error.lines().last().unwrap_or(error).trim();
    let reason = elide(reason.strip_prefix("error: ").unwrap_or(reason), 300);
    let literal = elide(&regex::escape(pattern), 300);
    let valid = |reading: &Reading| grep::matcher(&reading.pattern, false).is_ok();
    let meant = readings(pattern).into_iter().find(valid).filter(|_| pattern.contains(r"\|"));
    let hint = if let Some(Reading { pattern, why }) = meant {
        format!("{why}: use {}", elide(&pattern, 300))
    } else if pattern.contains("\\n") || pattern.contains('\n') {
        "Patterns match within one line: search for one line and set context".to_owned()
    } else if pattern.contains("(?=") || pattern.contains("(?!") || pattern.contains("(?<") {
        "For look-around and back-references use `grep -P` in Bash".to_owned()
    } else {
        format!("To search for the literal text, use {literal}")
    };
    ToolError::invalid(format!("the pattern is not a valid regular expression: {reason}. {hint}"))
}

fn report(
    cx: &ToolCx,
    args: &Args,
    target: &PathTarget,
    query: &GrepQuery,
    found: &GrepMatches,
    read_as: Option<&Reading>,
) -> Envelope {
    let mut body = String::new();
    // Lines, or files if only those were requested.
    let mut shown = 0;
    // Lower than the general output limit.
    let room = cx.observation.bytes / 25 * 24 - 1_024;
    'files: for (path, hits) in &found.files {
        let name = on_one_line(&display(&cx.root, path));
        if args.output_mode != OutputMode::Content {
            if shown == query.limit || body.len() > room {
                break;
            }
            let _ = match args.output_mode {
                OutputMode::Count => writeln!(body, "{name}:{}", hits.matches),
                _ => writeln!(body, "{name}"),
            };
            shown += 1;
            continue;
        }
        let mut last = None;
        let mut named = false;
        for line in &hits.lines {
            if line.is_match && shown == query.limit || body.len() > room {
                break 'files;
            }
            if !named {
                let _ = writeln!(body, "{name}");
                named = true;
            }
            if query.context > 0 && last.is_some_and(|last| line.number > last + 1) {
                body.push_str("--\n");
            }
            let mark = if line.is_match { ':' } else { '-' };
            let _ = writeln!(body, "{}{mark}{}", line.number, line.text);
            shown += usize::from(line.is_match);
            last = Some(line.number);
        }
    }
    body.truncate(body.trim_end_matches('\n').len());
    let matches = plural(found.total_matches, "match");
    let files = plural(found.total_files, "file");
    let mut notes = Vec::new();
    if found.total_matches == 0 {
        let include =
            args.include.as_deref().map_or(String::new(), |include| format!(" with names like {include}"));
        notes.push(format!(
            "no match for {} in {} ({}{include} searched; hidden, git-ignored and binary files are skipped)",
            elide(&args.pattern, 300),
            target.shown,
            plural(found.searched, "file")
        ));
    } else if args.output_mode == OutputMode::Content && shown < found.total_matches {
        notes.push(format!("the first {shown} of {matches} in {files}; narrow the search or raise limit"));
    } else if args.output_mode != OutputMode::Content && shown < found.total_files {
        notes.push(format!("the first {shown} of {files} ({matches}); narrow the search or raise limit"));
    } else {
        notes.push(format!("{matches} in {files}"));
    }
    if let Some(Reading { pattern, why }) = read_as {
        let (given, meant) = (elide(&args.pattern, 300), elide(pattern, 300));
        match &mut notes[0] {
            note if found.total_matches > 0 => {
                *note = format!("nothing matches {given}: {why}. These are for {meant}: {note}");
            }
            note if given.contains(r"\|") => {
                note.push_str(&format!("; {why}, but {meant} matches nothing either"));
            }
            _ => {}
        }
    }
    if found.failed > 0 {
        notes.push(format!(
            "{} could not be searched (no permission, or lines too long)",
            plural(found.failed, "file")
        ));
    }
    if found.closed > 0 {
        notes.push(skipped_folders(found.closed));
    }
    if found.incomplete {
        notes.push("stopped early: too much to search; narrow path or include".to_owned());
    }
    Envelope::success(notes.join("; "))
        .observed(Observation::Search(Search {
            pattern: Some(args.pattern.clone()),
            path: Some(target.shown.clone()),
            total_matches: Some(found.total_matches as u64),
            total_files: Some(found.total_files as u64),
            shown: Some(shown as u64),
            ..Search::default()
        }))
        .with_body("matches", body)
        .partial_if(found.incomplete)
}

#[derive(Debug, PartialEq, Eq)]
struct Reading {
    pattern: String,
    why: &'static str,
}

const BAR: &str = r"\| is a literal bar in this syntax, | alone means or";
const BASIC: &str = r"in this syntax ( ) { } + ? | are operators as they stand and letters after a backslash";
const BRACKETS: &str = r"( ) [ ] { } are operators unless a backslash precedes them";
const LETTERS: &str = r". * + ? ^ $ and brackets are operators unless a backslash precedes them";

/// Other readings of a pattern without matches, most likely first: grep syntax (`\|` means or) or plain text.
fn readings(pattern: &str) -> Vec<Reading> {
    let reading = |pattern, why| Reading { pattern, why };
    let without_bars = rewritten(pattern, |c, escaped| escaped && c == '|');
    let mut readings = if without_bars != pattern {
        vec![reading(without_bars, BAR), reading(rewritten(pattern, |c, _| "(){}+?|".contains(c)), BASIC)]
    } else {
        vec![
            reading(rewritten(pattern, |c, escaped| !escaped && "()[]{}".contains(c)), BRACKETS),
            reading(regex::escape(pattern), LETTERS),
        ]
    };
    readings.retain(|reading| reading.pattern != pattern);
    readings.dedup_by(|a, b| a.pattern == b.pattern);
    readings
}

/// Toggles a backslash before the characters that `wanted` accepts.
fn rewritten(pattern: &str, wanted: impl Fn(char, bool) -> bool) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some(next)) if wanted(next, true) => out.push(next),
            ('\\', Some(next)) => out.extend(['\\', next]),
            (c, _) if wanted(c, false) => out.extend(['\\', c]),
            (c, _) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_read_otherwise() {
        let read =
            |pattern: &str| readings(pattern).into_iter().map(|found| found.pattern).collect::<Vec<_>>();
        assert_eq!(read(r"a\|b"), ["a|b"]);
        assert_eq!(read(r"f(\|g\.h("), [r"f(|g\.h(", r"f\(|g\.h\("]);
        assert_eq!(read(r"\(a\)\|b+"), [r"\(a\)|b+", r"(a)|b\+"]);
        assert_eq!(read("a[0].b(x)"), [r"a\[0\].b\(x\)", r"a\[0\]\.b\(x\)"]);
        assert_eq!(read("$x"), [r"\$x"]);
        assert_eq!(read(r"a\\|b"), [r"a\\\\\|b"], "a backslash, or b");
        assert!(read("plain").is_empty());
    }
}
