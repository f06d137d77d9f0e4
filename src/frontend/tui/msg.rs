//! What can happen to the screen, and what the reducer wants done about it. Plain data.

use crossterm::event::KeyEvent;

use crate::tui::render::theme::Background;
use crate::tui::transcript::entry::TranscriptEntry;
use base::config::theme::ThemeName;
use base::protocol::event::Event;
use base::protocol::op::Op;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    Key(KeyEvent),
    Paste(String),
    /// What the user made of the text in the editor.
    Edited(String),
    /// What the last word of a `!command` may become; `before` is the text up to it and the cursor.
    ShellWords {
        before: String,
        words: Vec<String>,
    },
    /// The file of the picture that was in the clipboard, or why there is none.
    Picture(Result<String, String>),
    /// Whether the terminal has the focus.
    Focus(bool),
    /// Columns and rows.
    Resize(u16, u16),
    /// From the agent.
    Event(Event),
    /// The terminal said what its background is, later than the rest.
    Background(Background),
    /// The spinner's beat; comes only while something runs.
    Tick,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    Send(Op),
    /// A finished piece of the transcript: into the terminal's scrollback.
    Print(TranscriptEntry),
    /// Begin at the top of an empty screen; what is visible goes to the scrollback.
    ClearScreen,
    /// Open a file, relative to the workspace, in the user's editor.
    Edit(String),
    /// Let the user write this text in an editor; answered by `Msg::Edited`.
    Compose(String),
    /// Ask what the last word of this `!command` may become; answered by `Msg::ShellWords`.
    CompleteShell(String),
    /// Ask for the clipboard's picture; answered by `Msg::Picture`.
    PastePicture,
    /// Put this into the clipboard.
    Copy(String),
    /// Keep this theme for the user.
    KeepTheme(ThemeName),
    /// Give the terminal back to the shell (Ctrl-Z).
    Suspend,
    Quit,
}
