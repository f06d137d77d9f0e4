//! `mycode notes`: the project's notes for users and scripts. The store does the work.

use std::io::IsTerminal;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::open;
use base::config::settings::Permission;
use base::process::programs;
use base::{clock, sanitize};
use evidence::note::index::NoteListing;
use evidence::note::record::{Note, NoteKind};
use evidence::note::retrieval::graph;
use evidence::note::retrieval::search::{self, NoteQuery};
use evidence::note::store::{self, NoteChange, NoteStore};
use evidence::note::{digest, forget};

#[derive(Args, Debug)]
pub struct NotesArgs {
    #[command(subcommand)]
    pub command: Option<NotesCommand>,

    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum NotesCommand {
    /// List the notes, newest first
    List {
        /// List archived notes instead
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Print a note and related notes
    Show {
        /// The note's id, or a prefix of it
        id: String,
    },
    /// Find notes by words
    Search {
        /// The words to look for
        #[arg(required = true)]
        words: Vec<String>,
        /// Maximum number of notes
        #[arg(short = 'n', long, default_value_t = 20)]
        limit: usize,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Create a note; the content is the argument, or standard input with `-` or in a pipe
    #[command(alias = "add")]
    New {
        /// The title, one line
        title: String,
        /// The text
        content: Option<String>,
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Change a note: sets the given fields, or opens $EDITOR without any
    Edit {
        /// The note's id, or a prefix of it
        id: String,
        /// The new title
        #[arg(long)]
        title: Option<String>,
        /// The new text; `-` reads standard input
        #[arg(long)]
        content: Option<String>,
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Archive notes; nothing is deleted
    Archive {
        /// The notes' ids, or prefixes of them
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Restore notes from the archive
    Restore {
        /// The notes' ids, or prefixes of them
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Count the notes, and list open blockers and recent notes
    Summary,
    /// Suggest notes to archive: stale ones, duplicates, and notes on deleted files
    #[command(alias = "forget")]
    Consolidate {
        /// Archive all suggestions
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug, Default)]
pub struct FilterArgs {
    /// Of this type: task_state, conclusion, blocker, action, reference, general, gotcha, pattern or outcome
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub kind: Option<NoteKind>,
    /// With all of these tags
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub tag: Vec<String>,
    /// About one of these files or folders
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub file: Vec<String>,
}

/// The fields of a note; an empty value clears a list.
#[derive(Args, Debug, Default)]
pub struct FieldArgs {
    /// The type: task_state, conclusion, blocker, action, reference, general, gotcha, pattern or outcome
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub kind: Option<NoteKind>,
    /// Tags, separated by commas
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub tag: Option<Vec<String>>,
    /// Related files, separated by commas
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub file: Option<Vec<String>>,
    /// Ids of related notes
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub link: Option<Vec<String>>,
    /// 1 (low) to 5 (high) [default: 3]
    #[arg(long, value_name = "N")]
    pub importance: Option<u8>,
}

const RELATED: usize = 8;

pub fn run(cli: &SharedArgs, args: &NotesArgs) -> Result<(), Failure> {
    let opened = open::open(&cli.model, Permission::Ask)?;
    let store = NoteStore::new(&opened.workspace);
    let json = args.json;
    match &args.command {
        None => list(&store, &NoteQuery::default(), json),
        Some(NotesCommand::List { archived, filter }) => {
            list(&store, &NoteQuery { archived: *archived, ..wanted(filter) }, json)
        }
        Some(NotesCommand::Show { id }) => show(&store, id, json),
        Some(NotesCommand::Search { words, limit, filter }) => {
            find(&store, &words.join(" "), &wanted(filter), *limit, json)
        }
        Some(NotesCommand::New { title, content, fields }) => {
            let piped = content.is_none() && !std::io::stdin().is_terminal();
            let content = if piped { Some(report::standard_input()?) } else { given(content.as_deref())? };
            let change = NoteChange { title: Some(title.clone()), content, ..fields_of(fields) };
            done(&store.create(change)?, "created", json)
        }
        Some(NotesCommand::Edit { id, title, content, fields }) => {
            let content = given(content.as_deref())?;
            match (NoteChange { title: title.clone(), content, ..fields_of(fields) }) {
                change if change == NoteChange::default() => edit_by_hand(&store, id, json),
                change => done(&store.update(id, change)?, "updated", json),
            }
        }
        Some(NotesCommand::Archive { ids }) => {
            ids.iter().try_for_each(|id| done(&store.archive(id)?, "archived", json))
        }
        Some(NotesCommand::Restore { ids }) => {
            ids.iter().try_for_each(|id| done(&store.restore(id)?, "restored", json))
        }
        Some(NotesCommand::Summary) => summary(&store, json),
        Some(NotesCommand::Consolidate { yes }) => consolidate(&store, *yes, json),
    }
}

fn wanted(filter: &FilterArgs) -> NoteQuery {
    NoteQuery { kind: filter.kind, tags: filter.tag.clone(), files: filter.file.clone(), archived: false }
}

fn fields_of(fields: &FieldArgs) -> NoteChange {
    let list = |list: &Option<Vec<String>>| {
        list.as_ref().map(|list| list.iter().filter(|item| !item.trim().is_empty()).cloned().collect())
    };
    NoteChange {
        kind: fields.kind,
        tags: list(&fields.tag),
        files: list(&fields.file),
        links: list(&fields.link),
        importance: fields.importance,
        ..NoteChange::default()
    }
}

fn given(content: Option<&str>) -> Result<Option<String>, Failure> {
    match content {
        Some("-") => report::standard_input().map(Some),
        content => Ok(content.map(str::to_owned)),
    }
}

fn as_json(note: &Note) -> Value {
    let facts = &note.facts;
    let time = |ms| digest::time(ms).map(|time| time.to_string());
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
    value[key] = more.into();
    value
}

fn row(note: &Note, line: &str, more: &[(&str, Value)], json: bool) -> String {
    if json {
        let value = more.iter().fold(as_json(note), |value, (key, more)| with(value, key, more.clone()));
        return format!("{value}\n");
    }
    let line = if line.is_empty() { String::new() } else { format!("    {}\n", sanitize::clean(line)) };
    format!("{}\n{line}", sanitize::clean(&digest::row(note)))
}

fn print_rows(listing: &NoteListing, rows: &[String], json: bool, nothing: &str) -> Result<(), Failure> {
    for notice in &listing.notices {
        eprintln!("note: {}", sanitize::clean(notice));
    }
    report::print(&if rows.is_empty() && !json { nothing.to_owned() } else { rows.concat() })
}

fn list(store: &NoteStore, wanted: &NoteQuery, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let places = digest::newest(&listing, wanted).into_iter();
    let rows: Vec<String> = places.map(|at| row(&listing.notes[at], "", &[], json)).collect();
    let nothing = if wanted.archived {
        "The archive is empty.\n"
    } else {
        "No notes. `mycode notes new \"title\" \"content\"` creates one.\n"
    };
    print_rows(&listing, &rows, json, nothing)
}

fn find(store: &NoteStore, query: &str, wanted: &NoteQuery, limit: usize, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let found = search::search(store, &listing, query, wanted, clock::now_ms()).into_iter().take(limit);
    let rows: Vec<String> = found
        .map(|found| {
            let more = [("score", found.score.into()), ("line", found.line.as_str().into())];
            row(&listing.notes[found.at], &found.line, &more, json)
        })
        .collect();
    print_rows(&listing, &rows, json, "No matching notes; try other words.\n")
}

fn show(store: &NoteStore, id: &str, json: bool) -> Result<(), Failure> {
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
    let mut line = format!("Note {} {verb}: {}", note.id, note.path());
    if verb == "archived" {
        line.push_str(&format!(". `mycode notes restore {}` restores it", note.id));
    }
    report::print(&format!("{line}\n"))
}

fn edit_by_hand(store: &NoteStore, id: &str, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let note = store::find(&listing.notes, id, false)?;
    let Some((name, mut editor)) = programs::editor(&store.folder.path.join(&note.file)) else {
        let hint = "set EDITOR, or say what to change: --title, --content, --type, --tag, --file";
        return Err(Failure::usage("no editor is set", hint));
    };
    // Refuses links and binary files before an editor follows or damages them.
    store.text(note)?;
    let status =
        editor.status().or_task(format!("the editor '{name}' can't be started"), "correct EDITOR")?;
    if !status.success() {
        let hint = "try again, or correct EDITOR";
        return Err(Failure::task(format!("the editor '{name}' exited with {status}"), hint));
    }
    match store.list()?.notes.iter().find(|other| other.file == note.file) {
        Some(note) => done(note, "updated", json),
        None => Err(Failure::task(
            format!("{} can no longer be read as a note", note.path()),
            "`mycode notes list` says what is wrong with it",
        )),
    }
}

fn summary(store: &NoteStore, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    if !json {
        return report::say(&digest::summary(&listing));
    }
    let current: Vec<&Note> = listing.notes.iter().filter(|note| !note.archived).collect();
    let mut kinds = json!({});
    for note in &current {
        let count = &mut kinds[note.facts.kind.as_str()];
        *count = (count.as_u64().unwrap_or(0) + 1).into();
    }
    let blockers = current.iter().filter(|note| note.is_open_blocker()).map(|note| note.id.as_str());
    let value = json!({
        "total": current.len(),
        "archived": listing.notes.len() - current.len(),
        "types": kinds,
        "open_blockers": blockers.collect::<Vec<_>>(),
        "notices": listing.notices,
    });
    report::print(&format!("{value}\n"))
}

fn consolidate(store: &NoteStore, yes: bool, json: bool) -> Result<(), Failure> {
    let listing = store.list()?;
    let proposals = forget::proposals(store, &listing, clock::now_ms());
    let mut out = String::new();
    for proposal in &proposals {
        let note = &listing.notes[proposal.at];
        if yes {
            store.archive(&note.id)?;
        }
        let more = [("reason", proposal.reason.as_str().into()), ("archived", yes.into())];
        out.push_str(&row(note, &proposal.reason, &more, json));
    }
    if !json {
        let count = digest::count(proposals.len());
        out.push_str(&match (proposals.len(), yes) {
            (0, _) => "Nothing to archive.\n".to_owned(),
            (_, true) => format!("{count} archived. `mycode notes restore ID` restores one.\n"),
            (_, false) => format!(
                "{count} could be archived; nothing was changed. `mycode notes consolidate --yes` archives them.\n"
            ),
        });
    }
    report::print(&out)
}
