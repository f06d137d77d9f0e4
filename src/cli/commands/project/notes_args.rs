//! The arguments of `mycode notes`, as clap reads them. Plain data whose doc comments are the help.

use clap::{Args, Subcommand};

use evidence::note::record::NoteKind;

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
        /// The note's id, or the beginning of it
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
        /// The note's id, or the beginning of it
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
        /// The notes' ids, or the beginnings of them
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Restore notes from the archive
    Restore {
        /// The notes' ids, or the beginnings of them
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

/// Which notes.
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
