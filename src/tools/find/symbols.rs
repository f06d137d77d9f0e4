//! Symbols: definitions and uses of a name, from the file's language server. Models know names and lines but
//! not columns, so the column is determined here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool, blocking};
use crate::cx::ToolCx;
use crate::file::change::text_of;
use crate::lsp::protocol::{self, CodePlace};
use crate::lsp::server::RunningServer;
use crate::lsp::servers::{NoServer, column};
use crate::paths::{folder_or_root, read_access, target};
use base::model::envelope::Envelope;
use base::model::observation::{Observation, Search};
use base::path::display;
use base::search::grep::{self, GrepQuery};
use base::search::walk::Walk;
use base::text::{elide, one_line, plural};
use guard::policy::access::Access;

const PLACES: usize = 50;
const MENTIONS: usize = 400;
const VIEW_LINES: usize = 12;
const LINE_CHARS: usize = 160;
const HOVER_CHARS: usize = 2_000;
const FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Time limits for a server to become ready, and for one answer.
const READY: Duration = Duration::from_secs(60);
const ANSWER: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Action {
    #[default]
    Definition,
    References,
    Hover,
}

#[derive(Deserialize)]
pub struct Args {
    #[serde(default)]
    action: Action,
    symbol: Option<String>,
    path: Option<String>,
    line: Option<u32>,
}

impl Args {
    fn symbol(&self) -> Option<&str> {
        self.symbol.as_deref().map(str::trim).filter(|name| !name.is_empty())
    }

    /// The last part of a name such as `Type::method` or `module.function`.
    fn last_name(&self) -> Option<&str> {
        self.symbol()
            .map(|name| name.rsplit([':', '.', '#', '/']).next().unwrap_or(name).trim_end_matches("()"))
    }
}

pub struct Symbols;

impl TypedTool for Symbols {
    type Args = Args;
    const NAME: &'static str = "Symbols";
    const ARGUMENTS: &'static str = "action? definition|references|hover, symbol?, path?, line? integer";
    const READ_ONLY: bool = true;
    const WORK: ToolWork<Args> = ToolWork::Async(|args, cx| {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => Err(ToolError::interrupted()),
                outcome = look(&args, cx) => outcome,
            }
        })
    });

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        read_access(cx, folder_or_root(args.path.as_deref()))
    }

    fn title(args: &Args) -> String {
        let action = format!("{:?}", args.action).to_lowercase();
        let place = args.path.as_deref().map_or(String::new(), |path| format!(" in {path}"));
        one_line(&format!("Symbols {action} {}{place}", args.symbol().unwrap_or("")), 120)
    }
}

struct OpenFile {
    server: Arc<RunningServer>,
    path: PathBuf,
    text: String,
}

async fn look(args: &Args, cx: &ToolCx) -> ToolOutcome {
    if args.symbol().is_none() && (args.path.is_none() || args.line.is_none()) {
        return Err(ToolError::invalid("Symbols needs a symbol, or a path with a line"));
    }
    let (file, line) = match &args.path {
        Some(path) => {
            let path = path.clone();
            let file = blocking(cx, move |cx| Ok(target(cx, &path)?.resolved.canonical)).await?;
            (file, args.line)
        }
        None => {
            let known = if args.action == Action::Definition { defined(args, cx).await } else { Vec::new() };
            if !known.is_empty() {
                return answer(args, cx, known).await;
            }
            let (file, line) = first_mention(args, cx).await?;
            (file, Some(line))
        }
    };
    let open = open(cx, &file).await?;
    let _turn = open.server.turn.lock().await;
    open.server.quiet().await;
    let (line, column) = position(args, line, cx, &open)?;
    if args.action == Action::Hover {
        let answer = ask(&open, "textDocument/hover", protocol::at(&open.path, line, column)).await?;
        let text = protocol::hover(&answer).ok_or_else(|| nothing(args))?;
        return Ok(named(args, None).with_body("hover", elide(&text, HOVER_CHARS)));
    }
    let method = match args.action {
        Action::References => "textDocument/references",
        _ => "textDocument/definition",
    };
    let places = protocol::places(ask(&open, method, protocol::at(&open.path, line, column)).await?);
    answer(args, cx, places).await
}

async fn answer(args: &Args, cx: &ToolCx, places: Vec<CodePlace>) -> ToolOutcome {
    if places.is_empty() {
        return Err(nothing(args));
    }
    let (total, views) = (places.len(), args.action == Action::Definition && places.len() <= 3);
    let body = blocking(cx, move |cx| Ok(listed(cx, &places, views))).await?;
    let what = if args.action == Action::References { "reference" } else { "definition" };
    let mut envelope = named(args, Some(total as u64)).with_body("places", body);
    envelope.text = plural(total, what);
    if total > PLACES {
        envelope.text.push_str(&format!(", {PLACES} shown"));
    }
    Ok(envelope)
}

fn named(args: &Args, total: Option<u64>) -> Envelope {
    let query = Some(args.symbol().unwrap_or("").to_owned());
    Envelope::success("").observed(Observation::Search(Search { query, total, ..Search::default() }))
}

fn nothing(args: &Args) -> ToolError {
    let name = args.symbol().unwrap_or("this place");
    let message = format!("the language server doesn't know {}. Grep finds text", elide(name, 80));
    ToolError::not_found(message)
}

/// The file and line of a mention, in a language that has a server, preferably of the definition.
async fn first_mention(args: &Args, cx: &ToolCx) -> Result<(PathBuf, u32), ToolError> {
    let name = regex::escape(args.last_name().unwrap_or(""));
    let mention = blocking(cx, move |cx| {
        let defines = format!(
            r"\b(fn|def|class|func|function|struct|type|interface|enum|trait|const|let|var|val)\s+{name}\b"
        );
        for pattern in [defines, format!(r"\b{name}\b")] {
            let matcher = grep::matcher(&pattern, false).map_err(ToolError::invalid)?;
            let query = GrepQuery { matcher, include: None, context: 0, limit: MENTIONS, per_file: 1 };
            let found = grep::search(&Walk::new(&cx.root), &query, || cx.cancel.is_cancelled());
            let places = found.files.into_iter().filter_map(|(path, hits)| {
                let line = hits.lines.iter().find(|line| line.is_match)?.number;
                Some((cx.root.join(path), u32::try_from(line).ok()?))
            });
            let mut places = places.filter(|(path, _)| cx.language_servers.language(path).is_some());
            if let Some(place) = places.next() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    });
    mention.await?.ok_or_else(|| nothing(args))
}

async fn defined(args: &Args, cx: &ToolCx) -> Vec<CodePlace> {
    let Some(name) = args.last_name() else { return Vec::new() };
    let mut places = Vec::new();
    for server in cx.language_servers.ready() {
        let Ok(answer) = server.ask("workspace/symbol", json!({"query": name}), ANSWER).await else {
            continue;
        };
        let known = protocol::places_of(name, &answer).into_iter();
        places.extend(known.filter(|place| place.path.starts_with(&*cx.root)));
    }
    places.sort();
    places.dedup();
    places
}

async fn open(cx: &ToolCx, file: &Path) -> Result<OpenFile, ToolError> {
    let path = file.to_owned();
    let text = blocking(cx, move |cx| {
        let refused = |why: String| ToolError::not_found(format!("{}: {why}", display(&cx.root, &path)));
        text_of(&path, FILE_BYTES).map_err(refused)
    })
    .await?;
    let servers = &cx.language_servers;
    let without =
        |why: NoServer| ToolError::not_found(format!("{}: {why}. Use Grep", display(&cx.root, file)));
    (cx.progress)("waiting for the language server".to_owned());
    let late = |_| NoServer::Failed("of this language".to_owned(), "it is not ready yet".to_owned());
    let server = timeout(READY, servers.server(file)).await.map_err(late).flatten().map_err(without)?;
    server.keep_up(file, &servers.language(file).unwrap_or_default(), &text);
    Ok(OpenFile { server, path: file.to_owned(), text })
}

async fn ask(open: &OpenFile, method: &str, params: Value) -> Result<Value, ToolError> {
    open.server.ask(method, params, ANSWER).await.map_err(|error| {
        let message = format!("no answer from {} ({error:?}). Use Grep", open.server.program);
        ToolError::failed(message)
    })
}

/// The name's position: in the given line, or nearest to it, or else its first occurrence.
fn position(args: &Args, near: Option<u32>, cx: &ToolCx, open: &OpenFile) -> Result<(u32, u32), ToolError> {
    let wanted = near.map_or(0, |line| line.saturating_sub(1) as usize);
    let bytes = open.server.counts_bytes();
    let Some(name) = args.last_name() else {
        let line = open.text.lines().nth(wanted).unwrap_or("");
        let at = line.len() - line.trim_start().len();
        return Ok((near.unwrap_or(1).saturating_sub(1), column(line, at, bytes)));
    };
    let mentions =
        open.text.lines().enumerate().filter_map(|(number, line)| Some((number, line, word(line, name)?)));
    let nearest = mentions.min_by_key(|(number, ..)| match near {
        Some(_) => number.abs_diff(wanted),
        None => *number,
    });
    let Some((number, line, at)) = nearest else {
        let shown = display(&cx.root, &open.path);
        return Err(ToolError::not_found(format!("{name} isn't in {shown}")));
    };
    Ok((u32::try_from(number).unwrap_or(0), column(line, at, bytes)))
}

/// Where a name starts in a line, as a separate word.
fn word(line: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name)
        .map(|(at, _)| at)
        .find(|&at| !line[..at].ends_with(part) && !line[at + name.len()..].starts_with(part))
}

/// Places grouped by file, with lines, more of them for definitions. Outside the workspace, only paths.
fn listed(cx: &ToolCx, places: &[CodePlace], views: bool) -> String {
    let mut files: BTreeMap<&Path, Vec<&CodePlace>> = BTreeMap::new();
    for place in places.iter().take(PLACES) {
        files.entry(&place.path).or_default().push(place);
    }
    let mut text = String::new();
    for (path, places) in files {
        let inside = path.starts_with(&*cx.root);
        let read = inside.then(|| text_of(path, FILE_BYTES).ok()).flatten();
        let content = read.unwrap_or_default();
        text.push_str(&format!("{}\n", display(&cx.root, path)));
        for place in places {
            let first = place.line as usize;
            let last =
                if views { (place.end_line as usize).min(first + VIEW_LINES - 1).max(first) } else { first };
            let lines = content.lines().enumerate().skip(first).take(last + 1 - first);
            let rows: Vec<String> = lines
                .map(|(number, line)| format!("{}: {}\n", number + 1, elide(line.trim_end(), LINE_CHARS)))
                .collect();
            text.push_str(&if rows.is_empty() { format!("{}\n", first + 1) } else { rows.concat() });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_lines() {
        assert_eq!(word("let total = totals + total_of(x)", "total_of"), Some(21));
        assert_eq!(word("let subtotal = total;", "total"), Some(15));
        assert_eq!(word("ä = total", "total"), Some(5));
        assert_eq!(word("totals", "total"), None);
    }
}
