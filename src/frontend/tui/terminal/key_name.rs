//! Key names in `config.toml` and `/help`, and the canonical form for lookup, independent of the terminal's
//! encoding. Legacy terminals send control characters: Ctrl-I is Tab, Ctrl-_ arrives as Ctrl-7 (crossterm
//! 0.29, `event/sys/unix/parse.rs`); kitty's protocol tells them apart.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The first name of a key is the one shown.
const NAMES: [(&str, KeyCode); 20] = [
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("space", KeyCode::Char(' ')),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pageup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("pagedown", KeyCode::PageDown),
    ("minus", KeyCode::Char('-')),
];

const HELD: [(&str, KeyModifiers); 3] =
    [("ctrl", KeyModifiers::CONTROL), ("alt", KeyModifiers::ALT), ("shift", KeyModifiers::SHIFT)];

pub fn canonical(mut key: KeyEvent) -> KeyEvent {
    // Option on a Mac arrives as any of these, depending on the terminal.
    let other = KeyModifiers::META | KeyModifiers::SUPER | KeyModifiers::HYPER;
    if key.modifiers.intersects(other) {
        key.modifiers = (key.modifiers - other) | KeyModifiers::ALT;
    }
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Tab if shift => key.code = KeyCode::BackTab,
        // Some terminals send AltGr as Ctrl+Alt; such a key is a character.
        KeyCode::Char(c) if ctrl && alt && !c.is_ascii_alphabetic() => key.modifiers = KeyModifiers::NONE,
        KeyCode::Char(c) if ctrl || alt => {
            if c.is_ascii_uppercase() {
                key.modifiers.insert(KeyModifiers::SHIFT);
            }
            key.code = KeyCode::Char(c.to_ascii_lowercase());
        }
        KeyCode::Char(_) => key.modifiers = KeyModifiers::NONE,
        _ => {}
    }
    if key.modifiers == KeyModifiers::CONTROL || (ctrl && !alt && matches!(key.code, KeyCode::Char('-'))) {
        key.code = match key.code {
            KeyCode::Char('i') => KeyCode::Tab,
            KeyCode::Char('m') => KeyCode::Enter,
            KeyCode::Char('[') => KeyCode::Esc,
            KeyCode::Char('4') => KeyCode::Char('\\'),
            KeyCode::Char('5') => KeyCode::Char(']'),
            KeyCode::Char('6') => KeyCode::Char('^'),
            // Terminals disagree on which key types the byte 0x1f.
            KeyCode::Char('7' | '/' | '-') => KeyCode::Char('_'),
            code => code,
        };
        match key.code {
            KeyCode::Tab | KeyCode::Esc => key.modifiers = KeyModifiers::NONE,
            KeyCode::Char('_') => key.modifiers = KeyModifiers::CONTROL,
            _ => {}
        }
    }
    if key.code == KeyCode::BackTab {
        key.modifiers -= KeyModifiers::SHIFT;
    }
    key
}

pub fn parse(name: &str) -> Option<KeyEvent> {
    let mut rest = name.trim();
    let mut modifiers = KeyModifiers::NONE;
    let code = loop {
        let lower = rest.to_ascii_lowercase();
        let behind = |held: &str| lower.strip_prefix(held).filter(|rest| rest.len() > 1);
        let is_held = |held: &str| behind(held).is_some_and(|rest| rest.starts_with(['-', '+']));
        match HELD.iter().find(|(held, _)| is_held(held)) {
            Some((held, modifier)) => {
                modifiers |= *modifier;
                rest = &rest[held.len() + 1..];
            }
            None => break code(rest)?,
        }
    };
    let code = match code {
        KeyCode::Char(c) if !modifiers.is_empty() => KeyCode::Char(c.to_ascii_lowercase()),
        code => code,
    };
    Some(canonical(KeyEvent::new(code, modifiers)))
}

fn code(name: &str) -> Option<KeyCode> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return (!c.is_control()).then_some(KeyCode::Char(c));
    }
    let name = name.to_ascii_lowercase();
    let function = || name.strip_prefix('f')?.parse().ok().filter(|n| (1..=24).contains(n)).map(KeyCode::F);
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code).or_else(function)
}

pub fn show(key: KeyEvent) -> String {
    let (code, modifiers) = match key.code {
        KeyCode::BackTab => (KeyCode::Tab, key.modifiers | KeyModifiers::SHIFT),
        code => (code, key.modifiers),
    };
    let held = HELD.iter().filter(|(_, modifier)| modifiers.contains(*modifier));
    let mut name: String = held.map(|(held, _)| format!("{}-", capital(held))).collect();
    match (NAMES.iter().find(|(_, known)| *known == code), code) {
        (Some(("pgup", _)), _) => name.push_str("PgUp"),
        (Some(("pgdn", _)), _) => name.push_str("PgDn"),
        (Some((known, _)), _) => name.push_str(&capital(known)),
        (None, KeyCode::Char(c)) if name.is_empty() => name.push(c),
        (None, KeyCode::Char(c)) => name.extend(c.to_uppercase()),
        (None, KeyCode::F(n)) => name.push_str(&format!("F{n}")),
        (None, _) => name.push('?'),
    }
    name
}

fn capital(name: &str) -> String {
    name[..1].to_ascii_uppercase() + &name[1..]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn press(c: char, modifiers: KeyModifiers) -> KeyEvent {
        canonical(KeyEvent::new(KeyCode::Char(c), modifiers))
    }

    #[test]
    fn names_round_trip() {
        for name in
            ["Ctrl-R", "Alt-Shift-Left", "F5", "?", "Shift-Tab", "PgDn", "Ctrl-_", "Enter", "Alt-Backspace"]
        {
            assert_eq!(show(parse(name).unwrap()), name);
        }
        for name in ["", "ctrl-", "hyper-x", "ctrl-foo", "f99"] {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_eq!(parse("ctrl+r"), parse("CTRL-R"));
        assert_eq!(parse("ctrl--"), parse("ctrl-_"));
    }

    #[test]
    fn encodings_agree() {
        let ctrl = KeyModifiers::CONTROL;
        assert_eq!(press('7', ctrl), parse("ctrl-_").unwrap());
        assert_eq!(press('-', ctrl | KeyModifiers::SHIFT), parse("ctrl-_").unwrap());
        assert_eq!(press('i', ctrl), parse("tab").unwrap());
        assert_eq!(press('[', ctrl), parse("esc").unwrap());
        assert_eq!(press('Z', ctrl), parse("ctrl-shift-z").unwrap());
        assert_eq!(press('B', KeyModifiers::ALT), parse("alt-shift-b").unwrap());
        assert_eq!(press('@', ctrl | KeyModifiers::ALT), parse("@").unwrap());
        assert_eq!(press('b', KeyModifiers::META), parse("alt-b").unwrap());
        assert_eq!(
            canonical(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
            parse("shift-tab").unwrap()
        );
    }
}
