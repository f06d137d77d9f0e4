//! Which key means what in the composer. The one table of editing keys; knows nothing of state.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// One editing step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
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
pub fn edit(key: KeyEvent) -> Option<Edit> {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    Some(match key.code {
        KeyCode::Enter if shift || alt || ctrl => Edit::Newline,
        KeyCode::Backspace if ctrl || alt => Edit::DeleteWordBack,
        KeyCode::Backspace => Edit::Backspace,
        KeyCode::Delete if ctrl || alt => Edit::DeleteWordForward,
        KeyCode::Delete => Edit::Delete,
        KeyCode::Left if ctrl || alt => Edit::WordLeft,
        KeyCode::Right if ctrl || alt => Edit::WordRight,
        KeyCode::Left => Edit::Left,
        KeyCode::Right => Edit::Right,
        KeyCode::Up => Edit::Up,
        KeyCode::Down => Edit::Down,
        KeyCode::Home => Edit::Home,
        KeyCode::End => Edit::End,
        // AltGr arrives as Ctrl+Alt on some terminals: such a key is a character.
        KeyCode::Char(c) if ctrl && alt && !c.is_ascii_alphabetic() => Edit::Insert(c),
        KeyCode::Char(c) if ctrl => match c.to_ascii_lowercase() {
            'a' => Edit::Home,
            'e' => Edit::End,
            'b' => Edit::Left,
            'f' => Edit::Right,
            'p' => Edit::Up,
            'n' => Edit::Down,
            'k' => Edit::KillToEnd,
            'u' => Edit::KillToStart,
            'w' => Edit::DeleteWordBack,
            'h' => Edit::Backspace,
            'j' => Edit::Newline,
            // Ctrl-_ arrives as Ctrl-7 where the terminal sends the bare byte 0x1f.
            '_' | '7' | '/' => Edit::Undo,
            _ => return None,
        },
        KeyCode::Char(c) if alt => match c {
            'b' | 'B' => Edit::WordLeft,
            'f' | 'F' => Edit::WordRight,
            'd' | 'D' => Edit::DeleteWordForward,
            _ => return None,
        },
        KeyCode::Char(c) => Edit::Insert(c),
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
