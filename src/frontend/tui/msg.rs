//! Input messages of the reducer, and the commands it returns. Plain data.

use crossterm::event::{Event as TerminalEvent, KeyEvent, MouseEvent};

use crate::tui::render::theme::Background;
use crate::tui::transcript::entry::TranscriptEntry;
use base::config::theme::ThemeName;
use base::protocol::event::Event;
use base::protocol::op::Op;

/// `ShellWords`: completions of a `!command`'s last word; `before` is its text. `Tick`: only while something runs.
#[derive(Clone, Debug)]
pub enum Msg {
    Key(KeyEvent),
    Paste(String),
    Edited(String),
    ShellWords { before: String, words: Vec<String> },
    Picture(Result<String, String>),
    Focus(bool),
    Mouse(MouseEvent),
    Resize(u16, u16),
    Event(Box<Event>),
    Background(Background),
    Tick,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    Send(Op),
    Print(TranscriptEntry),
    /// Remove the last printed parts of an answer, if they are still visible.
    Withdraw(usize),
    /// Scroll everything into the scrollback. `forget`: what was printed was rewound, so don't print it again.
    ClearScreen {
        forget: bool,
    },
    /// Open a workspace-relative file in the user's editor.
    Edit(String),
    /// Edit this text in the user's editor; answered by `Msg::Edited`.
    Compose(String),
    /// Complete the last word of this `!command`; answered by `Msg::ShellWords`.
    CompleteShell(String),
    PastePicture,
    Copy(String),
    KeepTheme(ThemeName),
    Suspend,
    Quit,
}

impl Msg {
    pub fn of(event: TerminalEvent) -> Option<Self> {
        match event {
            TerminalEvent::Key(key) => Some(Self::Key(key)),
            TerminalEvent::Paste(text) => Some(Self::Paste(text)),
            TerminalEvent::Mouse(mouse) => Some(Self::Mouse(mouse)),
            TerminalEvent::FocusGained => Some(Self::Focus(true)),
            TerminalEvent::FocusLost => Some(Self::Focus(false)),
            _ => None,
        }
    }
}
