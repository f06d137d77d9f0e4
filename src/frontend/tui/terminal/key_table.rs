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
    /// Lower and raise the effort.
    LessEffort,
    MoreEffort,
    Background,
    PasteImage,
    Edit(EditCommand),
    List(ListMove),
    Pager(PagerMove),
}

impl Action {
    pub fn place(self) -> Place {
        match self {
            Self::Suspend | Self::Redraw | Self::Transcript | Self::Expand | Self::FoldTodos => {
                Place::Everywhere
            }
            Self::List(_) => Place::List,
            Self::Pager(_) => Place::Pager,
            _ => Place::Composer,
        }
    }
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
    pub action: Action,
    /// In `config.toml`.
    pub name: &'static str,
    /// Separated by spaces.
    pub keys: &'static str,
    /// For `/help`; empty if the key shows its own hint.
    pub help: &'static str,
}

const fn row(name: &'static str, keys: &'static str, action: Action, help: &'static str) -> KeyRow {
    KeyRow { action, name, keys, help }
}

use Action::{Edit, List, Pager};

/// In display order.
pub const ROWS: &[KeyRow] = &[
    row("send", "enter", Action::Send, "send; during a turn: steer it"),
    row(
        "newline",
        "shift-enter alt-enter ctrl-enter ctrl-j",
        Edit(EditCommand::Newline),
        "new line (also \\ before Enter)",
    ),
    row("next-mode", "shift-tab", Action::NextMode, "next of ask, accept-edits, plan, auto"),
    row(
        "escape",
        "esc",
        Action::Escape,
        "interrupt the turn; twice: clear the input; if it is empty: rewind",
    ),
    row("cancel", "ctrl-c", Action::Cancel, "interrupt, or clear the input; twice: quit"),
    row("quit", "ctrl-d", Action::Quit, "delete forward; with empty input: quit"),
    row("expand", "ctrl-o", Action::Expand, "show the last output, thinking or diff in full"),
    row("transcript", "ctrl-t", Action::Transcript, "show the whole session, to search and copy"),
    row("fold-todos", "alt-t", Action::FoldTodos, "fold the todo list, or show it again"),
    row("redraw", "ctrl-l", Action::Redraw, "clear the screen"),
    row("suspend", "ctrl-z", Action::Suspend, "back to the shell; `fg` returns"),
    row(
        "complete",
        "tab",
        Action::Complete,
        "answer a waiting question; complete; during a turn: send after it",
    ),
    row("history-search", "ctrl-r", Action::HistorySearch, "search what you typed before, in all projects"),
    row("editor", "ctrl-g", Action::Editor, "write the text in your editor (also Ctrl-X Ctrl-E)"),
    row("stash", "ctrl-s", Action::Stash, "set the text aside; put it back"),
    row("models", "alt-p", Action::Models, "choose a model"),
    row("less-effort", "alt-,", Action::LessEffort, "let the model think less"),
    row("more-effort", "alt-.", Action::MoreEffort, "let the model think more"),
    row("background", "ctrl-b", Action::Background, "move the running command to the background"),
    row("paste-image", "ctrl-v alt-v", Action::PasteImage, "attach the picture in the clipboard"),
    row("open-paste", "alt-e", Edit(EditCommand::OpenPaste), "open the folded paste at the cursor"),
    row("up", "up ctrl-p", Edit(EditCommand::Up), "line up, then earlier prompts; edits what is queued"),
    row("down", "down ctrl-n", Edit(EditCommand::Down), "line down, then later prompts"),
    row("left", "left", Edit(EditCommand::Left), ""),
    row("right", "right ctrl-f", Edit(EditCommand::Right), ""),
    row("word-left", "ctrl-left alt-left alt-b", Edit(EditCommand::WordLeft), "word left"),
    row("word-right", "ctrl-right alt-right alt-f", Edit(EditCommand::WordRight), "word right"),
    row("line-start", "home ctrl-a", Edit(EditCommand::Home), "start of the line"),
    row("line-end", "end ctrl-e", Edit(EditCommand::End), "end of the line"),
    row("backspace", "backspace ctrl-h", Edit(EditCommand::Backspace), ""),
    row("delete", "delete", Edit(EditCommand::Delete), ""),
    row(
        "cut-word-left",
        "alt-backspace ctrl-backspace",
        Edit(EditCommand::DeleteWordBack),
        "cut the word before the cursor",
    ),
    row(
        "cut-word-right",
        "alt-d alt-delete ctrl-delete",
        Edit(EditCommand::DeleteWordForward),
        "cut the word after the cursor",
    ),
    row("cut-to-end", "ctrl-k", Edit(EditCommand::KillToEnd), "cut to the end of the line"),
    row("cut-to-start", "ctrl-u", Edit(EditCommand::KillToStart), "cut to its start"),
    row("cut-spaced-word-left", "ctrl-w", Edit(EditCommand::DeleteSpacedWordBack), "cut back to a space"),
    row("yank", "ctrl-y", Edit(EditCommand::Yank), "put back what was cut"),
    row("yank-older", "alt-y", Edit(EditCommand::YankPop), "after Ctrl-Y: cycle through earlier cuts"),
    row("undo", "ctrl-_", Edit(EditCommand::Undo), "undo typing"),
    row("redo", "alt-r ctrl-shift-z", Edit(EditCommand::Redo), "redo it"),
    row("list-up", "up ctrl-p", List(ListMove::Up), ""),
    row("list-down", "down ctrl-n", List(ListMove::Down), ""),
    row("list-page-up", "pgup", List(ListMove::PageUp), ""),
    row("list-page-down", "pgdn", List(ListMove::PageDown), ""),
    row("list-first", "home", List(ListMove::First), ""),
    row("list-last", "end", List(ListMove::Last), ""),
    row("list-remove", "delete ctrl-x", List(ListMove::Remove), ""),
    row("list-undo", "ctrl-u", List(ListMove::Undo), ""),
    row("list-rename", "ctrl-r", List(ListMove::Rename), ""),
    row("list-fork", "ctrl-f", List(ListMove::Fork), ""),
    row("list-close", "esc ctrl-c ctrl-d", List(ListMove::Close), ""),
    row("pager-up", "up k ctrl-p", Pager(PagerMove::Up), ""),
    row("pager-down", "down j ctrl-n", Pager(PagerMove::Down), ""),
    row("pager-page-up", "pgup b ctrl-b", Pager(PagerMove::PageUp), ""),
    row("pager-page-down", "pgdn space ctrl-f", Pager(PagerMove::PageDown), ""),
    row("pager-top", "home g", Pager(PagerMove::Top), ""),
    row("pager-bottom", "end G", Pager(PagerMove::Bottom), ""),
    row("pager-next-cell", "tab", Pager(PagerMove::NextCell), ""),
    row("pager-previous-cell", "shift-tab", Pager(PagerMove::PreviousCell), ""),
    row("pager-next-turn", "]", Pager(PagerMove::NextTurn), ""),
    row("pager-previous-turn", "[", Pager(PagerMove::PreviousTurn), ""),
    row("pager-after", "right", Pager(PagerMove::After), ""),
    row("pager-before", "left", Pager(PagerMove::Before), ""),
    row("pager-next", "n", Pager(PagerMove::Next), ""),
    row("pager-previous", "p N", Pager(PagerMove::Previous), ""),
    row("pager-search", "/", Pager(PagerMove::Search), ""),
    row("pager-wrap", "w", Pager(PagerMove::Wrap), ""),
    row("pager-shift-left", "<", Pager(PagerMove::ShiftLeft), ""),
    row("pager-shift-right", ">", Pager(PagerMove::ShiftRight), ""),
    row("pager-toggle", "enter", Pager(PagerMove::Toggle), ""),
    row("pager-copy", "y", Pager(PagerMove::Copy), ""),
    row("pager-copy-code", "c", Pager(PagerMove::CopyCode), ""),
    row("pager-revert", "r", Pager(PagerMove::Revert), ""),
    row("pager-stage", "s", Pager(PagerMove::Stage), ""),
    row("pager-agent", "o", Pager(PagerMove::Agent), ""),
    row("pager-close", "q esc ctrl-c ctrl-d", Pager(PagerMove::Close), ""),
];
