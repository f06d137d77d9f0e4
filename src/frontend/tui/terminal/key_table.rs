//! All key actions, with their `config.toml` names, default keys and help. A new action is one variant and
//! one row here, and one arm where its place handles keys.

/// Where a key applies; `Everywhere` is looked up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Everywhere,
    Composer,
    List,
    /// The transcript, outputs or changes in full screen.
    Pager,
}

pub const PLACES: [Place; 4] = [Place::Everywhere, Place::Composer, Place::List, Place::Pager];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Suspend,
    Redraw,
    Transcript,
    Expand,
    FoldTodos,
    Send,
    Cancel,
    Escape,
    Quit,
    NextMode,
    Complete,
    HistorySearch,
    Editor,
    Stash,
    Models,
    PasteImage,
    Edit(EditCommand),
    List(ListMove),
    Pager(PagerMove),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditCommand {
    /// Not in the table.
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
    OpenPaste,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListMove {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Close,
    /// Removes the chosen row: deletes, stops or revokes.
    Remove,
    Undo,
    Rename,
    /// Continue in a copy.
    Fork,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagerMove {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    NextCell,
    PreviousCell,
    NextTurn,
    PreviousTurn,
    /// The next output.
    After,
    Before,
    /// The next search match; without a search, like `After`.
    Next,
    Previous,
    Search,
    Wrap,
    ShiftLeft,
    ShiftRight,
    Toggle,
    Copy,
    CopyCode,
    Revert,
    Stage,
    /// Opens the sub-agent of this call.
    Agent,
    Close,
}

#[derive(Clone, Copy, Debug)]
pub struct KeyRow {
    pub place: Place,
    pub action: Action,
    /// In `config.toml`.
    pub name: &'static str,
    pub keys: &'static [&'static str],
    /// For `/help`; empty if the key shows its own hint.
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

use Action::{Edit, List, Pager};
use Place::{Composer, Everywhere};

/// In display order.
pub const ROWS: &[KeyRow] = &[
    row(Composer, "send", &["enter"], Action::Send, "send; during a turn: steer it"),
    row(
        Composer,
        "newline",
        &["shift-enter", "alt-enter", "ctrl-enter", "ctrl-j"],
        Edit(EditCommand::Newline),
        "new line (also \\ before Enter)",
    ),
    row(Composer, "next-mode", &["shift-tab"], Action::NextMode, "next of ask, accept-edits, plan, auto"),
    row(
        Composer,
        "escape",
        &["esc"],
        Action::Escape,
        "interrupt the turn; twice: clear the input; if it is empty: rewind",
    ),
    row(Composer, "cancel", &["ctrl-c"], Action::Cancel, "interrupt, or clear the input; twice: quit"),
    row(Composer, "quit", &["ctrl-d"], Action::Quit, "delete forward; with empty input: quit"),
    row(Everywhere, "expand", &["ctrl-o"], Action::Expand, "show the last output, thinking or diff in full"),
    row(
        Everywhere,
        "transcript",
        &["ctrl-t"],
        Action::Transcript,
        "show the whole session, to search and copy",
    ),
    row(Everywhere, "fold-todos", &["alt-t"], Action::FoldTodos, "fold the todo list, or show it again"),
    row(Everywhere, "redraw", &["ctrl-l"], Action::Redraw, "clear the screen"),
    row(Everywhere, "suspend", &["ctrl-z"], Action::Suspend, "back to the shell; `fg` returns"),
    row(
        Composer,
        "complete",
        &["tab"],
        Action::Complete,
        "answer a waiting question; complete; during a turn: send after it",
    ),
    row(
        Composer,
        "history-search",
        &["ctrl-r"],
        Action::HistorySearch,
        "search what you typed before, in all projects",
    ),
    row(
        Composer,
        "editor",
        &["ctrl-g"],
        Action::Editor,
        "write the text in your editor (also Ctrl-X Ctrl-E)",
    ),
    row(Composer, "stash", &["ctrl-s"], Action::Stash, "set the text aside; put it back"),
    row(Composer, "models", &["alt-p"], Action::Models, "choose a model"),
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
    row(Place::List, "list-remove", &["delete", "ctrl-x"], List(ListMove::Remove), ""),
    row(Place::List, "list-undo", &["ctrl-u"], List(ListMove::Undo), ""),
    row(Place::List, "list-rename", &["ctrl-r"], List(ListMove::Rename), ""),
    row(Place::List, "list-fork", &["ctrl-f"], List(ListMove::Fork), ""),
    row(Place::List, "list-close", &["esc", "ctrl-c", "ctrl-d"], List(ListMove::Close), ""),
    row(Place::Pager, "pager-up", &["up", "k", "ctrl-p"], Pager(PagerMove::Up), ""),
    row(Place::Pager, "pager-down", &["down", "j", "ctrl-n"], Pager(PagerMove::Down), ""),
    row(Place::Pager, "pager-page-up", &["pgup", "b", "ctrl-b"], Pager(PagerMove::PageUp), ""),
    row(Place::Pager, "pager-page-down", &["pgdn", "space", "ctrl-f"], Pager(PagerMove::PageDown), ""),
    row(Place::Pager, "pager-top", &["home", "g"], Pager(PagerMove::Top), ""),
    row(Place::Pager, "pager-bottom", &["end", "G"], Pager(PagerMove::Bottom), ""),
    row(Place::Pager, "pager-next-cell", &["tab"], Pager(PagerMove::NextCell), ""),
    row(Place::Pager, "pager-previous-cell", &["shift-tab"], Pager(PagerMove::PreviousCell), ""),
    row(Place::Pager, "pager-next-turn", &["]"], Pager(PagerMove::NextTurn), ""),
    row(Place::Pager, "pager-previous-turn", &["["], Pager(PagerMove::PreviousTurn), ""),
    row(Place::Pager, "pager-after", &["right"], Pager(PagerMove::After), ""),
    row(Place::Pager, "pager-before", &["left"], Pager(PagerMove::Before), ""),
    row(Place::Pager, "pager-next", &["n"], Pager(PagerMove::Next), ""),
    row(Place::Pager, "pager-previous", &["p", "N"], Pager(PagerMove::Previous), ""),
    row(Place::Pager, "pager-search", &["/"], Pager(PagerMove::Search), ""),
    row(Place::Pager, "pager-wrap", &["w"], Pager(PagerMove::Wrap), ""),
    row(Place::Pager, "pager-shift-left", &["<"], Pager(PagerMove::ShiftLeft), ""),
    row(Place::Pager, "pager-shift-right", &[">"], Pager(PagerMove::ShiftRight), ""),
    row(Place::Pager, "pager-toggle", &["enter"], Pager(PagerMove::Toggle), ""),
    row(Place::Pager, "pager-copy", &["y"], Pager(PagerMove::Copy), ""),
    row(Place::Pager, "pager-copy-code", &["c"], Pager(PagerMove::CopyCode), ""),
    row(Place::Pager, "pager-revert", &["r"], Pager(PagerMove::Revert), ""),
    row(Place::Pager, "pager-stage", &["s"], Pager(PagerMove::Stage), ""),
    row(Place::Pager, "pager-agent", &["o"], Pager(PagerMove::Agent), ""),
    row(Place::Pager, "pager-close", &["q", "esc", "ctrl-c", "ctrl-d"], Pager(PagerMove::Close), ""),
];
