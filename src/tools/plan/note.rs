//! Note: saves and finds project notes. The note store does the work; this tool words the answers.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::{Preview, ToolError, ToolWork, TypedTool, object};
use crate::cx::ToolCx;
use base::clock;
use base::model::envelope::Envelope;
use base::model::observation::{Noted, Observation};
use base::text;
use evidence::note::digest;
use evidence::note::error::NoteError;
use evidence::note::record::{Note as Kept, NoteKind};
use evidence::note::retrieval::graph;
use evidence::note::retrieval::search::{self, NoteQuery};
use evidence::note::store::{self, NoteChange, NoteStore};
use guard::policy::access::Access;
use guard::redact::detector;

const USUAL_LIMIT: usize = 20;
const MAX_LIMIT: usize = 200;
const RELATED: usize = 5;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum NoteAction {
    #[serde(alias = "add", alias = "new", alias = "write", alias = "save", alias = "remember")]
    Create,
    #[serde(alias = "get", alias = "view", alias = "show", alias = "open")]
    Read,
    #[serde(alias = "edit", alias = "change")]
    Update,
    #[serde(alias = "find", alias = "query")]
    Search,
    List,
    Summary,
    #[serde(alias = "remove", alias = "forget", alias = "archive")]
    Delete,
}

#[derive(Deserialize)]
pub struct Args {
    action: Option<NoteAction>,
    id: Option<String>,
    title: Option<String>,
    content: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    tags: Option<Vec<String>>,
    files: Option<Vec<String>>,
    query: Option<String>,
    limit: Option<usize>,
}

impl Args {
    /// If not given, it follows from the other arguments.
    fn action(&self) -> NoteAction {
        let meant = match (&self.id, &self.content, &self.query) {
            (None, Some(_), _) => NoteAction::Create,
            (Some(_), Some(_), _) => NoteAction::Update,
            (Some(_), None, _) => NoteAction::Read,
            (None, None, Some(_)) => NoteAction::Search,
            (None, None, None) => NoteAction::List,
        };
        self.action.unwrap_or(meant)
    }
}

pub struct NoteTool;

impl TypedTool for NoteTool {
    type Args = Args;
    const NAME: &'static str = "Note";
    const ARGUMENTS: &'static str = "action? create|read|update|search|list|summary|delete, id?, query?, type?, title?, content?, \
                                     tags? strings, files? strings, limit? integer";
    const WORK: ToolWork<Args> = ToolWork::Blocking(|args, cx| {
        act(args, &NoteStore::new(&cx.root))
            .map_err(|error| ToolError::model(error.code(), error.to_string()))
    });

    fn schema() -> Value {
        let mut schema = object(Self::ARGUMENTS);
        schema["properties"]["type"] = json!({"enum": NoteKind::names()});
        schema
    }

    /// Needs no extra approval: this tool writes only to the notes folder and never overwrites another's text.
    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        Ok(match args.action() {
            NoteAction::Create | NoteAction::Update | NoteAction::Delete => {
                vec![Access::WriteOwn(NoteStore::new(&cx.root).folder.path)]
            }
            NoteAction::Read | NoteAction::Search | NoteAction::List | NoteAction::Summary => Vec::new(),
        })
    }

    fn title(args: &Args) -> String {
        let action = format!("{:?}", args.action()).to_lowercase();
        let subject = args.id.as_ref().or(args.query.as_ref()).or(args.title.as_ref());
        let subject = subject.map_or(String::new(), |subject| format!(" {}", text::one_line(subject, 80)));
        format!("Note {action}{subject}")
    }

    fn preview(args: &Args, _: &ToolCx) -> Preview {
        let text = text_of(args);
        Preview::Text(if text.is_empty() { Self::title(args) } else { text })
    }
}

fn text_of(args: &Args) -> String {
    let lists = [("tags", &args.tags), ("files", &args.files)];
    let lists = lists.map(|(name, list)| (name, list.as_ref().map(|list| list.join(", "))));
    let texts = [("type", args.kind.clone()), ("title", args.title.clone())];
    let mut out = String::new();
    for (name, text) in texts.into_iter().chain(lists) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            out.push_str(&format!("{name}: {text}\n"));
        }
    }
    out.push_str(args.content.as_deref().unwrap_or_default());
    out
}

fn act(args: &Args, store: &NoteStore) -> Result<Envelope, NoteError> {
    let kind = args.kind.as_deref().map(str::parse).transpose().map_err(NoteError::Invalid)?;
    let limit = args.limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_LIMIT);
    let needed = || {
        let missing = || NoteError::Invalid("this action needs an id; search or list to find it".to_owned());
        args.id.as_deref().filter(|id| !id.trim().is_empty()).ok_or_else(missing)
    };
    match args.action() {
        NoteAction::Create => {
            let note = store.create(change(args, kind))?;
            Ok(answer(&note, &format!("Note {} created: {}", note.id, note.path())))
        }
        NoteAction::Update => {
            let wanted = needed()?;
            let change = change(args, kind);
            keep_secrets(store, wanted, &change)?;
            let note = store.update(wanted, change)?;
            Ok(answer(&note, &format!("Note {} updated: {}", note.id, note.path())))
        }
        NoteAction::Delete => {
            let note = store.archive(needed()?)?;
            let words = format!(
                "Note {id} archived, not deleted: {}. `mycode notes restore {id}` brings it back",
                note.path(),
                id = note.id
            );
            Ok(answer(&note, &words))
        }
        NoteAction::Read => read(store, needed()?),
        NoteAction::Summary => {
            let listing = store.list()?;
            let notices = listing.notices.join("\n");
            Ok(Envelope::success(notices).with_body("summary", digest::summary(&listing)))
        }
        NoteAction::Search | NoteAction::List => {
            let wanted = NoteQuery {
                kind,
                tags: args.tags.clone().unwrap_or_default(),
                files: args.files.clone().unwrap_or_default(),
                archived: false,
            };
            let query = args.query.as_deref().filter(|query| !query.trim().is_empty());
            if args.action() == NoteAction::Search && query.is_none() {
                return Err(NoteError::Invalid("search needs a query; list shows all".to_owned()));
            }
            listing(store, query, &wanted, limit)
        }
    }
}

fn change(args: &Args, kind: Option<NoteKind>) -> NoteChange {
    NoteChange {
        title: args.title.clone(),
        content: args.content.clone(),
        kind,
        tags: args.tags.clone(),
        files: args.files.clone(),
        ..NoteChange::default()
    }
}

/// Writing a placeholder back would lose the note's secret.
fn keep_secrets(store: &NoteStore, wanted: &str, change: &NoteChange) -> Result<(), NoteError> {
    let Some(content) = change.content.as_deref().filter(|content| content.contains(detector::PREFIX)) else {
        return Ok(());
    };
    let listing = store.list()?;
    let body = store.body(store::find(&listing.notes, wanted, false)?)?;
    if body.contains(detector::PREFIX)
        && content.matches(detector::PREFIX).count() <= body.matches(detector::PREFIX).count()
    {
        return Ok(());
    }
    Err(NoteError::Invalid(format!(
        "the note contains a secret that you see as {}…, and this update would overwrite it. Change other fields, or \
         ask the user",
        detector::PREFIX
    )))
}

fn read(store: &NoteStore, wanted: &str) -> Result<Envelope, NoteError> {
    let listing = store.list()?;
    let note = store::find(&listing.notes, wanted, false)?;
    let content = store.text(note)?;
    let at = listing.notes.iter().position(|other| other.file == note.file).unwrap_or_default();
    let near: Vec<String> = graph::related(&listing.notes, at, RELATED)
        .into_iter()
        .map(|near| {
            let other = &listing.notes[near.at];
            format!("{} {} ({})", other.id, text::one_line(&other.facts.title, 60), near.reasons.join(", "))
        })
        .collect();
    let mut words = Vec::new();
    if note.archived {
        words.push("archived".to_owned());
    }
    if !near.is_empty() {
        words.push(format!("related: {}", near.join("; ")));
    }
    Ok(answer(note, &words.join("; ")).with_body("content", content))
}

fn listing(
    store: &NoteStore,
    query: Option<&str>,
    wanted: &NoteQuery,
    limit: usize,
) -> Result<Envelope, NoteError> {
    let listing = store.list()?;
    let rows: Vec<(usize, String)> = match query {
        Some(query) => search::search(store, &listing, query, wanted, clock::now_ms())
            .into_iter()
            .map(|found| (found.at, found.line))
            .collect(),
        None => digest::newest(&listing, wanted).into_iter().map(|at| (at, String::new())).collect(),
    };
    let total = rows.len();
    let body: String = rows
        .iter()
        .take(limit)
        .map(|(at, line)| {
            let row = digest::row(&listing.notes[*at]);
            if line.is_empty() { format!("{row}\n") } else { format!("{row}\n    {line}\n") }
        })
        .collect();
    let ids = rows.iter().take(limit).map(|(at, _)| listing.notes[*at].id.clone()).collect();
    let mut words = match total {
        0 if query.is_some() => "no note matches; try other words, or list".to_owned(),
        0 => "no notes".to_owned(),
        total if total > limit => format!("{limit} of {}; raise limit for more", text::plural(total, "note")),
        total => text::plural(total, "note"),
    };
    for notice in &listing.notices {
        words.push_str(&format!("; {notice}"));
    }
    let listed = Noted { total: Some(total as u64), ids: Some(ids), ..Noted::default() };
    let envelope = Envelope::success(words).observed(Observation::Note(listed));
    Ok(if body.is_empty() { envelope } else { envelope.with_body("notes", body) })
}

fn answer(note: &Kept, words: &str) -> Envelope {
    Envelope::success(words).observed(Observation::Note(Noted {
        id: Some(note.id.clone()),
        path: Some(note.path()),
        title: Some(note.facts.title.clone()),
        kind: Some(note.facts.kind.as_str().to_owned()),
        ..Noted::default()
    }))
}
