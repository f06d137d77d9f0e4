//! The arguments of `mycode notes`, as clap reads them. The doc comments are the help.

use clap::{Args, Subcommand};

use crate::note::record::NoteKind;

#[derive(Args, Debug)]
pub struct NotesArgs {
    #[command(subcommand)]
    pub command: Option<NotesCommand>,

    /// JSON instead of text
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
    /// Print a note and related ones
    Show {
        /// The note's id, or its beginning
        id: String,
    },
    /// Search notes by words
    Search {
        #[arg(required = true)]
        words: Vec<String>,
        #[arg(short = 'n', long, default_value_t = 20)]
        limit: usize,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Create a note; `-` or a pipe reads its content from standard input
    #[command(alias = "add")]
    New {
        title: String,
        content: Option<String>,
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Edit a note: opens $EDITOR, or sets the given fields
    Edit {
        id: String,
        #[arg(long)]
        title: Option<String>,
        /// `-` reads standard input
        #[arg(long)]
        content: Option<String>,
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Archive notes; nothing is deleted
    Archive {
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Restore archived notes
    Restore {
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Show counts by type, open blockers and the latest notes
    Summary,
    /// Propose notes to archive: faded ones, duplicates, notes on deleted files
    #[command(alias = "forget")]
    Consolidate {
        /// Archive all of them
        #[arg(long)]
        yes: bool,
    },
}

/// Which notes.
#[derive(Args, Debug, Default)]
pub struct FilterArgs {
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub kind: Option<NoteKind>,
    /// Only with all of these tags
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub tag: Vec<String>,
    /// Only about one of these files or folders
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub file: Vec<String>,
}

/// What a note has beside its text; an empty value clears a list.
#[derive(Args, Debug, Default)]
pub struct FieldArgs {
    /// task_state, conclusion, blocker, action, reference, general, gotcha, pattern or outcome
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub kind: Option<NoteKind>,
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub tag: Option<Vec<String>>,
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub file: Option<Vec<String>>,
    /// Ids of other notes
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub link: Option<Vec<String>>,
    /// 1 (low) to 5 (high); 3 by default
    #[arg(long, value_name = "N")]
    pub importance: Option<u8>,
}
