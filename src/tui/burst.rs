//! Keys that arrive together. A terminal without bracketed paste sends a paste as key presses: taken one by one, a
//! megabyte would need minutes and its first line end would send it. Many plain characters at once are therefore taken
//! as a paste; a few are typing. Knows nothing of what the text is for.

use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::{StreamExt, poll};

/// So many characters at once were not typed.
const PASTE_CHARS: usize = 200;
/// The most that is gathered before the screen gets a turn.
const MOST_CHARS: usize = 64 * 1024;
/// How long a line end waits for more of the same paste before it counts as the Enter key.
const MORE_WITHIN: Duration = Duration::from_millis(15);

/// What a burst comes to: events to be taken in one by one, in order.
pub struct Burst {
    pub events: Vec<Event>,
    /// The reader failed or ended behind them.
    pub ended: bool,
}

/// Gathers what has arrived behind `first`.
pub async fn gather(first: Event, keys: &mut EventStream) -> Burst {
    let Some(c) = plain(&first) else { return Burst { events: vec![first], ended: false } };
    let mut text = String::from(c);
    let mut count = 1;
    let mut behind = None;
    let mut ended = false;
    while count < MOST_CHARS {
        let next = match poll!(keys.next()) {
            std::task::Poll::Ready(next) => next,
            std::task::Poll::Pending => break,
        };
        let Some(Ok(event)) = next else {
            ended = true;
            break;
        };
        match plain(&event) {
            Some('\n') if count < PASTE_CHARS => {
                behind = Some(event);
                break;
            }
            Some('\n') => match tokio::time::timeout(MORE_WITHIN, keys.next()).await {
                Ok(Some(Ok(after))) => {
                    text.push('\n');
                    count += 1;
                    match plain(&after) {
                        Some(c) => {
                            text.push(c);
                            count += 1;
                        }
                        None => {
                            behind = Some(after);
                            break;
                        }
                    }
                }
                Ok(_) => ended = true,
                Err(_) => {
                    behind = Some(event);
                    break;
                }
            },
            Some(c) => {
                text.push(c);
                count += 1;
            }
            None => {
                behind = Some(event);
                break;
            }
        }
        if ended {
            break;
        }
    }
    let mut events: Vec<Event> = if count < PASTE_CHARS {
        text.chars().map(|c| Event::Key(KeyEvent::new(key_of(c), KeyModifiers::NONE))).collect()
    } else {
        vec![Event::Paste(text)]
    };
    events.extend(behind);
    Burst { events, ended }
}

/// The character that a key press types without any command key; a line end for Enter, a tab for Tab.
fn plain(event: &Event) -> Option<char> {
    let Event::Key(key) = event else { return None };
    if key.kind == KeyEventKind::Release || !(key.modifiers - KeyModifiers::SHIFT).is_empty() {
        return None;
    }
    match key.code {
        KeyCode::Char(c) => Some(c),
        KeyCode::Enter if key.modifiers.is_empty() => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

fn key_of(c: char) -> KeyCode {
    match c {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        c => KeyCode::Char(c),
    }
}
