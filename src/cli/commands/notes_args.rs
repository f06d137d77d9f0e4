//! The arguments of `mycode notes`, as clap reads them. Dumb data whose doc comments are the help.

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
        /// What was put away instead
        #[arg(long)]
        archived: bool,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Print a note and what is related to it
    Show {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Find notes by words
    Search {
        #[arg(required = true)]
        words: Vec<String>,
        #[arg(short = 'n', long, default_value_t = 20)]
        limit: usize,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Make a note; its content comes from the argument, or from standard input with `-` or in a pipe
    #[command(alias = "add")]
    New {
        title: String,
        content: Option<String>,
        #[command(flatten)]
        fields: FieldArgs,
    },
    /// Change a note: opens $EDITOR, or sets what is given
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
    /// Put notes away; nothing is deleted
    Archive {
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Take notes back from the archive
    Restore {
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Say how many there are, which blockers are open, what is new
    Summary,
    /// Propose what could be put away: faded notes, twins, notes on files that are gone
    #[command(alias = "forget")]
    Consolidate {
        /// Put all of it away
        #[arg(long)]
        yes: bool,
    },
}

/// Which notes.
#[derive(Args, Debug, Default)]
pub struct FilterArgs {
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub kind: Option<NoteKind>,
    /// With all of these tags
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub tag: Vec<String>,
    /// On one of these files or folders
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub file: Vec<String>,
}

/// What a note says beside its text; an empty value clears a list.
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
    /// 1 (little) to 5 (much); 3 when not given
    #[arg(long, value_name = "N")]
    pub importance: Option<u8>,
}
