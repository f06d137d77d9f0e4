//! All that a key can do, with its name in `config.toml`, its keys and its line in `/help`. A new action is one variant and
//! one row here, and one arm where its place takes keys.

/// Where a key holds. What holds everywhere comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Everywhere,
    Composer,
    /// Lists to choose from.
    List,
}

pub const PLACES: [Place; 3] = [Place::Everywhere, Place::Composer, Place::List];

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Suspend,
    Redraw,
    Thinking,
    Send,
    Cancel,
    Escape,
    Quit,
    NextMode,
    Complete,
    HistorySearch,
    Editor,
    PasteImage,
    Edit(EditCommand),
    List(ListMove),
}

/// One editing step of a text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditCommand {
    /// A character; no row has it.
    Insert(char),
    Newline,
    Backspace,
    Delete,
    DeleteWordBack,
    /// Back to a space.
    DeleteSpacedWordBack,
    DeleteWordForward,
    KillToEnd,
    KillToStart,
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    Home,
    End,
    Yank,
    YankPop,
    Undo,
    Redo,
    /// The folded paste at the cursor.
    OpenPaste,
}

/// What a key does in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListMove {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Close,
}

/// One action.
#[derive(Clone, Copy, Debug)]
pub struct KeyRow {
    pub place: Place,
    pub action: Action,
    /// In `config.toml`.
    pub name: &'static str,
    /// The keys that it has by default.
    pub keys: &'static [&'static str],
    /// In `/help`; empty where a key says it itself.
    pub help: &'static str,
}

const fn row(
    place: Place,
    name: &'static str,
    keys: &'static [&'static str],
    action: Action,
    help: &'static str,
) -> KeyRow {
    KeyRow { place, action, name, keys, help }
}

use Action::{Edit, List};
use Place::{Composer, Everywhere};

/// All actions, in the order in which they are shown.
pub const ROWS: &[KeyRow] = &[
    row(Composer, "send", &["enter"], Action::Send, "send; during a turn: steer it"),
    row(
        Composer,
        "newline",
        &["shift-enter", "alt-enter", "ctrl-enter", "ctrl-j"],
        Edit(EditCommand::Newline),
        "new line (also \\ before Enter)",
    ),
    row(Composer, "next-mode", &["shift-tab"], Action::NextMode, "next mode: auto, explore, analyze, plan"),
    row(
        Composer,
        "escape",
        &["esc"],
        Action::Escape,
        "interrupt the turn; twice: clear the input; if it is empty: rewind",
    ),
    row(Composer, "cancel", &["ctrl-c"], Action::Cancel, "interrupt, or clear the input; twice: quit"),
    row(Composer, "quit", &["ctrl-d"], Action::Quit, "with empty input: quit"),
    row(Everywhere, "thinking", &["ctrl-t"], Action::Thinking, "show the last thinking in full"),
    row(Everywhere, "redraw", &["ctrl-l"], Action::Redraw, "clear the screen"),
    row(Everywhere, "suspend", &["ctrl-z"], Action::Suspend, "back to the shell; `fg` returns"),
    row(Composer, "complete", &["tab"], Action::Complete, "take the chosen completion; complete a !command"),
    row(
        Composer,
        "history-search",
        &["ctrl-r"],
        Action::HistorySearch,
        "search what you typed before, in all projects",
    ),
    row(Composer, "editor", &["ctrl-g"], Action::Editor, "write the text in your editor ($VISUAL, $EDITOR)"),
    row(
        Composer,
        "paste-image",
        &["ctrl-v", "alt-v"],
        Action::PasteImage,
        "attach the picture in the clipboard",
    ),
    row(
        Composer,
        "open-paste",
        &["alt-e"],
        Edit(EditCommand::OpenPaste),
        "open the folded paste at the cursor",
    ),
    row(
        Composer,
        "up",
        &["up", "ctrl-p"],
        Edit(EditCommand::Up),
        "line up, then earlier prompts; edits what is queued",
    ),
    row(Composer, "down", &["down", "ctrl-n"], Edit(EditCommand::Down), "line down, then later prompts"),
    row(Composer, "left", &["left", "ctrl-b"], Edit(EditCommand::Left), ""),
    row(Composer, "right", &["right", "ctrl-f"], Edit(EditCommand::Right), ""),
    row(Composer, "word-left", &["ctrl-left", "alt-left", "alt-b"], Edit(EditCommand::WordLeft), "word left"),
    row(
        Composer,
        "word-right",
        &["ctrl-right", "alt-right", "alt-f"],
        Edit(EditCommand::WordRight),
        "word right",
    ),
    row(Composer, "line-start", &["home", "ctrl-a"], Edit(EditCommand::Home), "start of the line"),
    row(Composer, "line-end", &["end", "ctrl-e"], Edit(EditCommand::End), "end of the line"),
    row(Composer, "backspace", &["backspace", "ctrl-h"], Edit(EditCommand::Backspace), ""),
    row(Composer, "delete", &["delete"], Edit(EditCommand::Delete), ""),
    row(
        Composer,
        "cut-word-left",
        &["alt-backspace", "ctrl-backspace"],
        Edit(EditCommand::DeleteWordBack),
        "cut the word before the cursor",
    ),
    row(
        Composer,
        "cut-word-right",
        &["alt-d", "alt-delete", "ctrl-delete"],
        Edit(EditCommand::DeleteWordForward),
        "cut the word behind it",
    ),
    row(Composer, "cut-to-end", &["ctrl-k"], Edit(EditCommand::KillToEnd), "cut to the end of the line"),
    row(Composer, "cut-to-start", &["ctrl-u"], Edit(EditCommand::KillToStart), "cut to its start"),
    row(
        Composer,
        "cut-spaced-word-left",
        &["ctrl-w"],
        Edit(EditCommand::DeleteSpacedWordBack),
        "cut back to a space",
    ),
    row(Composer, "yank", &["ctrl-y"], Edit(EditCommand::Yank), "put back what was cut"),
    row(Composer, "yank-older", &["alt-y"], Edit(EditCommand::YankPop), "then: what was cut before that"),
    row(Composer, "undo", &["ctrl-_"], Edit(EditCommand::Undo), "undo typing"),
    row(Composer, "redo", &["alt-r", "ctrl-shift-z"], Edit(EditCommand::Redo), "redo it"),
    row(Place::List, "list-up", &["up", "ctrl-p"], List(ListMove::Up), ""),
    row(Place::List, "list-down", &["down", "ctrl-n"], List(ListMove::Down), ""),
    row(Place::List, "list-page-up", &["pgup"], List(ListMove::PageUp), ""),
    row(Place::List, "list-page-down", &["pgdn"], List(ListMove::PageDown), ""),
    row(Place::List, "list-first", &["home"], List(ListMove::First), ""),
    row(Place::List, "list-last", &["end"], List(ListMove::Last), ""),
    row(Place::List, "list-close", &["esc", "ctrl-c", "ctrl-d"], List(ListMove::Close), ""),
];
