//! `mycode notes`: the project's notes for people and scripts. What can be done with a note is the store's; this only
//! takes words in and prints words out.

use std::io::{IsTerminal, Read};
use std::process::Command;

use serde_json::{Value, json};

use super::notes_args::{FieldArgs, FilterArgs, NotesArgs, NotesCommand};
use crate::base::clock;
use crate::base::sanitize;
use crate::base::text;
use crate::cli::args::Cli;
use crate::cli::report::{self, Failure, FailureKind};
use crate::cli::setup::open;
use crate::config::settings::Permission;
use crate::note::digest;
use crate::note::forget;
use crate::note::graph;
use crate::note::index::{Listing, MAX_NOTE_BYTES};
use crate::note::record::Note;
use crate::note::search::{self, Wanted};
use crate::note::store::{self, Change, Store};

const RELATED: usize = 8;

/// Runs the subcommand; without one, lists.
///
/// # Errors
/// What the store refuses, or output that cannot be written.
pub fn run(cli: &Cli, args: &NotesArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::Ask)?;
    let store = Store::new(&opened.workspace);
    let json = args.json;
    match &args.command {
        None => list(&store, &Wanted::default(), json),
        Some(NotesCommand::List { archived, filter }) => {
            list(&store, &Wanted { archived: *archived, ..wanted(filter) }, json)
        }
        Some(NotesCommand::Show { id }) => show(&store, id, json),
        Some(NotesCommand::Search { words, limit, filter }) => {
            find(&store, &words.join(" "), &wanted(filter), *limit, json)
        }
        Some(NotesCommand::New { title, content, fields }) => {
            let content = match content.as_deref() {
                Some("-") => Some(standard_input()?),
                Some(content) => Some(content.to_owned()),
                None if !std::io::stdin().is_terminal() => Some(standard_input()?),
                None => None,
            };
            let change = Change { title: Some(title.clone()), content, ..fields_of(fields) };
            done(&store.create(change)?, "created", json)
        }
        Some(NotesCommand::Edit { id, title, content, fields }) => {
            let content = match content.as_deref() {
                Some("-") => Some(standard_input()?),
                content => content.map(str::to_owned),
            };
            let change = Change { title: title.clone(), content, ..fields_of(fields) };
            let by_hand = title.is_none()
                && change.content.is_none()
                && change.kind.is_none()
                && change.tags.is_none()
                && change.files.is_none()
                && change.links.is_none()
                && change.importance.is_none();
            if by_hand {
                edit_by_hand(&store, id, json)
            } else {
                done(&store.update(id, change)?, "updated", json)
            }
        }
        Some(NotesCommand::Archive { ids }) => each(ids, |id| done(&store.archive(id)?, "archived", json)),
        Some(NotesCommand::Restore { ids }) => each(ids, |id| done(&store.restore(id)?, "restored", json)),
        Some(NotesCommand::Summary) => summary(&store, json),
        Some(NotesCommand::Consolidate { yes }) => consolidate(&store, *yes, json),
    }
}

fn each(ids: &[String], act: impl Fn(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    ids.iter().try_for_each(|id| act(id))
}

fn wanted(filter: &FilterArgs) -> Wanted {
    Wanted { kind: filter.kind, tags: filter.tag.clone(), files: filter.file.clone(), archived: false }
}

fn fields_of(fields: &FieldArgs) -> Change {
    let list = |list: &Option<Vec<String>>| {
        list.as_ref().map(|list| list.iter().filter(|item| !item.trim().is_empty()).cloned().collect())
    };
    Change {
        kind: fields.kind,
        tags: list(&fields.tag),
        files: list(&fields.file),
        links: list(&fields.link),
        importance: fields.importance,
        ..Change::default()
    }
}

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    // One byte over the limit is enough to be refused with a reason.
    std::io::stdin().lock().take(MAX_NOTE_BYTES + 1).read_to_string(&mut text).map_err(|error| {
        Failure::new(FailureKind::Usage, format!("standard input can't be read: {error}"), "send UTF-8 text")
    })?;
    Ok(text)
}

fn as_json(note: &Note) -> Value {
    let facts = &note.facts;
    let time = |ms: u64| {
        i64::try_from(ms)
            .ok()
            .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
            .map(|time| time.to_string())
    };
    json!({
        "id": note.id,
        "title": facts.title,
        "type": facts.kind.as_str(),
        "tags": facts.tags,
        "files": facts.files,
        "links": facts.links,
        "importance": facts.importance,
        "status": facts.status,
        "created_at": facts.created_ms.and_then(time),
        "updated_at": time(note.changed_ms),
        "archived": note.archived,
        "path": note.path(),
    })
}

fn with(mut value: Value, key: &str, more: impl Into<Value>) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.insert(key.to_owned(), more.into());
    }
    value
}

/// Prints rows, one JSON object a line if wanted, and says on standard error which files were left out.
fn rows(
    listing: &Listing,
    rows: &[(usize, Value, String)],
    json: bool,
    nothing: &str,
) -> Result<(), Failure> {
    let mut out = String::new();
    for (at, value, line) in rows {
        if json {
            out.push_str(&format!("{value}\n"));
            continue;
        }
        out.push_str(&format!("{}\n", sanitize::clean(&digest::row(&listing.notes[*at]))));
        if !line.is_empty() {
            out.push_str(&format!("    {}\n", sanitize::clean(line)));
        }
    }
    if rows.is_empty() && !json {
        out.push_str(nothing);
    }
    for notice in &listing.notices {
        eprintln!("note: {}", sanitize::clean(notice));
    }
    report::print(&out)
}

fn list(store: &Store, wanted: &Wanted, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let places = digest::newest(&listing, wanted);
    let found: Vec<_> =
        places.into_iter().map(|at| (at, as_json(&listing.notes[at]), String::new())).collect();
    let nothing = if wanted.archived {
        "Nothing is in the archive.\n"
    } else {
        "No notes here; `mycode notes new \"title\" \"content\"` makes one.\n"
    };
    rows(&listing, &found, json, nothing)
}

fn find(store: &Store, query: &str, wanted: &Wanted, limit: usize, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let found: Vec<_> = search::search(store, &listing, query, wanted, clock::now_ms())
        .into_iter()
        .take(limit)
        .map(|found| {
            let value = with(as_json(&listing.notes[found.at]), "score", found.score);
            (found.at, with(value, "line", found.line.as_str()), found.line)
        })
        .collect();
    rows(&listing, &found, json, "No note matches; try other words.\n")
}

fn show(store: &Store, id: &str, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let note = store::find(&listing.notes, id, false)?;
    let content = store.text(note)?;
    let at = listing.notes.iter().position(|other| other.file == note.file).unwrap_or_default();
    let near = graph::related(&listing.notes, at, RELATED);
    if json {
        let related: Vec<Value> = near
            .iter()
            .map(|near| {
                let other = &listing.notes[near.at];
                json!({"id": other.id, "title": other.facts.title, "weight": near.weight, "reasons": near.reasons})
            })
            .collect();
        let value = with(with(as_json(note), "content", content), "related", related);
        return report::print(&format!("{value}\n"));
    }
    let place = if note.archived { ", archived" } else { "" };
    let mut out = format!("{} (id {}{place})\n\n{}", note.path(), note.id, content.trim_end());
    if !near.is_empty() {
        out.push_str("\n\nRelated:");
        for near in near {
            let other = &listing.notes[near.at];
            out.push_str(&format!("\n  {}  {} ({})", other.id, other.facts.title, near.reasons.join(", ")));
        }
    }
    report::say(&format!("{out}\n"))
}

fn done(note: &Note, verb: &str, json: bool) -> Result<(), Failure> {
    if json {
        return report::print(&format!("{}\n", with(as_json(note), "done", verb)));
    }
    let back = if verb == "archived" {
        format!("; `mycode notes restore {}` brings it back", note.id)
    } else {
        String::new()
    };
    report::print(&format!("Note {} {verb}: {}{back}\n", note.id, note.path()))
}

/// Opens the file itself in the user's editor: hand edits are welcome, so there is nothing between.
fn edit_by_hand(store: &Store, id: &str, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let note = store::find(&listing.notes, id, false)?;
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty()))
        .ok_or_else(|| {
            Failure::new(
                FailureKind::Usage,
                "no editor is set",
                "set EDITOR, or give what to change: --title, --content, --type, --tag, --file",
            )
        })?;
    // The reader refuses links and what is no text, before an editor follows or spoils it.
    store.text(note)?;
    let path = store.folder.path.join(&note.file);
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or(editor.as_str());
    let status = Command::new(program).args(words).arg(&path).status().map_err(|error| {
        Failure::new(
            FailureKind::Task,
            format!("the editor {program} can't be started: {error}"),
            "correct EDITOR",
        )
    })?;
    if !status.success() {
        return Err(Failure::new(FailureKind::Task, format!("the editor ended with {status}"), "try again"));
    }
    let listing = store.list()?;
    let file = &note.file;
    match listing.notes.iter().find(|note| note.file == *file) {
        Some(note) => done(note, "updated", json),
        None => Err(Failure::new(
            FailureKind::Task,
            format!("{} is no longer a note", note.path()),
            "`mycode notes list` says what is wrong with it",
        )),
    }
}

fn summary(store: &Store, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    if !json {
        return report::say(&digest::summary(&listing));
    }
    let current = || listing.notes.iter().filter(|note| !note.archived);
    let mut kinds = serde_json::Map::new();
    for note in current() {
        let count = kinds.get(note.facts.kind.as_str()).and_then(Value::as_u64).unwrap_or(0);
        kinds.insert(note.facts.kind.as_str().to_owned(), (count + 1).into());
    }
    let blockers: Vec<&str> =
        current().filter(|note| note.is_open_blocker()).map(|note| note.id.as_str()).collect();
    let value = json!({
        "total": current().count(),
        "archived": listing.notes.len() - current().count(),
        "types": kinds,
        "open_blockers": blockers,
        "notices": listing.notices,
    });
    report::print(&format!("{value}\n"))
}

/// Proposes; archives only when told to.
fn consolidate(store: &Store, yes: bool, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let proposals = forget::proposals(store, &listing, clock::now_ms());
    let mut out = String::new();
    for proposal in &proposals {
        let note = &listing.notes[proposal.at];
        if yes {
            store.archive(&note.id)?;
        }
        if json {
            let value = with(as_json(note), "reason", proposal.reason.as_str());
            out.push_str(&format!("{}\n", with(value, "archived", yes)));
        } else {
            let row = digest::row(note);
            out.push_str(&format!("{}\n    {}\n", sanitize::clean(&row), sanitize::clean(&proposal.reason)));
        }
    }
    if !json {
        let count = text::plural(proposals.len(), "note");
        out.push_str(&match (proposals.len(), yes) {
            (0, _) => "Nothing to put away.\n".to_owned(),
            (_, true) => format!("{count} archived; `mycode notes restore ID` brings one back.\n"),
            (_, false) => format!("{count} could be put away; nothing was changed. `mycode notes consolidate --yes` archives them.\n"),
        });
    }
    report::print(&out)
}
