//! All key actions; `keys.txt` has their names in `config.toml`, default keys and help. A new action is one
//! variant here, one row there, and one arm where its place handles keys.

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

/// Where a key applies; `Everywhere` is looked up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyPlace {
    Everywhere,
    Composer,
    List,
    /// The transcript, outputs or changes in full screen.
    Pager,
}

pub const PLACES: [KeyPlace; 4] = [KeyPlace::Everywhere, KeyPlace::Composer, KeyPlace::List, KeyPlace::Pager];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    LessEffort,
    MoreEffort,
    Background,
    PasteImage,
    #[serde(skip)]
    List(ListMove),
    #[serde(skip)]
    Pager(PagerMove),
    #[serde(untagged)]
    Edit(EditCommand),
}

impl Action {
    pub fn place(self) -> KeyPlace {
        match self {
            Self::Suspend | Self::Redraw | Self::Transcript | Self::Expand | Self::FoldTodos => {
                KeyPlace::Everywhere
            }
            Self::List(_) => KeyPlace::List,
            Self::Pager(_) => KeyPlace::Pager,
            _ => KeyPlace::Composer,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EditCommand {
    #[serde(skip)]
    Insert(char),
    Newline,
    Backspace,
    Delete,
    CutWordLeft,
    /// Back to a space.
    CutSpacedWordLeft,
    CutWordRight,
    CutToEnd,
    CutToStart,
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Yank,
    YankOlder,
    Undo,
    Redo,
    OpenPaste,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListMove {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Close,
    Remove,
    Undo,
    Rename,
    Fork,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    Agent,
    Close,
}

#[derive(Clone, Copy, Debug)]
pub struct KeyRow {
    pub action: Action,
    pub name: &'static str,
    pub keys: &'static str,
    pub help: &'static str,
}

pub static ROWS: LazyLock<Vec<KeyRow>> =
    LazyLock::new(|| include_str!("keys.txt").lines().filter_map(row).collect());

fn row(line: &'static str) -> Option<KeyRow> {
    let mut columns = line.splitn(3, '|').map(str::trim);
    let (name, keys, help) = (columns.next()?, columns.next()?, columns.next()?);
    let action = match name.split_once('-') {
        Some(("list", step)) => Action::List(named(step)?),
        Some(("pager", step)) => Action::Pager(named(step)?),
        _ => named(name)?,
    };
    Some(KeyRow { action, name, keys, help })
}

fn named<T: Deserialize<'static>>(name: &'static str) -> Option<T> {
    T::deserialize(StrDeserializer::<Error>::new(name)).ok()
}
