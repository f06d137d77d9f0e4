//! Which key means what in the composer. The one table of editing keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// One editing step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditCommand {
    Insert(char),
    Newline,
    Backspace,
    Delete,
    DeleteWordBack,
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
    Undo,
}

/// The editing step of a key, if it is one. Plain Enter is not: it sends.
pub fn edit(key: KeyEvent) -> Option<EditCommand> {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    Some(match key.code {
        KeyCode::Enter if shift || alt || ctrl => EditCommand::Newline,
        KeyCode::Backspace if ctrl || alt => EditCommand::DeleteWordBack,
        KeyCode::Backspace => EditCommand::Backspace,
        KeyCode::Delete if ctrl || alt => EditCommand::DeleteWordForward,
        KeyCode::Delete => EditCommand::Delete,
        KeyCode::Left if ctrl || alt => EditCommand::WordLeft,
        KeyCode::Right if ctrl || alt => EditCommand::WordRight,
        KeyCode::Left => EditCommand::Left,
        KeyCode::Right => EditCommand::Right,
        KeyCode::Up => EditCommand::Up,
        KeyCode::Down => EditCommand::Down,
        KeyCode::Home => EditCommand::Home,
        KeyCode::End => EditCommand::End,
        // AltGr arrives as Ctrl+Alt on some terminals: such a key is a character.
        KeyCode::Char(c) if ctrl && alt && !c.is_ascii_alphabetic() => EditCommand::Insert(c),
        KeyCode::Char(c) if ctrl => match c.to_ascii_lowercase() {
            'a' => EditCommand::Home,
            'e' => EditCommand::End,
            'b' => EditCommand::Left,
            'f' => EditCommand::Right,
            'p' => EditCommand::Up,
            'n' => EditCommand::Down,
            'k' => EditCommand::KillToEnd,
            'u' => EditCommand::KillToStart,
            'w' => EditCommand::DeleteWordBack,
            'h' => EditCommand::Backspace,
            'j' => EditCommand::Newline,
            // Ctrl-_ arrives as Ctrl-7 where the terminal sends the bare byte 0x1f.
            '_' | '7' | '/' => EditCommand::Undo,
            _ => return None,
        },
        KeyCode::Char(c) if alt => match c {
            'b' | 'B' => EditCommand::WordLeft,
            'f' | 'F' => EditCommand::WordRight,
            'd' | 'D' => EditCommand::DeleteWordForward,
            _ => return None,
        },
        KeyCode::Char(c) => EditCommand::Insert(c),
        _ => return None,
    })
}

/// Whether this is Ctrl and that letter.
pub fn is_ctrl(key: KeyEvent, letter: char) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL)
        && !key.modifiers.contains(KeyModifiers::ALT)
        && matches!(key.code, KeyCode::Char(c) if c.eq_ignore_ascii_case(&letter))
}

/// A letter or digit typed without Ctrl or Alt.
pub fn plain_char(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(c),
        _ => None,
    }
}
