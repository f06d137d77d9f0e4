//! What the screen asks of the disk and of other programs, off the loop: the answer comes as a message.

use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedSender;

use super::msg::Msg;
use crate::tui::popup::shell_words::last_word;
use crate::tui::terminal::external;
use crate::tui::terminal::shell_words;

/// Answered by `Msg::Picture`; `folder` is where it is put.
pub fn paste_picture(folder: PathBuf, done: UnboundedSender<Msg>) {
    tokio::task::spawn_blocking(move || {
        let picture = external::paste_picture(&folder);
        let _ = done.send(Msg::Picture(picture.map(|path| path.to_string_lossy().into_owned())));
    });
}

/// Answered by `Msg::ShellWords`; `folder` is the workspace.
pub fn complete_shell(before: String, folder: PathBuf, done: UnboundedSender<Msg>) {
    tokio::task::spawn_blocking(move || {
        let (at, program) = last_word(&before);
        let words = shell_words::candidates(&before[at..], program, &folder);
        let _ = done.send(Msg::ShellWords { before, words });
    });
}
