//! Keys that arrive together. A terminal without bracketed paste sends a paste as key presses: taken one by one, a
//! megabyte would need minutes and its first line end would send it. Many plain characters at once are therefore taken
//! as a paste; a few are typing. Knows nothing of what the text is for.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::{StreamExt, poll};
use tokio::time::error::Elapsed;

use super::terminal;

/// So many characters at once were not typed.
const PASTE_CHARS: usize = 200;
/// The most that is gathered before the screen gets a turn.
const MOST_CHARS: usize = 64 * 1024;
/// A paste comes in portions: what follows so soon still belongs to it, and so long a line end waits within it.
const SAME_PASTE: Duration = Duration::from_millis(150);
/// How long a line end waits for more of the same paste before it counts as the Enter key.
const MORE_WITHIN: Duration = Duration::from_millis(15);

/// What a burst comes to: events to be taken in one by one, in order.
pub struct Burst {
    pub events: Vec<Event>,
    /// The reader failed or ended behind them.
    pub ended: bool,
}

/// Gathers bursts, and knows whether a paste is going on.
#[derive(Debug, Default)]
pub struct Gatherer {
    last_paste: Option<Instant>,
}

impl Gatherer {
    /// Gathers what has arrived behind `first`.
    pub async fn gather(&mut self, first: Event, keys: &mut EventStream) -> Burst {
        let goes_on = self.last_paste.is_some_and(|at| at.elapsed() < SAME_PASTE);
        let burst = gather(first, keys, goes_on).await;
        if matches!(burst.events.first(), Some(Event::Paste(_))) {
            self.last_paste = Some(Instant::now());
        }
        burst
    }
}

/// `pasting` says that a paste is going on.
async fn gather(first: Event, keys: &mut EventStream, mut pasting: bool) -> Burst {
    let Some(c) = plain(&first) else { return Burst { events: vec![first], ended: false } };
    let mut text = String::from(c);
    let mut count = 1;
    let mut behind = None;
    let mut ended = false;
    if pasting && c == '\n' {
        // The Enter key after a paste, unless more of it follows at once.
        match more(keys, pasting).await {
            Ok(Some(Ok(after))) => match plain(&after) {
                Some(c) => {
                    text.push(c);
                    count += 1;
                }
                None => return Burst { events: vec![first, after], ended },
            },
            Ok(_) => return Burst { events: vec![first], ended: true },
            Err(_) => return Burst { events: vec![first], ended },
        }
    }
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
            // A few lines at once were typed: each line end among them is the Enter key.
            Some('\n') if count < PASTE_CHARS && !pasting => {
                text.push('\n');
                count += 1;
            }
            Some('\n') => match more(keys, pasting).await {
                Ok(Some(Ok(after))) => {
                    text.push('\n');
                    count += 1;
                    match plain(&after) {
                        Some(c) => {
                            pasting = true;
                            text.push(c);
                            count += 1;
                        }
                        None => {
                            // The Enter key, and a command key soon after it.
                            text.pop();
                            let mut events = events_of(&text, pasting || count > PASTE_CHARS);
                            events.extend([event, after]);
                            return Burst { events, ended };
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
    let mut events = events_of(&text, pasting || count >= PASTE_CHARS);
    events.extend(behind);
    Burst { events, ended }
}

/// The event behind a line end, if it comes at once.
async fn more(keys: &mut EventStream, pasting: bool) -> Result<Option<io::Result<Event>>, Elapsed> {
    terminal::rearm_waiting_input();
    tokio::time::timeout(if pasting { SAME_PASTE } else { MORE_WITHIN }, keys.next()).await
}

fn events_of(text: &str, pasted: bool) -> Vec<Event> {
    if pasted {
        return vec![Event::Paste(text.to_owned())];
    }
    text.chars().map(|c| Event::Key(KeyEvent::new(key_of(c), KeyModifiers::NONE))).collect()
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
