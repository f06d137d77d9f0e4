//! Keys whose escape sequence arrives in two parts, as over a slow line: crossterm takes the first byte for Esc and the
//! rest for text. Joined here if the rest follows at once. Sequences: ECMA-48 and xterm's (ctlseqs, "PC-Style Function Keys").

use std::io;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use futures_util::{Stream, StreamExt as _};

/// Longer than the gap within a sequence, shorter than a hand needs for two keys.
const REST_WITHIN: Duration = Duration::from_millis(50);
const MOST_CHARS: usize = 16;

pub struct KeyBurst {
    pub events: Vec<Event>,
    /// The reader failed or ended after them.
    pub ended: bool,
}

/// If the final Esc of `burst` begins a key, replaces it by that key.
pub async fn join(burst: &mut KeyBurst, keys: &mut (impl Stream<Item = io::Result<Event>> + Unpin)) {
    let mut rest = Vec::new();
    let mut text = String::new();
    while text.len() < MOST_CHARS {
        let event = match tokio::time::timeout(REST_WITHIN, keys.next()).await {
            Ok(Some(Ok(event))) => event,
            Ok(_) => {
                burst.ended = true;
                break;
            }
            Err(_) => break,
        };
        let letter = event.as_key_event().and_then(|key| key.code.as_char());
        rest.push(event);
        let Some(letter) = letter else { break };
        text.push(letter);
        if let Some(event) = parse(&text) {
            burst.events.pop();
            burst.events.extend(event);
            return;
        }
    }
    burst.events.extend(rest);
}

/// Returns `None` if incomplete or unknown; `Some(None)` if it is to be ignored.
fn parse(text: &str) -> Option<Option<Event>> {
    let press = |code, modifiers| Some(Some(Event::Key(KeyEvent::new(code, modifiers))));
    let mut chars = text.chars();
    let (first, last) = (chars.next()?, chars.next_back());
    let Some(last) = last else {
        return if matches!(first, '[' | 'O') {
            None
        } else {
            press(KeyCode::Char(first), KeyModifiers::ALT)
        };
    };
    if !chars.as_str().chars().all(|c| c.is_ascii_digit() || c == ';') {
        return None;
    }
    let mut numbers = chars.as_str().split(';').map(str::parse::<u8>);
    let number = numbers.next().and_then(Result::ok).unwrap_or(1);
    let held = numbers.next().and_then(Result::ok).unwrap_or(1).saturating_sub(1);
    // Shift, Alt and Ctrl are the same bits in another order.
    let mut modifiers = KeyModifiers::NONE;
    for (bit, modifier) in [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)] {
        modifiers.set(modifier, held & bit != 0);
    }
    let code = match (last, number) {
        ('A', _) => KeyCode::Up,
        ('B', _) => KeyCode::Down,
        ('C', _) => KeyCode::Right,
        ('D', _) => KeyCode::Left,
        ('H', _) | ('~', 1 | 7) => KeyCode::Home,
        ('F', _) | ('~', 4 | 8) => KeyCode::End,
        ('Z', _) => KeyCode::BackTab,
        ('~', 2) => KeyCode::Insert,
        ('~', 3) => KeyCode::Delete,
        ('~', 5) => KeyCode::PageUp,
        ('~', 6) => KeyCode::PageDown,
        ('P'..='S', _) => KeyCode::F(last as u8 - b'P' + 1),
        ('~', 11..=15) => KeyCode::F(number - 10),
        ('~', 17..=21) => KeyCode::F(number - 11),
        ('~', 23 | 24) => KeyCode::F(number - 12),
        ('I', _) => return Some(Some(Event::FocusGained)),
        ('O', _) if first == '[' => return Some(Some(Event::FocusLost)),
        // The start of a marked paste: its text follows as keys.
        ('~', 200) => return Some(None),
        _ => return None,
    };
    press(code, modifiers)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::stream;

    use super::*;

    async fn joined(text: &str) -> Vec<Event> {
        let press = |code| Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        let mut burst = KeyBurst { events: vec![press(KeyCode::Esc)], ended: false };
        let keys: Vec<_> = text.chars().map(|c| Ok(press(KeyCode::Char(c)))).collect();
        join(&mut burst, &mut stream::iter(keys).chain(stream::pending())).await;
        burst.events
    }

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Vec<Event> {
        vec![Event::Key(KeyEvent::new(code, modifiers))]
    }

    #[tokio::test]
    async fn parts_are_joined() {
        let (none, ctrl) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        assert_eq!(joined("").await, key(KeyCode::Esc, none));
        assert_eq!(joined("[A").await, key(KeyCode::Up, none));
        assert_eq!(joined("OP").await, key(KeyCode::F(1), none));
        assert_eq!(joined("[1;5C").await, key(KeyCode::Right, ctrl));
        assert_eq!(joined("[3~").await, key(KeyCode::Delete, none));
        assert_eq!(joined("[3;5~").await, key(KeyCode::Delete, ctrl));
        assert_eq!(joined("b").await, key(KeyCode::Char('b'), KeyModifiers::ALT));
        assert_eq!(joined("[200~").await, []);
        assert_eq!(joined("[what is").await.len(), 9, "nothing typed is lost");
    }
}
